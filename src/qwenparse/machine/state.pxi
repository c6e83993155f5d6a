# Everything a turn in the making is: settings, the window, the candidate, the call. All fields are here, so that
# `_begin` and `_copy_from` can be held against them; the classes that follow add what is done with them.

cdef object _make_toolset = None
cdef object _toolset_type = None
cdef object _no_tools = None
cdef object _make_turn = None
cdef object _open_turn = None


def install(make_toolset, make_turn, open_turn):
    """Gives the core what it must not import: tools -> ToolSet, record -> Turn, prompt -> (format, tail)."""
    global _make_toolset, _make_turn, _open_turn, _no_tools, _toolset_type
    _make_toolset = make_toolset
    _no_tools = make_toolset(None)
    _toolset_type = type(_no_tools)
    _make_turn = make_turn
    _open_turn = open_turn


# A `Policy` as the machine asks it.
cdef struct Rules:
    char in_reasoning       # call_in_reasoning: 0 never, 1 line, 2 always
    bint bare, call_in_fence, drop_close, close_cut, first_close, unknown_is_text

cdef dict FORMATS = {f.name: (f, f.start, f.dialect == "xml") for f in formats.FORMATS.values()}
cdef object DEFAULT_POLICY = formats.Policy()


cdef int _read_rules(Rules* rules, p) except -1:
    if not isinstance(p, formats.Policy):
        raise TypeError(f"policy must be a qwenparse.Policy, not {type(p).__name__}")
    rules.in_reasoning = 0 if p.call_in_reasoning == "never" else 1 if p.call_in_reasoning == "line" else 2
    rules.bare = p.bare_function == "declared"
    rules.call_in_fence = p.fenced_call == "call"
    rules.drop_close = p.stray_think_close == "drop"
    rules.close_cut = p.truncated_call == "closed"
    rules.first_close = p.argument_end == "first"
    rules.unknown_is_text = p.unknown_tool == "text"
    return 0


cdef Rules DEFAULT_RULES
_read_rules(&DEFAULT_RULES, DEFAULT_POLICY)


@cython.freelist(8)
cdef class _State:
    """What is known of a turn, and the settings it is read with."""

    # settings
    cdef readonly object format
    cdef readonly object policy
    cdef readonly object tools
    cdef readonly object tokens
    cdef readonly Py_ssize_t max_held
    cdef readonly bint record
    cdef object start
    cdef object id_factory
    cdef dict declared              # tool name -> names of its parameters, or None
    cdef bint known                 # tools were given
    cdef bint callable              # call tags mean anything at all
    cdef bint xml
    cdef bint by_id                 # the id tags count only where their id was sampled
    cdef unsigned int id_tags
    cdef Rules rules
    cdef int mode

    # the window: either the piece that was fed, or `buffer`, which begins with what was held
    cdef int kind
    cdef void* data
    cdef Py_ssize_t n
    cdef Py_ssize_t base            # position of the window's first character
    cdef str piece                  # the piece, if the window is just that
    cdef unsigned int* buffer
    cdef Py_ssize_t capacity

    # where we are in the window: [p, t) is decided text, [t, i) is whitespace (and strays) not decided, i is next
    cdef Py_ssize_t p, t, i
    cdef Py_ssize_t run             # length of the whitespace run that ends at i, strays included
    cdef Py_ssize_t late_at         # where in [t, i) the owed </think> stands, or -1
    cdef Py_ssize_t emitted         # position up to which events were reported
    cdef int state
    cdef char fresh                 # a leading <think> would still count
    cdef bint over                  # the run is longer than a window: it is text
    cdef bint strays                # [t, i) holds strays
    cdef bint stray_ok              # only whitespace and strays since the end of a call
    cdef bint owed                  # reasoning was ended by a call: one </think> may come late
    cdef bint any_reasoning, any_content
    cdef bint begun                 # there was a turn before this one
    cdef bint closing, ended        # the input ends here; by the model
    cdef bint incomplete
    cdef bint prefixing
    cdef int busy                   # 0; or RUNNING, or FAILED: an exception left the turn half read
    cdef Line line

    # a candidate and what follows it
    cdef int stages                 # how many of tag, ws, tag2, ws2 have been begun
    cdef Lex tag, tag2
    cdef Py_ssize_t ws, ws2         # where those whitespace runs have been read to
    cdef object name                # of tag2 or tag, cleaned, once known
    cdef bint quoted

    # a call
    cdef Py_ssize_t call            # index of the current or last call, -1 before the first
    cdef bint call_open             # ToolCallStart without ToolCallEnd
    cdef bint arg_open
    cdef bint wrapper               # it began with <tool_call>
    cdef bint from_reasoning
    cdef bint call_complete         # the last one
    cdef Py_ssize_t blocks          # in this wrapper
    cdef object params              # declared parameters of the current tool, None if unknown
    cdef set given
    cdef Py_ssize_t closed_params
    cdef bint unclosed_params       # a value ended without its closing tag
    cdef bint junk                  # in a run of junk that holds more than whitespace
    cdef bint newline               # the whitespace behind junk holds one, at `blank`
    cdef Py_ssize_t blank
    cdef bint at_value_start, discard, value_bol
    cdef Json json
    cdef Py_ssize_t j_start, j_at, j_val, j_end     # where block, unread rest, last member's value begin; where that ends
    cdef char j_key[12]             # the key of depth 1, as far as it matters
    cdef Py_ssize_t j_key_size
    cdef int j_member, j_current
    cdef bint j_first, j_name, j_args, j_args_string, j_args_closed, j_args_done, j_alias, j_long, j_started, j_broken
    cdef object pending_name        # of a JSON call that was admitted but not reported yet
    cdef list j_text                # source so far of arguments that are a string
    cdef bint in_string             # S_BROKEN: the fault stands in a string
    cdef bint escaped

    # output
    cdef list out
    cdef object d_reasoning, d_content          # None, a str, or a list of them
    cdef list d_calls, d_issues
    cdef object notes               # None or a deque of (position, code, text) still to be reported
    cdef Rec* recs
    cdef Py_ssize_t n_recs, recs_capacity
    cdef list strings
    cdef list pieces
    cdef list carry                 # events of a call begun in the prefix
    cdef readonly str gen_prefix
    cdef object prefixed            # None: no prefix was read; else whether it chose the start
    cdef str stop
    cdef object turn_cache
    cdef object unknown_ids
    cdef list marked                # every position of `certain`, while recording
    cdef readonly Py_ssize_t work   # characters looked at in the slow path, for tests of linearity

    # input
    cdef int fed                   # 0 nothing yet, 1 str, 2 bytes, 3 ids
    cdef unsigned char pending[4]
    cdef int n_pending
    cdef bint broken_before         # the last character was an undecodable byte
    cdef long long* certain         # positions of tags whose id was sampled, in order
    cdef Py_ssize_t n_certain, certain_capacity, certain_head
    cdef unsigned int* ids          # all ids that were fed
    cdef Py_ssize_t n_ids, ids_capacity
    cdef _Table table

    def __cinit__(self):
        self.buffer = NULL
        self.recs = NULL
        self.certain = NULL
        self.ids = NULL
        self.json.stack = NULL
        self.json.capacity = 0

    def __dealloc__(self):
        free(self.buffer)
        free(self.recs)
        free(self.certain)
        free(self.ids)
        free(self.json.stack)

    def __init__(self, format, *, tools=None, start=None, policy=None, tokens=None, str tags not None="ids",
                 id_factory=None, bint record=True, max_held=1 << 20):
        self._must_be_free(True)
        cdef Py_ssize_t held
        cdef tuple facts = FORMATS.get(format) if type(format) is str else None
        if facts is None:
            self.format = formats.get_format(format)
            facts = self.format, self.format.start, self.format.dialect == "xml"
        self.format = facts[0]
        self.xml = facts[2]
        self.policy = DEFAULT_POLICY if policy is None else policy
        if self.policy is DEFAULT_POLICY:
            self.rules = DEFAULT_RULES
        else:
            _read_rules(&self.rules, policy)
        if start is None:
            start = facts[1]
        if start not in ("reasoning", "content", "auto"):
            raise errors.FormatError(f"start={start!r}: it takes 'reasoning', 'content', 'auto'")
        if tags not in ("ids", "text"):
            raise errors.FormatError(f"tags={tags!r}: it takes 'ids', 'text'")
        if id_factory is not None and not callable(id_factory):
            raise TypeError(f"id_factory is called without arguments for each id; a {type(id_factory).__name__} cannot be")
        try:
            held = max_held
        except OverflowError:
            raise ValueError("max_held is not a size") from None
        if held < 1:
            raise ValueError("max_held must be at least 1")
        self.start = start
        self.tools = tools if type(tools) is _toolset_type else _no_tools if tools is None else _make_toolset(tools)
        self.declared = self.tools.declared
        self.known = self.tools.known
        self.callable = not self.known or bool(self.declared)
        self.tokens = tokens
        self.by_id = tokens is not None and tags == "ids"
        self.table = None if tokens is None else _table_of(tokens)
        self.id_tags = 0 if tokens is None else self.table.id_tags
        self.id_factory = id_factory
        self.record = record
        self.max_held = held
        self._begin()

    cdef int _begin(self) except -1:
        """A new turn with the same settings."""
        if self.begun:                  # what is new is empty already, and None costs more than a number
            self._forget()
        self.begun = True
        self.n = self.base = 0
        self.p = self.t = self.i = self.run = 0
        self.late_at = -1
        self.emitted = 0
        self.over = self.strays = self.stray_ok = self.owed = False
        self.any_reasoning = self.any_content = False
        self.closing = self.ended = self.incomplete = self.prefixing = False
        self.busy = 0
        line_reset(&self.line)
        self.stages = 0
        self.call = -1
        self.call_open = self.arg_open = self.wrapper = self.from_reasoning = self.call_complete = False
        self.junk = False
        self.in_string = False
        self.n_recs = 0
        self.gen_prefix = ""
        self.work = 0
        self.fed = 0
        self.n_pending = 0
        self.broken_before = False
        self.n_certain = self.certain_head = 0
        self.n_ids = 0
        self.j_long = self.j_started = False
        if self.start == "reasoning":
            self.state = S_REASONING
            self.fresh = FRESH_REASONING
        else:
            self.state = S_CONTENT
            self.fresh = FRESH_CONTENT if self.start == "content" else FRESH_AUTO
        return 0

    cdef int _forget(self) except -1:
        """Drops every object of the turn before."""
        self.piece = None
        self.name = None
        self.given = None
        self.params = None
        self.out = None
        self.d_reasoning = self.d_content = None
        self.d_calls = self.d_issues = None
        self.notes = None
        self.strings = self.pieces = None
        self.carry = None
        self.prefixed = None
        self.stop = None
        self.turn_cache = None
        self.unknown_ids = None
        self.marked = None
        self.pending_name = None
        self.j_text = None
        return 0

    cdef int _must_be_free(self, bint failed=False) except -1:
        """Raises `RuntimeError` while the parser is being fed, and if `failed` does not allow it behind an exception."""
        if self.busy == RUNNING:
            raise RuntimeError("this parser is being fed: it cannot be used from its own id_factory or another thread")
        if self.busy == FAILED and not failed:
            raise RuntimeError("an exception left this turn half read; reset() begins a new one")
        return 0

    cdef int _copy_from(self, _State o) except -1:
        self.format = o.format
        self.policy = o.policy
        self.tools = o.tools
        self.tokens = o.tokens
        self.max_held = o.max_held
        self.record = o.record
        self.start = o.start
        self.id_factory = o.id_factory
        self.declared = o.declared
        self.known = o.known
        self.callable = o.callable
        self.xml = o.xml
        self.by_id = o.by_id
        self.id_tags = o.id_tags
        self.rules = o.rules
        self.kind = o.kind
        self.n = o.n
        self.base = o.base
        self.piece = o.piece
        self.p = o.p
        self.t = o.t
        self.i = o.i
        self.run = o.run
        self.late_at = o.late_at
        self.emitted = o.emitted
        self.state = o.state
        self.fresh = o.fresh
        self.begun = o.begun
        self.over = o.over
        self.strays = o.strays
        self.stray_ok = o.stray_ok
        self.owed = o.owed
        self.any_reasoning = o.any_reasoning
        self.any_content = o.any_content
        self.closing = o.closing
        self.ended = o.ended
        self.incomplete = o.incomplete
        self.prefixing = o.prefixing
        self.busy = o.busy
        self.line = o.line
        self.stages = o.stages
        self.tag = o.tag
        self.tag2 = o.tag2
        self.ws = o.ws
        self.ws2 = o.ws2
        self.name = o.name
        self.quoted = o.quoted
        self.call = o.call
        self.call_open = o.call_open
        self.arg_open = o.arg_open
        self.wrapper = o.wrapper
        self.from_reasoning = o.from_reasoning
        self.call_complete = o.call_complete
        self.blocks = o.blocks
        self.params = o.params
        self.given = None if o.given is None else o.given.copy()
        self.closed_params = o.closed_params
        self.unclosed_params = o.unclosed_params
        self.junk = o.junk
        self.newline = o.newline
        self.blank = o.blank
        self.at_value_start = o.at_value_start
        self.discard = o.discard
        self.value_bol = o.value_bol
        self.j_start = o.j_start
        self.j_at = o.j_at
        self.j_key_size = o.j_key_size
        memcpy(self.j_key, o.j_key, 12)
        self.j_val = o.j_val
        self.j_end = o.j_end
        self.j_member = o.j_member
        self.j_current = o.j_current
        self.j_first = o.j_first
        self.j_name = o.j_name
        self.j_args = o.j_args
        self.j_args_string = o.j_args_string
        self.j_args_closed = o.j_args_closed
        self.j_args_done = o.j_args_done
        self.j_alias = o.j_alias
        self.j_long = o.j_long
        self.j_started = o.j_started
        self.j_broken = o.j_broken
        self.pending_name = o.pending_name
        self.j_text = None if o.j_text is None else o.j_text.copy()
        self.in_string = o.in_string
        self.escaped = o.escaped
        self.out = None if o.out is None else o.out.copy()
        self.d_reasoning = o.d_reasoning
        self.d_content = o.d_content
        self.d_calls = None if o.d_calls is None else o.d_calls.copy()
        self.d_issues = None if o.d_issues is None else o.d_issues.copy()
        self.notes = None if o.notes is None else o.notes.copy()
        self.n_recs = o.n_recs
        self.strings = None if o.strings is None else o.strings.copy()
        self.pieces = None if o.pieces is None else o.pieces.copy()
        self.carry = None if o.carry is None else o.carry.copy()
        self.gen_prefix = o.gen_prefix
        self.prefixed = o.prefixed
        self.stop = o.stop
        self.turn_cache = o.turn_cache
        self.unknown_ids = None if o.unknown_ids is None else o.unknown_ids.copy()
        self.marked = None if o.marked is None else o.marked.copy()
        self.work = o.work
        self.fed = o.fed
        memcpy(self.pending, o.pending, 4)
        self.n_pending = o.n_pending
        self.broken_before = o.broken_before
        self.n_certain = o.n_certain
        self.certain_head = o.certain_head
        self.n_ids = o.n_ids
        self.table = o.table
        if o.n:
            self._grow(o.n)
            memcpy(self.buffer, o.buffer, o.n * sizeof(unsigned int))
        self.data = self.buffer
        self.recs_capacity = o.n_recs
        if o.n_recs:
            self.recs = <Rec*> malloc(o.n_recs * sizeof(Rec))
            if self.recs == NULL:
                raise MemoryError
            memcpy(self.recs, o.recs, o.n_recs * sizeof(Rec))
        self.certain_capacity = o.n_certain
        if o.n_certain:
            self.certain = <long long*> malloc(o.n_certain * sizeof(long long))
            if self.certain == NULL:
                raise MemoryError
            memcpy(self.certain, o.certain, o.n_certain * sizeof(long long))
        self.ids_capacity = o.n_ids
        if o.n_ids:
            self.ids = <unsigned int*> malloc(o.n_ids * sizeof(unsigned int))
            if self.ids == NULL:
                raise MemoryError
            memcpy(self.ids, o.ids, o.n_ids * sizeof(unsigned int))
        if json_copy(&self.json, &o.json) < 0:
            raise MemoryError
        return 0

    cdef inline Py_UCS4 _c(self, Py_ssize_t i) noexcept:
        return PyUnicode_READ(self.kind, self.data, i)

    cdef inline str _slice(self, Py_ssize_t a, Py_ssize_t b):
        cdef Py_UCS4 c
        if a == 0 and b == self.n and self.piece is not None:
            return self.piece
        if b - a == 1:
            c = self._c(a)
            if c < 128:
                return <str> ASCII[<Py_ssize_t> c]
        if self.piece is not None:
            return PyUnicode_Substring(self.piece, a, b)
        return PyUnicode_FromKindAndData(4, self.buffer + a, b - a)

    cdef int _grow(self, Py_ssize_t size) except -1:
        cdef unsigned int* grown
        cdef Py_ssize_t capacity = self.capacity if self.capacity else 32
        if size <= self.capacity:
            return 0
        while capacity < size:
            capacity *= 2
        grown = <unsigned int*> realloc(self.buffer, capacity * sizeof(unsigned int))
        if grown == NULL:
            raise MemoryError
        self.buffer = grown
        self.capacity = capacity
        return 0
