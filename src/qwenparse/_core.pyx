# cython: language_level=3, binding=False, embedsignature=True, embedsignature.format=clinic
# cython: boundscheck=False, wraparound=False, initializedcheck=False, autotestdict=False
# cython: freethreading_compatible=True
"""The lossless streaming parser.

Theory of operation
-------------------
The input is cut into regions, gap-free; a region is reported once it is certain and never changed. `_Machine` scans and
decides; `Parser` and `DeltaParser` only shape what it reports.

Scanning. `_run` works on a *window*: the piece that was fed, or, if something was held, `buffer` (what was held, then
the piece). In it [p, t) is text that is certain and not reported yet, [t, i) is whitespace (and closers behind a call)
that may turn out to be layout, and i is the next character. Between '<'s there is nothing to decide, so each `_run_*`
jumps from one '<' to the next and asks its `_decide_*`.

Deciding. A candidate is up to four lexemes, read on demand and in order: the tag at i (`tag`), whitespace (`ws`), the
tag behind it (`tag2`), whitespace (`ws2`). `_decide_*` look at the state, at these and at nothing else; they change
nothing but the lexemes' caches and return an action (A_*). Their rows are those of docs/format.md. "Undecided" (A_HOLD)
means that the window ends inside a lexeme and the turn goes on; with `closing` set nothing is undecided.

Held. Only [p, n) of the window is kept between two calls: at most a candidate, that is three whitespace runs of a
window each and their tags; in a value one newline. A JSON block is held until its name is known (`_json_head`), at most
`max_held`, and then read a second time, reporting.

Why O(n). A lexeme remembers where it stopped (`Lex.at`, `ws`, `j_at`); a candidate that grows goes on there. A rejected
candidate becomes text up to its second character and the scan goes on behind it; tags hold no '<', so each character is
read by a bounded number of candidates. Joining costs what is held, which is bounded, or amortised by the buffer.

Fast path (`_whole_text`). Nothing held, no '<', no whitespace at the end (in a value: no newline), text already seen:
the piece is one region and its event carries the very object that was fed. Inside a string of JSON arguments that is
any piece without a quote, escapes whole. A piece without '<' that ends in whitespace, or comes behind some that is held,
is not that simple but needs no machine either (`_plain_piece`).

A prefix (text the prompt wrote of this turn) is read by the same machine first; then positions are shifted so that the
completion begins at 0, and what lies before 0 is clipped from reports.
"""

cimport cython
from cpython.buffer cimport PyBUF_RECORDS_RO, PyBUF_SIMPLE, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.object cimport PyObject
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcmp, memcpy, memmove, strchr, strlen

from qwenparse._events cimport (
    ArgumentDelta, ArgumentEnd, ArgumentStart, Delta, Event, Issue, Markup, ToolCallEnd, ToolCallStart,
    argument_delta, content_delta, markup, reasoning_delta,
)
from qwenparse._json cimport (
    J_AFTER, J_DONE, J_ESCAPE, J_EXP, J_FRAC, J_HEX, J_INT, J_KEY_OR_END, J_STRING, J_ZERO,
    JE_DONE, JE_END, JE_END_BEFORE, JE_FAULT, JE_KEY, JE_KEY_START, JE_MEMORY, JE_NONE, JE_START,
    Json, is_json_ws, is_simple_escape, json_copy, json_init, json_step,
)
from qwenparse._scan cimport (
    Line, PyUnicode_DATA, PyUnicode_DecodeUTF8Stateful, PyUnicode_FromKindAndData, PyUnicode_GET_LENGTH,
    PyUnicode_IS_ASCII, PyUnicode_KIND, PyUnicode_New, PyUnicode_READ, PyUnicode_Substring,
    blanks_since_newline, characters, find_char, find_quote, holds_broken, is_text, is_ws, line_feed,
    line_reset, name_end,
)

import os
from collections import deque
from json import JSONDecoder
from operator import index as operator_index
from random import Random

from . import errors, formats
from ._events import _make

cdef extern from "Python.h":
    Py_ssize_t PyList_GET_SIZE(object)
    PyObject* PyList_GET_ITEM(object, Py_ssize_t)
    str PyUnicode_FromObject(object)

cdef extern from *:
    """
    /* An int of one digit, without a call: the way of almost all token ids. -1: something else. */
    static CYTHON_INLINE Py_ssize_t qwenparse_small_int(PyObject *v) {
        if (!PyLong_CheckExact(v)) return -1;
    #if PY_VERSION_HEX >= 0x030C0000
        return PyUnstable_Long_IsCompact((PyLongObject *) v) ? PyUnstable_Long_CompactValue((PyLongObject *) v) : -1;
    #else
        if (Py_SIZE(v) == 1) return (Py_ssize_t) ((PyLongObject *) v)->ob_digit[0];
        return Py_SIZE(v) == 0 ? 0 : -1;
    #endif
    }
    #if defined(__GNUC__)
    #define qwenparse_prefetch(at) __builtin_prefetch(at)
    #else
    #define qwenparse_prefetch(at) ((void) (at))
    #endif
    """
    Py_ssize_t small_int "qwenparse_small_int" (PyObject*) noexcept nogil
    void prefetch "qwenparse_prefetch" (const void*) noexcept nogil

# --------------------------------------------------------------------------------------------------- machine

cdef enum:
    TAG_THINK = 0
    TAG_THINK_CLOSE = 1
    TAG_CALL = 2
    TAG_CALL_CLOSE = 3
    TAG_FN = 4
    TAG_FN_CLOSE = 5
    TAG_PARAM = 6
    TAG_PARAM_CLOSE = 7
    NO_TAG = -1

cdef enum:
    B_THINK = 1
    B_THINK_CLOSE = 2
    B_CALL = 4
    B_CALL_CLOSE = 8
    B_FN = 16
    B_FN_CLOSE = 32
    B_PARAM = 64
    B_PARAM_CLOSE = 128

# How much of a tag has been read.
cdef enum:
    READ_NONE = 0       # no tag, or only a proper prefix of one
    READ_OPEN = 1       # the literal part; its NAME or variant is not finished
    READ_WHOLE = 2
    READ_BROKEN = 3     # the literal part, but the NAME broke off at `end`

# What reading said.
cdef enum:
    DONE = 0
    MORE = 1            # undecided: the window ends here and the turn goes on
    OVER = 2            # more whitespace than a window

cdef enum:
    S_REASONING = 0
    S_CONTENT = 1
    S_BLOCK = 2         # behind a call, before its wrapper ends
    S_FUNCTION = 3
    S_VALUE = 4
    S_JSON = 5
    S_BROKEN = 6
    S_END = 7

# Actions: what `_decide_*` says of a candidate.
cdef enum:
    A_TEXT = 0
    A_HOLD = 1
    A_THINK_OPEN = 2
    A_THINK_CLOSE = 3
    A_LATE_CLOSE = 4
    A_DROP_CLOSE = 5
    A_KEEP_CLOSE = 6
    A_STRAY = 7
    A_CALL = 8
    A_JSON_CALL = 9
    A_BARE_CALL = 10
    A_CUT_CALL = 11
    A_VALUE_CLOSE = 12
    A_VALUE_BREAK = 13
    A_VALUE_CUT = 14
    A_LEAVE = 15
    A_WRAPPER_CLOSE = 16
    A_BLOCK = 17
    A_JSON_BLOCK = 18
    A_CUT_TAG = 19

# What a JSON call has reached.
cdef enum:
    JP_MORE = 0
    JP_FAULT = 1
    JP_NAME = 2
    JP_ARGS = 3
    JP_ARGS_END = 4
    JP_END = 5
    JP_AGAIN = 6        # a second name or a second arguments
    JP_LONG = 7

cdef enum:
    MEMBER_OTHER = 0
    MEMBER_NAME = 1
    MEMBER_ARGS = 2
    MEMBER_ALIAS = 3

cdef enum:
    K_THINK_OPEN, K_THINK_BODY, K_THINK_CLOSE, K_LATE_CLOSE, K_WS, K_CONTENT
    K_CALL_OPEN, K_FN_OPEN, K_NAME, K_FN_OPEN_END, K_PARAM_OPEN, K_KEY, K_PARAM_OPEN_END
    K_LEAD, K_VALUE, K_TRAIL, K_PARAM_CLOSE, K_FN_CLOSE, K_CALL_CLOSE
    K_JSON_OPEN, K_JSON_NAME, K_JSON_ARGS, K_JSON_CLOSE
    K_JUNK, K_STRAY, K_STOP, K_TRAILING
    # zero-width records
    R_CALL, R_ARG, R_TEXT, R_ARG_END, R_CALL_END, R_ISSUE, R_CUT

cdef enum:
    RUNNING = 1
    FAILED = 2

cdef enum:
    MODE_NONE = 0
    MODE_EVENTS = 1
    MODE_DELTA = 2

cdef enum:
    FRESH_NO = 0
    FRESH_AUTO = 1
    FRESH_CONTENT = 2
    FRESH_REASONING = 3

cdef enum:
    LITTLE = 16             # so many held characters are joined to the next piece as a str

cdef struct Lex:
    int tag
    int read
    unsigned int could      # tags of which the text up to the end is a proper prefix
    Py_ssize_t start
    Py_ssize_t end
    Py_ssize_t at           # resume here

# A `Policy` as the machine asks it.
cdef struct Rules:
    char in_reasoning       # call_in_reasoning: 0 never, 1 line, 2 always
    bint bare, call_in_fence, drop_close, close_cut, first_close, unknown_is_text

cdef struct Rec:
    int kind
    int aux
    Py_ssize_t start
    Py_ssize_t end


cdef tuple KINDS = formats.KINDS
cdef dict FORMATS = {f.name: (f, f.start, f.dialect == "xml") for f in formats.FORMATS.values()}
cdef Py_ssize_t WINDOW = formats.WINDOW
cdef Py_ssize_t NAME_LIMIT = formats.NAME_LIMIT
cdef Py_ssize_t VARIANT_LIMIT = formats.VARIANT_LIMIT
cdef dict ISSUE_NUMBER = {code: i for i, code in enumerate(formats.ISSUE_CODES)}
cdef tuple STATE_OF = (
    formats.State.REASONING, formats.State.CONTENT, formats.State.CALL, formats.State.FUNCTION, formats.State.VALUE,
    formats.State.ARGUMENTS, formats.State.BROKEN, formats.State.CLOSED,
)
cdef object STATE_START = formats.State.START
cdef str IM_END = formats.IM_END
cdef str ENDOFTEXT = formats.ENDOFTEXT
cdef object DEFAULT_POLICY = formats.Policy()
cdef object json_loads = JSONDecoder(strict=False).decode
cdef tuple OPENER_KEYS = (b"name", b"arguments", b"parameters", b"id", b"type")
cdef tuple FED = ("nothing", "str", "bytes", "token ids")

cdef enum:
    FED_STR = 1
    FED_BYTES = 2
    FED_IDS = 3

# Kinds whose text of that length is always the same: no string is made for it.
cdef list FIXED = [None] * len(KINDS)
cdef Py_ssize_t FIXED_LEN[64]

cdef list ASCII = [chr(k) for k in range(128)]

cdef char TAG_TEXT[8][16]
cdef Py_ssize_t TAG_LEN[8]
cdef enum:
    TAG_LONGEST = 12


cdef inline int _tag_at(int kind, void* data, Py_ssize_t i) noexcept nogil:
    """The only tag that can stand at i, where a '<' and at least three more characters are."""
    cdef Py_UCS4 c = PyUnicode_READ(kind, data, i + 1)
    cdef bint close = c == 47
    if close:
        i += 1
        c = PyUnicode_READ(kind, data, i + 1)
    if c == 102:
        return TAG_FN_CLOSE if close else TAG_FN
    if c == 112:
        return TAG_PARAM_CLOSE if close else TAG_PARAM
    if c != 116:
        return NO_TAG
    if PyUnicode_READ(kind, data, i + 2) == 104:
        return TAG_THINK_CLOSE if close else TAG_THINK
    return TAG_CALL_CLOSE if close else TAG_CALL


cdef void _load_tags() except *:
    cdef Py_ssize_t i, k
    cdef str tag
    assert len(formats.TAGS) == 8 and max(map(len, formats.TAGS)) == TAG_LONGEST
    for i in range(8):
        tag = formats.TAGS[i]
        TAG_LEN[i] = len(tag)
        for k in range(len(tag)):
            TAG_TEXT[i][k] = <char> <int> tag[k]


_load_tags()


cdef void _load_fixed() except *:
    cdef Py_ssize_t k
    cdef dict texts = dict(zip(
        (K_THINK_OPEN, K_THINK_CLOSE, K_CALL_OPEN, K_CALL_CLOSE, K_FN_OPEN, K_FN_CLOSE, K_PARAM_OPEN), formats.TAGS))
    texts[K_PARAM_CLOSE] = "</parameter>"
    texts[K_LATE_CLOSE] = "</think>"
    for k in range(len(KINDS)):
        FIXED[k] = texts.get(k)
        FIXED_LEN[k] = -1 if FIXED[k] is None else len(FIXED[k])


_load_fixed()

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


# Fresh ids, made many at a time; list.pop is atomic, so each is given out once. Seeded by the system, but not urandom
# itself: that lets other threads run in the middle of a feed.
cdef list id_pool = []
cdef object id_source = Random()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=id_pool.clear)
    os.register_at_fork(after_in_child=id_source.seed)


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


cdef str _fresh_id():
    cdef str digits
    cdef Py_ssize_t k
    try:
        return <str> id_pool.pop()
    except IndexError:
        digits = id_source.getrandbits(96 * 64).to_bytes(12 * 64, "big").hex()
        id_pool.extend(["call_" + digits[k:k + 24] for k in range(24, 24 * 64, 24)])
        return "call_" + digits[:24]


cdef inline bint _is_blank_or_quote(Py_UCS4 c) noexcept:
    return c == 32 or c == 9 or c == 34 or c == 39


cdef inline str _clean_name(str written, bint* quoted):
    """NAME: surrounding blanks and one pair of matching quotes removed."""
    cdef str name
    cdef Py_ssize_t n = PyUnicode_GET_LENGTH(written)
    quoted[0] = False
    if n and not _is_blank_or_quote(written[0]) and not _is_blank_or_quote(written[n - 1]):
        return written
    name = written.strip(" \t")
    if len(name) >= 2 and name[0] == name[len(name) - 1] and (name[0] == u'"' or name[0] == u"'"):
        name = name[1:len(name) - 1]
        quoted[0] = True
    return name


cdef inline bint _plain(str name):
    """No whitespace and no '=' in it."""
    cdef Py_UCS4 c
    for c in name:
        if is_ws(c) or c == 61:
            return False
    return True


cdef bint _holds_object(str source) except -1:
    """Whether a JSON string (its source, quotes included) holds a JSON object and only that."""
    cdef str text = json_loads(source)
    cdef Json j
    cdef Py_UCS4 c
    cdef int said
    cdef bint ok = True
    j.stack = NULL
    j.capacity = 0
    json_init(&j)
    try:
        for c in text:
            if j.state == J_DONE or (j.depth == 0 and c != 123):
                if not is_json_ws(c):
                    ok = False
                    break
                continue
            said = json_step(&j, c)
            if said & JE_MEMORY:
                raise MemoryError
            if said & JE_FAULT:
                ok = False
                break
        return ok and j.state == J_DONE
    finally:
        free(j.stack)


cdef enum:
    ROW_TEXT = 14           # bytes of text in a row
    ROW_LONG = 16           # flag: the text does not fit, or it is more than text

# An id in a quarter of a cache line: the ids of a vocabulary are drawn from all over it.
cdef struct Row:
    char text[14]
    unsigned char size
    unsigned char kind      # of `TokenTable.kinds`; ROW_LONG if the text is not here


@cython.final
cdef class _Table:
    """Pointers into the buffers of a `TokenTable`, which it keeps alive, and its short texts by id."""
    cdef tuple refs
    cdef Py_ssize_t size
    cdef const char* blob
    cdef const unsigned int* offsets
    cdef const unsigned char* kinds
    cdef Row* rows
    cdef unsigned int id_tags       # the tags that have an id

    def __dealloc__(self):
        free(self.rows)

    cdef int _fill(self) except -1:
        cdef Py_ssize_t k, size
        cdef Row* row
        self.rows = <Row*> malloc((self.size + 1) * sizeof(Row))
        if self.rows == NULL:
            raise MemoryError
        for k in range(self.size):
            row = &self.rows[k]
            size = self.offsets[k + 1] - self.offsets[k]
            row.kind = self.kinds[k]
            row.size = 0
            if size > ROW_TEXT:
                row.kind = ROW_LONG
            else:
                row.size = <unsigned char> size
                memcpy(row.text, self.blob + self.offsets[k], size)
        return 0


cdef _Table _table_of(tokens):
    """Made once for a table, and kept with it."""
    cdef _Table t
    cdef bytes blob, offsets, kinds
    cdef Py_ssize_t i
    cdef object made = getattr(tokens, "_core", None)
    if type(made) is _Table:
        return <_Table> made
    t = _Table.__new__(_Table)
    blob, offsets, kinds = tokens.blob, tokens.offsets, tokens.kinds
    t.refs = (blob, offsets, kinds)
    t.size = tokens.size
    if len(kinds) != t.size or len(offsets) != 4 * (t.size + 1):
        raise ValueError("the token table's buffers do not fit its size")
    t.blob = blob
    t.offsets = <const unsigned int*> <const char*> offsets
    t.kinds = <const unsigned char*> <const char*> kinds
    t._fill()
    t.id_tags = 0
    for i in range(4):
        if formats.TAGS[i] in tokens.tag_ids:
            t.id_tags |= 1u << i
    if hasattr(tokens, "_core"):
        tokens._core = t
    return t


cdef inline bint _exact_id(PyObject* value, Py_ssize_t size, unsigned int* to) noexcept:
    """Whether it is an int and an id of the table: the way of almost all."""
    cdef Py_ssize_t v = small_int(value)
    if v < 0 or v >= size:
        return False
    to[0] = <unsigned int> v
    return True


cdef inline bint _machine_id(const char* at, Py_ssize_t width, bint signed, Py_ssize_t size, unsigned int* to) noexcept:
    """The same of an integer of that width in memory, aligned or not."""
    cdef signed char v1
    cdef short v2
    cdef int v4
    cdef long long v
    if width == 8:
        memcpy(&v, at, 8)
    elif width == 4:
        memcpy(&v4, at, 4)
        v = v4
        if not signed:
            v = <unsigned int> v4
    elif width == 2:
        memcpy(&v2, at, 2)
        v = v2
        if not signed:
            v = <unsigned short> v2
    else:
        memcpy(&v1, at, 1)
        v = v1
        if not signed:
            v = <unsigned char> v1
    if v < 0 or v >= size:
        return False
    to[0] = <unsigned int> v
    return True


# Ids that were checked: those of a turn fit beside the call, no memory is asked for.
cdef struct Ids:
    unsigned int* at
    Py_ssize_t count
    unsigned int few[512]


cdef int _ids_room(Ids* ids, Py_ssize_t count) except -1:
    ids.count = count
    ids.at = ids.few
    if count > 512:
        ids.at = <unsigned int*> malloc(count * sizeof(unsigned int))
        if ids.at == NULL:
            ids.at = ids.few
            raise MemoryError
    return 0


cdef inline void _ids_free(Ids* ids) noexcept:
    if ids.at != ids.few:
        free(ids.at)
    ids.at = ids.few


cdef str _joined_to(const unsigned int* held, Py_ssize_t n, str s):
    """What was held, and s."""
    cdef str text
    cdef Py_ssize_t size = PyUnicode_GET_LENGTH(s)
    cdef Py_ssize_t k
    cdef unsigned int all = 0
    cdef unsigned char* to
    for k in range(n):
        all |= held[k]
    if all > 127 or size == 0 or not PyUnicode_IS_ASCII(s):
        return PyUnicode_FromKindAndData(4, held, n) + s
    text = PyUnicode_New(n + size, 127)
    to = <unsigned char*> PyUnicode_DATA(text)
    for k in range(n):
        to[k] = <unsigned char> held[k]
    memcpy(to + n, PyUnicode_DATA(s), size)
    return text


cdef inline Event _text_event(str text, int kind, Py_ssize_t start, Py_ssize_t call):
    if kind == K_THINK_BODY:
        return reasoning_delta(text, start)
    if kind == K_CONTENT:
        return content_delta(text, start)
    return argument_delta(call, text, start)


@cython.freelist(8)
cdef class _Machine:
    """One turn being read. `Parser` and `DeltaParser` are this with two shapes of result."""

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
    cdef Py_ssize_t j_start, j_at, j_val, j_end
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
                 id_factory=None, bint record=True, Py_ssize_t max_held=1 << 20):
        self._must_be_free(True)
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
        if max_held < 1:
            raise ValueError("max_held must be at least 1")
        self.start = start
        self.tools = tools if type(tools) is _toolset_type else _no_tools if tools is None else _make_toolset(tools)
        self.declared = self.tools.declared
        self.known = self.tools.known
        self.callable = not self.known or bool(self.declared)
        self.tokens = tokens
        self.by_id = tokens is not None and tags == "ids"
        self.id_tags = 0
        if tokens is not None:
            self.table = _table_of(tokens)
            self.id_tags = self.table.id_tags
        self.id_factory = id_factory
        self.record = record
        self.max_held = max_held
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

    # ------------------------------------------------------------------------------------------- reporting

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

    cdef inline int _rec(self, int kind, int aux, Py_ssize_t a, Py_ssize_t b) except -1:
        return self._add_rec(kind, aux, a, b) if self.record else 0

    @cython.final
    cdef int _add_rec(self, int kind, int aux, Py_ssize_t a, Py_ssize_t b) except -1:
        cdef Rec* r
        cdef Rec* grown
        cdef Py_ssize_t capacity
        if self.n_recs:
            r = &self.recs[self.n_recs - 1]
            if kind < R_CALL and r.kind == kind and r.end == a:
                r.end = b
                return 0
        if self.n_recs == self.recs_capacity:
            capacity = 64 if self.recs_capacity == 0 else self.recs_capacity * 2
            grown = <Rec*> realloc(self.recs, capacity * sizeof(Rec))
            if grown == NULL:
                raise MemoryError
            self.recs = grown
            self.recs_capacity = capacity
        r = &self.recs[self.n_recs]
        r.kind = kind
        r.aux = aux
        r.start = a
        r.end = b
        self.n_recs += 1
        return 0

    cdef int _keep_string(self, object string) except -1:
        if self.strings is None:
            self.strings = []
        self.strings.append(string)
        return 0

    cdef int _rec_string(self, int kind, object string, Py_ssize_t at) except -1:
        """A zero-width record with a string, or a pair of them."""
        if not self.record:
            return 0
        self._keep_string(string)
        return self._rec(kind, <int> len(self.strings) - 1, at, at)

    cdef inline int _event(self, Event e) except -1:
        if self.mode == MODE_EVENTS:
            if self.out is None:
                self.out = [e]
            else:
                self.out.append(e)
        elif self.mode == MODE_DELTA:
            if self.d_calls is None:
                self.d_calls = [e]
            else:
                self.d_calls.append(e)
        return 0

    cdef inline int _emit(self, int kind, Py_ssize_t a, Py_ssize_t b) except -1:
        """Reports the region [a, b) of the window."""
        if a >= b:
            return 0
        if self.notes is None and self.base + a >= 0:
            return self._report(kind, a, b, None)
        return self._emit_with_notes(kind, a, b)

    cdef int _emit_with_notes(self, int kind, Py_ssize_t a, Py_ssize_t b) except -1:
        cdef Py_ssize_t cut
        while self.notes is not None:
            cut = <Py_ssize_t> self.notes[0][0] - self.base
            if cut >= b:
                break
            if cut > a:
                self._emit_region(kind, a, cut)
                a = cut
            self._note()
        return self._emit_region(kind, a, b)

    cdef int _note(self) except -1:
        """Reports the first of the notes that wait for their place."""
        cdef tuple note = self.notes.popleft()
        if not self.notes:
            self.notes = None
        return self._issue_of(note[1], self.call if S_BLOCK <= self.state <= S_BROKEN else -1, note[2])

    cdef int _emit_region(self, int kind, Py_ssize_t a, Py_ssize_t b) except -1:
        cdef Py_ssize_t clip
        cdef object whole = None
        if self.base + a >= 0:
            return self._report(kind, a, b, None)
        # The region began in the prefix: only a value shows that part, and not in `raw`.
        clip = min(-(self.base + a), b - a)
        if kind == K_VALUE or kind == K_JSON_ARGS:
            whole = self._slice(a, b)
            self._rec_string(R_TEXT, PyUnicode_Substring(whole, 0, clip), self.base + a + clip)
        return self._report(kind, a + clip, b, whole) if a + clip < b or whole is not None else 0

    @cython.final
    cdef int _report(self, int kind, Py_ssize_t a, Py_ssize_t b, whole) except -1:
        cdef Event e
        cdef str raw
        cdef Py_ssize_t start = self.base + a
        if self.base + b > self.emitted:
            self.emitted = self.base + b
        if a < b:
            self._rec(kind, 0, start, self.base + b)
        if self.mode == MODE_NONE:
            return 0
        if kind == K_VALUE or kind == K_JSON_ARGS:
            e = argument_delta(self.call, self._slice(a, b), start)
            e.value = whole
            return self._event(e)
        if self.mode == MODE_DELTA:
            if kind == K_THINK_BODY:
                self.d_reasoning = _joined(self.d_reasoning, self._slice(a, b))
            elif kind == K_CONTENT:
                self.d_content = _joined(self.d_content, self._slice(a, b))
            return 0
        # A note inside a closer's variant cuts it: the parts are not the closer.
        if FIXED_LEN[kind] != b - a or (kind == K_PARAM_CLOSE and (self._c(a) != 60 or self._c(b - 1) != 62)):
            raw = self._slice(a, b)
        else:
            raw = <str> FIXED[kind]
        if kind == K_CONTENT:
            return self._event(content_delta(raw, start))
        if kind == K_THINK_BODY:
            return self._event(reasoning_delta(raw, start))
        return self._event(markup(<str> KINDS[kind], raw, start))

    cdef inline str _at(self, Py_ssize_t a, Py_ssize_t b):
        """The part of [a, b) that belongs to the completion."""
        if self.base + a < 0:
            a = -self.base if -self.base < b else b
        return "" if a >= b else self._slice(a, b)

    cdef int _start_call(self, str name, Py_ssize_t a, Py_ssize_t b, int kind) except -1:
        """[a, b) is the name as written, empty if it does not stand here."""
        cdef Event e
        cdef str raw = self._at(a, b)
        self.call += 1
        self.call_open = True
        self.call_complete = False
        cdef str call_id
        if self.id_factory is None:
            call_id = _fresh_id()
        else:
            made = self.id_factory()
            if not isinstance(made, str):
                raise TypeError(f"id_factory returned {type(made).__name__}, not str")
            call_id = PyUnicode_FromObject(made)
        self._rec_string(R_CALL, (name, call_id), self.emitted)
        if raw:
            self._rec(kind, 0, self.emitted, self.emitted + len(raw))
        if self.mode != MODE_NONE:
            e = ToolCallStart.__new__(ToolCallStart)
            e.raw = raw
            e.start = self.emitted
            e.number = self.call
            e.value = name
            e.extra = call_id
            self._event(e)
        self.emitted += len(raw)
        return 0

    cdef int _start_arg(self, str key, Py_ssize_t a, Py_ssize_t b) except -1:
        cdef Event e
        cdef str raw = self._at(a, b)
        self.arg_open = True
        self._rec_string(R_ARG, key, self.emitted)
        if raw:
            self._rec(K_KEY, 0, self.emitted, self.emitted + len(raw))
        if self.mode != MODE_NONE:
            e = ArgumentStart.__new__(ArgumentStart)
            e.raw = raw
            e.start = self.emitted
            e.number = self.call
            e.value = key
            self._event(e)
        self.emitted += len(raw)
        return 0

    cdef int _end_arg(self, bint closed) except -1:
        cdef Event e
        if not self.arg_open:
            return 0
        self.arg_open = False
        self._rec(R_ARG_END, closed, self.emitted, self.emitted)
        if self.mode != MODE_NONE:
            e = ArgumentEnd.__new__(ArgumentEnd)
            e.raw = ""
            e.start = self.emitted
            e.number = self.call
            e.value = closed
            self._event(e)
        return 0

    cdef int _end_call(self, bint complete) except -1:
        cdef Event e
        self.call_open = False
        self.call_complete = complete
        self._rec(R_CALL_END, complete, self.emitted, self.emitted)
        if self.mode != MODE_NONE:
            e = ToolCallEnd.__new__(ToolCallEnd)
            e.raw = ""
            e.start = self.emitted
            e.number = self.call
            e.value = complete
            self._event(e)
        return 0

    cdef int _issue_of(self, str code, Py_ssize_t call, str text) except -1:
        cdef Event e
        cdef int number
        if self.record:
            number = ISSUE_NUMBER[code]
            if text:
                self._keep_string(text)
                number += <int> len(self.strings) << 8
            self._rec(R_ISSUE, number, self.emitted, call)
        if self.mode == MODE_NONE:
            return 0
        e = Issue.__new__(Issue)
        e.raw = ""
        e.start = self.emitted
        e.number = call
        e.value = code
        e.extra = text
        if self.mode == MODE_DELTA:
            if self.d_issues is None:
                self.d_issues = [e]
            else:
                self.d_issues.append(e)
            return 0
        return self._event(e)

    cdef int _issue(self, str code, Py_ssize_t a=0, Py_ssize_t b=0) except -1:
        """A note about the text; [a, b) shows what was seen."""
        return self._issue_of(code, -1, self._slice(a, min(b, a + 64)) if a < b else "")

    cdef int _call_issue(self, str code, Py_ssize_t a=0, Py_ssize_t b=0) except -1:
        """The same, of the current call."""
        return self._issue_of(code, self.call, self._slice(a, min(b, a + 64)) if a < b else "")

    # -------------------------------------------------------------------------------------------- scanning

    cdef inline Py_UCS4 _c(self, Py_ssize_t i) noexcept:
        return PyUnicode_READ(self.kind, self.data, i)

    cdef int _read_ws(self, Py_ssize_t start, Py_ssize_t* at) noexcept:
        """Moves `at` to the end of the whitespace run that begins at `start`."""
        cdef Py_ssize_t a = at[0]
        while a < self.n and is_ws(self._c(a)):
            if a - start >= WINDOW:
                at[0] = a
                return OVER
            a += 1
        self.work += a - at[0] + 1
        at[0] = a
        return MORE if a == self.n and not self.closing else DONE

    cdef bint _is_certain(self, Py_ssize_t i) noexcept:
        cdef Py_ssize_t at = self.base + i
        cdef Py_ssize_t low, high, middle
        while self.certain_head < self.n_certain and self.certain[self.certain_head] < self.base + self.p:
            self.certain_head += 1
        low = self.certain_head
        high = self.n_certain
        while low < high:
            middle = (low + high) // 2
            if self.certain[middle] < at:
                low = middle + 1
            else:
                high = middle
        return low < self.n_certain and self.certain[low] == at

    @cython.final
    cdef int _read_tag(self, Lex* x, Py_ssize_t start, bint again, unsigned int mask) noexcept:
        """Reads the tag at `start`, one of `mask`; `again`: goes on where it stopped."""
        cdef Py_ssize_t n = self.n
        cdef Py_ssize_t have = n - start
        cdef Py_ssize_t size, m, at, limit
        cdef int t
        cdef bint variant
        cdef Py_UCS4 c
        cdef int first = 0
        cdef int last = 8
        cdef int kind = self.kind
        cdef void* data = self.data
        if not again or x.read != READ_OPEN:
            x.tag = NO_TAG
            x.read = READ_NONE
            x.could = 0
            x.start = x.end = start
            if have <= 0:
                return DONE if self.closing else MORE
            if PyUnicode_READ(kind, data, start) != 60:
                return DONE
            if have >= 4:
                first = _tag_at(kind, data, start)
                if first == NO_TAG or not mask >> first & 1:
                    self.work += 1
                    return DONE
                last = first + 1
            self.work += TAG_LONGEST if TAG_LONGEST < have else have
            for t in range(first, last):
                if not mask >> t & 1:
                    continue
                size = TAG_LEN[t]
                m = size if size < have else have
                if not is_text(kind, data, start, TAG_TEXT[t], m):
                    continue
                if self.by_id and (self.id_tags >> t) & 1 and not self._is_certain(start):
                    continue
                if m == size:
                    x.tag = t
                    break
                x.could |= 1u << t
            if x.tag == NO_TAG:
                x.end = n if x.could else start
                return MORE if x.could and not self.closing else DONE
            x.could = 0
            x.at = start + TAG_LEN[x.tag]
            x.end = x.at
            if x.tag != TAG_FN and x.tag != TAG_PARAM and x.tag != TAG_PARAM_CLOSE:
                x.read = READ_WHOLE
                return DONE
            x.read = READ_OPEN
        x.could = 0
        at = x.at
        size = start + TAG_LEN[x.tag]           # the NAME or variant begins here
        variant = x.tag == TAG_PARAM_CLOSE
        m = VARIANT_LIMIT if variant else NAME_LIMIT
        limit = size + m if size + m < n else n
        while True:
            at = name_end(kind, data, at, limit)
            if at == n:
                break
            c = PyUnicode_READ(kind, data, at)
            if c == 13 and variant and at < limit:
                at += 1
                continue
            self.work += at - x.at
            x.at = x.end = at
            if c == 62 and (at > size or variant):
                x.at = x.end = at + 1
                x.read = READ_WHOLE
            elif variant:
                x.tag = NO_TAG
                x.read = READ_NONE
            else:
                x.read = READ_BROKEN
            return DONE
        self.work += n - x.at
        x.at = x.end = n
        if x.tag == TAG_PARAM_CLOSE:
            x.could = B_PARAM_CLOSE
        return DONE if self.closing else MORE

    cdef inline int _tag_here(self, unsigned int mask) noexcept:
        """The tag at i."""
        cdef bint again = self.stages >= 1 and self.tag.start == self.i
        if not again:
            self.stages = 1
            self.name = None
        elif self.stages > 1 or self.tag.read == READ_WHOLE:
            return DONE
        return self._read_tag(&self.tag, self.i, again, mask)

    cdef inline int _ws_behind(self) noexcept:
        """The whitespace behind the tag at i."""
        if self.stages < 2:
            self.stages = 2
            self.ws = self.tag.end
        return self._read_ws(self.tag.end, &self.ws)

    cdef inline int _tag_behind(self, unsigned int mask) noexcept:
        """The tag behind that whitespace."""
        cdef bint again = self.stages >= 3
        if again and self.tag2.read == READ_WHOLE:
            return DONE
        self.stages = 3
        return self._read_tag(&self.tag2, self.ws, again, mask)

    cdef inline int _ws_behind_tag2(self) noexcept:
        if self.stages < 4:
            self.stages = 4
            self.ws2 = self.tag2.end
        return self._read_ws(self.tag2.end, &self.ws2)

    # ------------------------------------------------------------------------- deciding: names and JSON heads

    cdef bint _admits(self, str name, bint in_reasoning, bint xml) except -1:
        """Whether a block with this name may be a call here."""
        if self.known:
            if name in self.declared:
                return True
            return not in_reasoning and not self.rules.unknown_is_text and (not xml or _plain(name))
        return _plain(name) or not (in_reasoning or self.rules.unknown_is_text or xml)

    cdef str _name_of(self, Lex* x):
        if self.name is None:
            self.name = _clean_name(self._slice(x.start + TAG_LEN[x.tag], x.end - 1), &self.quoted)
        return <str> self.name

    cdef int _json_begin(self, Py_ssize_t at) except -1:
        json_init(&self.json)
        self.j_start = self.j_at = at
        self.j_val = self.j_end = at
        self.j_key_size = 0
        self.j_member = self.j_current = MEMBER_OTHER
        self.j_first = True
        self.j_name = self.j_args = self.j_args_string = self.j_args_closed = self.j_args_done = False
        self.j_alias = self.j_long = self.j_broken = False
        self.j_started = True
        return 0

    cdef int _json_read(self, bint head) except -1:
        """Goes on reading the JSON block until something happens that its caller must know (JP_*)."""
        cdef Py_UCS4 c
        cdef Py_ssize_t m, stop, k
        cdef int said
        while self.j_at < self.n:
            stop = self.n
            if head:
                if self.j_at - self.j_start >= self.max_held:
                    return JP_LONG
                if stop > self.j_start + self.max_held:
                    stop = self.j_start + self.max_held
            if self.j_current >= MEMBER_ARGS and self.j_args_string:
                m = self.j_val + 1 + self.max_held
                if self.j_at >= m and self._c(self.j_at) != 34:
                    return JP_FAULT
                if stop > m:
                    stop = m
            c = self._c(self.j_at)
            if self.json.state == J_STRING and c != 34:
                m = find_quote(self.kind, self.data, self.j_at, stop)
                while (self.json.depth > 1 or not self.json.key) and m + 1 < stop and self._c(m) == 92 \
                        and is_simple_escape(self._c(m + 1)):
                    m = find_quote(self.kind, self.data, m + 2, stop)
                if m > self.j_at:
                    if self.json.key and self.json.depth == 1:
                        for k in range(self.j_at, m):
                            self._json_key_char(self._c(k))
                    self.work += m - self.j_at
                    self.j_at = m
                    continue
            said = json_step(&self.json, c)
            self.work += 1
            if said & JE_MEMORY:
                raise MemoryError
            if said & JE_FAULT:
                if said & JE_END_BEFORE:
                    self.json.state = J_AFTER
                    self.j_end = self.j_at
                return JP_FAULT
            if said == JE_NONE:
                if self.json.key and self.json.depth == 1:
                    self._json_key_char(c)
                self.j_at += 1
                continue
            if said & (JE_END | JE_END_BEFORE):
                self.j_end = self.j_at
            if said & JE_KEY_START:
                if self.j_first and self.j_at - self.j_start - 1 > WINDOW:
                    return JP_FAULT
                self.j_key_size = 0
            if said & JE_KEY:
                if not self._json_member():
                    return JP_FAULT
            if said & JE_START:
                self.j_val = self.j_at
                self.j_current = MEMBER_OTHER
                if self.j_member == MEMBER_NAME:
                    if self.j_name:
                        self.j_at += 1
                        return JP_AGAIN
                    if c != 34:
                        return JP_FAULT
                    self.j_current = MEMBER_NAME
                elif self.j_member >= MEMBER_ARGS:
                    if self.j_args:
                        self.j_at += 1
                        return JP_AGAIN
                    if c == 123 or c == 34:
                        self.j_args = True
                        self.j_args_string = c == 34
                        self.j_alias = self.j_member == MEMBER_ALIAS
                        self.j_current = self.j_member
                        self.j_at += 1
                        return JP_ARGS
                    if c != 110:                # null: no arguments
                        return JP_FAULT
            self.j_at += 1
            if said & JE_END:
                if self.j_current == MEMBER_NAME:
                    self.j_name = True
                    self.j_current = MEMBER_OTHER
                    return JP_NAME
                if self.j_current >= MEMBER_ARGS:
                    if self.j_args_string and not self._args_hold_object(head):
                        return JP_FAULT
                    self.j_current = MEMBER_OTHER
                    self.j_args_closed = True
                    return JP_ARGS_END
            if said & JE_DONE:
                return JP_END
        if head and self.j_at - self.j_start >= self.max_held:
            return JP_LONG
        return JP_MORE

    cdef bint _args_hold_object(self, bint head) except -1:
        # While streaming, the string's beginning has left the window; `j_text` keeps it.
        cdef str source = self._slice(self.j_val, self.j_at) if head else \
            "".join(self.j_text) + self._slice(self.p, self.j_at)
        return _holds_object(source)

    cdef inline void _json_key_char(self, Py_UCS4 c) noexcept:
        if self.j_key_size < 12:
            self.j_key[self.j_key_size] = <char> c if c < 128 else 1
            self.j_key_size += 1

    cdef bint _json_member(self) except -1:
        """Which member the key just read names. False: the first key shows that this is no call."""
        cdef bytes key = (<char*> self.j_key)[:self.j_key_size]
        if self.j_first and key not in OPENER_KEYS:
            return False
        self.j_first = False
        self.j_member = MEMBER_OTHER
        if key == b"name":
            self.j_member = MEMBER_NAME
        elif key == b"arguments":
            self.j_member = MEMBER_ARGS
        elif key == b"parameters":
            self.j_member = MEMBER_ALIAS
        return True

    cdef bint _opener_could(self) except -1:
        """Whether what has come of the first key, or of the whitespace before it, may still make a JSON opener."""
        cdef bytes part
        if self.json.state == J_KEY_OR_END or self.json.depth == 0:
            return self.j_at - self.j_start - 1 <= WINDOW
        if self.json.depth != 1 or not self.json.key or self.json.state != J_STRING:
            return False
        part = (<char*> self.j_key)[:self.j_key_size]
        for key in OPENER_KEYS:
            if (<bytes> key).startswith(part):
                return True
        return False

    cdef int _json_head(self, Py_ssize_t start) except -1:
        """Whether the '{' at `start` begins a JSON call: A_JSON_CALL, A_TEXT, A_HOLD; A_CUT_CALL if the input ends first."""
        cdef int point
        cdef str name
        if not self.j_started or self.j_start != start:
            self._json_begin(start)
        while True:
            point = self._json_read(True)
            if point == JP_MORE:
                if self.j_first and not self._opener_could():
                    return A_TEXT
                return A_CUT_CALL if self.closing else A_HOLD
            if point == JP_NAME:
                name = self._slice(self.j_val + 1, self.j_at - 1)
                if find_char(self.kind, self.data, self.j_val, self.j_at, 92) < self.j_at:
                    name = json_loads(self._slice(self.j_val, self.j_at))
                if 1 <= len(name) <= NAME_LIMIT:
                    self.name = name
                    return A_JSON_CALL
                return A_TEXT
            if point == JP_LONG:
                self.j_long = True
                return A_TEXT
            if point == JP_FAULT or point == JP_END:
                return A_TEXT

    # ------------------------------------------------------------------------------- reasoning and content

    cdef unsigned int _wanted_in_text(self) noexcept:
        """The tags that can mean something here."""
        cdef unsigned int mask = B_THINK_CLOSE
        cdef bint in_fence = self.line.fence != 0 and not self.rules.call_in_fence
        if self.fresh != FRESH_NO:
            mask |= B_THINK
        if self.state == S_REASONING:
            if self.callable and (self.rules.in_reasoning == 2
                                  or (self.rules.in_reasoning == 1 and self.line.bol and not in_fence)):
                mask |= B_CALL
            return mask
        if self.callable and not in_fence:
            mask |= B_CALL
            if self.rules.bare and self.known and self.line.bol:
                mask |= B_FN
        if self.stray_ok:
            mask |= B_FN_CLOSE | B_CALL_CLOSE | B_PARAM_CLOSE
        return mask

    cdef int _decide_text(self) except -1:
        cdef int t, r
        if self._tag_here(self._wanted_in_text()) == MORE:
            return A_HOLD
        t = self.tag.tag
        if t == NO_TAG:
            return A_TEXT
        if t == TAG_THINK:
            return A_THINK_OPEN
        if t == TAG_THINK_CLOSE:
            if self.state == S_REASONING:
                return A_THINK_CLOSE
            if self.owed:
                return A_LATE_CLOSE
            return A_DROP_CLOSE if self.rules.drop_close else A_KEEP_CLOSE
        if t == TAG_CALL:
            return self._decide_call()
        if t == TAG_FN:
            if self.tag.read != READ_WHOLE or self._name_of(&self.tag) not in self.declared:
                return A_TEXT
            r = self._ws_behind()
            if r == MORE:
                return A_HOLD
            if r == OVER or (self.ws < self.n and self._c(self.ws) != 60):
                return A_TEXT
            return A_BARE_CALL
        if t == TAG_PARAM_CLOSE and (self.tag.read != READ_WHOLE or self.tag.end - self.tag.start != 12):
            return A_TEXT
        return A_STRAY

    cdef int _decide_call(self) except -1:
        """The <tool_call> at i."""
        cdef int r = self._ws_behind()
        cdef Py_UCS4 c
        cdef bint in_reasoning = self.state == S_REASONING
        if r == MORE:
            return A_HOLD
        if r == OVER:
            return A_TEXT
        if self.ws == self.n:
            return A_TEXT if self.ended else A_CUT_CALL
        c = self._c(self.ws)
        if c == 123:
            r = self._json_head(self.ws)
            if r == A_JSON_CALL and not self._admits(<str> self.name, in_reasoning, False):
                return A_TEXT
            if r == A_CUT_CALL and self.ended:
                return A_TEXT
            return r
        if c != 60:
            return A_TEXT
        r = self._decide_opener(&self.tag2, self.ws, in_reasoning)
        if r == A_CUT_CALL and self.ended:
            return A_TEXT
        return r

    cdef int _decide_opener(self, Lex* x, Py_ssize_t start, bint in_reasoning) except -1:
        """Whether a <function=NAME> opener stands behind a <tool_call>."""
        cdef int r = self._tag_behind(B_FN)
        if r == MORE:
            return A_HOLD
        if x.tag != TAG_FN:
            return A_CUT_CALL if x.could else A_TEXT
        if x.read == READ_OPEN:
            return A_CUT_CALL
        if x.read != READ_WHOLE:
            return A_TEXT
        if not self._name_of(x) or not self._admits(<str> self.name, in_reasoning, True):
            return A_TEXT
        r = self._ws_behind_tag2()
        if r == MORE:
            return A_HOLD
        if r == OVER or (self.ws2 < self.n and self._c(self.ws2) != 60):
            return A_TEXT
        return A_CALL

    cdef inline bint _has_text(self) noexcept:
        return self.any_reasoning if self.state == S_REASONING else self.any_content

    cdef inline int _text_kind(self) noexcept:
        return K_THINK_BODY if self.state == S_REASONING else K_CONTENT

    cdef inline int _flush_text(self) except -1:
        if self.p < self.t:
            self._emit(self._text_kind(), self.p, self.t)
            self.p = self.t
        return 0

    cdef inline void _saw_text(self) noexcept:
        if self.state == S_REASONING:
            self.any_reasoning = True
        else:
            self.any_content = True
        self.fresh = FRESH_NO
        self.stray_ok = False

    cdef int _resolve(self, Py_ssize_t end, bint as_text) except -1:
        """The undecided whitespace up to `end` is text, or layout. Strays between are layout either way."""
        cdef Py_ssize_t a = self.t
        cdef Py_ssize_t b
        if as_text and not self.strays:
            self.t = end
            return 0
        self._flush_text()
        while a < end:
            if self._c(a) == 60:
                b = find_char(self.kind, self.data, a, end, 62) + 1
                self._stray(a, b)
            else:
                b = find_char(self.kind, self.data, a, end, 60)
                self._emit(self._text_kind() if as_text else K_WS, a, b)
            a = b
        self.strays = False
        self.late_at = -1
        self.p = self.t = end
        return 0

    cdef int _stray(self, Py_ssize_t a, Py_ssize_t b) except -1:
        """A closer behind a call, or a </think> that is layout."""
        if self.base + b <= 0 and not self.prefixing:       # wholly in the prefix
            pass
        elif a == self.late_at:
            self._issue("late-think-close")
        elif b - a == 8:
            self._issue("stray-think-close")
        else:
            self._call_issue("stray-close", a, b)
        return self._emit(K_LATE_CLOSE if a == self.late_at else K_STRAY, a, b)

    cdef int _text_region(self, Py_ssize_t i, Py_ssize_t j) except -1:
        """[i, j) holds no tag: text, with whitespace around it that may be layout."""
        cdef Py_ssize_t k = j
        cdef Py_ssize_t m = i
        while k > i and is_ws(self._c(k - 1)):
            k -= 1
        self.work += j - i
        line_feed(&self.line, self.kind, self.data, i, j)
        if self.over:
            while m < j and is_ws(self._c(m)):
                m += 1
            self.t = m
            self._saw_text()
            if m == j:
                return 0
            self.over = False
            self.run = 0
        elif k == i:
            self.run += j - i
            if self.run > WINDOW:
                self._resolve(j, True)
                self._saw_text()
                self.over = True
            return 0
        else:
            if self.strays or not self._has_text():
                while m < k and is_ws(self._c(m)):
                    m += 1
                self._resolve(m, self._has_text() or self.run + (m - i) > WINDOW)
        self._saw_text()
        self.t = k
        self.run = j - k
        if self.run > WINDOW:
            self.t = j
            self.over = True
        return 0

    cdef int _run_text(self) except -1:
        cdef Py_ssize_t i, j
        cdef bint skip = False
        cdef int a
        while True:
            i = self.i
            if i < self.n and (skip or self._c(i) != 60):
                j = find_char(self.kind, self.data, i + skip, self.n, 60)
                self._text_region(i, j)
                self.i = i = j
                skip = False
            if i == self.n:
                self._flush_text()
                return MORE
            a = self._decide_text()
            if a == A_TEXT:
                if self.j_long:
                    self.j_long = False
                    self._resolve(i, self._has_text())
                    self._flush_text()
                    self._issue("window-exceeded")
                self.stages = 0
                self.j_started = False
                skip = True
                continue
            if a == A_HOLD:
                self._flush_text()
                return MORE
            if a == A_KEEP_CLOSE:
                self._resolve(i, self._has_text())
                self._flush_text()
                self._issue("stray-think-close")
                self.stages = 0
                skip = True
                continue
            self._act_text(a)
            self.stages = 0
            self.j_started = False
            if self.state > S_CONTENT:
                return DONE

    cdef int _section(self, int state) except -1:
        """A section of reasoning or content begins at i."""
        self.state = state
        line_reset(&self.line)
        self.run = 0
        self.over = False
        self.p = self.t = self.i
        return 0

    cdef int _act_text(self, int a) except -1:
        cdef Py_ssize_t i = self.i
        cdef Py_ssize_t e = self.tag.end
        cdef int was = self.state
        if a == A_LATE_CLOSE or a == A_DROP_CLOSE or a == A_STRAY:
            if a == A_LATE_CLOSE:
                self.owed = False
                self.late_at = i
            if a != A_STRAY:
                self.stray_ok = False
                self.fresh = FRESH_NO
            line_feed(&self.line, self.kind, self.data, i, e)
            self.i = e
            self.run += e - i
            if self.t == i:
                self._flush_text()
                self._stray(i, e)
                self.late_at = -1
                self.p = self.t = e
            else:
                self.strays = True
            if self.run > WINDOW and not self.over:
                if self.strays:
                    self._resolve(e, True)
                    self._saw_text()
                self.stray_ok = False
                self.over = True
            return 0
        self._resolve(i, False)
        if a == A_THINK_OPEN:
            if self.fresh == FRESH_REASONING:
                self._issue("repeated-think-open")
            elif self.fresh == FRESH_CONTENT:
                self._issue("unexpected-think-open")
            self._emit(K_THINK_OPEN, i, e)
            self.i = e
            self.any_reasoning = False      # behind a thought of the prompt it is a thought of its own
            # The prompt's own tag, and the model may still echo it; or the thought was closed for the model.
            self.fresh = FRESH_REASONING if self.prefixing else FRESH_NO
            return self._section(S_REASONING)
        if a == A_THINK_CLOSE:
            self._emit(K_THINK_CLOSE, i, e)
            self.i = e
            self.fresh = FRESH_CONTENT if self.prefixing else FRESH_NO
            return self._section(S_CONTENT)
        if a == A_CUT_CALL:
            self._emit(K_CALL_OPEN, i, e)
            self._emit(K_WS, e, self.ws)
            self._emit(K_JUNK, self.ws, self.n)
            return self._nameless_cut()
        self.fresh = FRESH_NO
        self.from_reasoning = was == S_REASONING
        if self.from_reasoning:
            self.owed = True
        self.wrapper = a != A_BARE_CALL
        self.blocks = 0
        if a == A_BARE_CALL:
            return self._begin_function(&self.tag)
        self.state = S_BLOCK
        self._emit(K_CALL_OPEN, i, e)
        self._emit(K_WS, e, self.ws)
        if a == A_CALL:
            return self._begin_function(&self.tag2)
        return self._begin_json(self.ws)

    cdef int _nameless_cut(self) except -1:
        self.p = self.t = self.i = self.n
        self._issue("cut-call")
        self._rec(R_CUT, 1, self.emitted, self.emitted)
        self.incomplete = True
        self.state = S_END
        return 0

    # ---------------------------------------------------------------------------------------------- calls

    cdef int _introduce(self, str name, bint xml) except -1:
        """Notes on a call that has just started."""
        self.blocks += 1
        if self.from_reasoning and self.blocks == 1:
            self._call_issue("call-in-reasoning")
        if not self.wrapper:
            self._call_issue("missing-tool-call-open")
        if xml != self.xml:
            self._call_issue("foreign-dialect")
        if self.blocks > 1:
            self._call_issue("several-calls-in-block")
        if xml and self.quoted:
            self._call_issue("quoted-name")
        if self.known and name not in self.declared:
            self._call_issue("undeclared-tool")
        self.params = self.declared.get(name) if self.known else None
        self.given = None
        self.closed_params = 0
        self.unclosed_params = False
        return 0

    cdef int _begin_function(self, Lex* x) except -1:
        """The <function=NAME> of x is a call."""
        cdef Py_ssize_t a = x.start + TAG_LEN[TAG_FN]
        cdef str name = self._name_of(x)
        self.state = S_FUNCTION
        self._emit(K_FN_OPEN, x.start, a)
        self._start_call(name, a, x.end - 1, K_NAME)
        self._introduce(name, True)
        self._emit(K_FN_OPEN_END, x.end - 1, x.end)
        self.p = self.t = self.i = x.end
        self._between()
        return 0

    cdef inline void _between(self) noexcept:
        """Between parameters, no junk yet."""
        self.state = S_FUNCTION
        self.junk = False
        self.newline = False
        self.stages = 0

    cdef int _enter_block(self) except -1:
        """Behind a call, before its wrapper ends. What comes may already be content."""
        self._section(S_BLOCK)
        self.stages = 0
        self.j_started = False
        self.stray_ok = True
        return 0

    cdef int _decide_block(self) except -1:
        """What comes behind a call: the end of its wrapper, a further block, or neither."""
        cdef int r
        cdef Py_UCS4 c
        if self.over:
            return A_LEAVE
        if self.i == self.n:
            return A_LEAVE if self.closing else A_HOLD
        c = self._c(self.i)
        if c == 60:
            r = self._tag_here(B_CALL_CLOSE | (B_FN if self.wrapper else 0))
            if r == MORE:
                return A_HOLD
            if self.tag.tag == TAG_CALL_CLOSE:
                return A_WRAPPER_CLOSE
            if self.tag.tag == NO_TAG:
                if self.tag.could & B_CALL_CLOSE:
                    return A_CUT_TAG
                return A_CUT_CALL if self.tag.could and not self.ended else A_LEAVE
            if self.tag.read == READ_OPEN:
                return A_LEAVE if self.ended else A_CUT_CALL
            if self.tag.read != READ_WHOLE:
                return A_LEAVE
            if not self._name_of(&self.tag) or not self._admits(<str> self.name, self.from_reasoning, True):
                return A_LEAVE
            r = self._ws_behind()
            if r == MORE:
                return A_HOLD
            if r == OVER or (self.ws < self.n and self._c(self.ws) != 60):
                return A_LEAVE
            return A_BLOCK
        if c == 123 and self.wrapper:
            r = self._json_head(self.i)
            if r == A_HOLD or (r == A_CUT_CALL and not self.ended):
                return r
            if r == A_JSON_CALL and self._admits(<str> self.name, self.from_reasoning, False):
                return A_JSON_BLOCK
        return A_LEAVE

    cdef int _run_block(self) except -1:
        cdef Py_ssize_t i = self.i
        cdef int a
        while i < self.n and is_ws(self._c(i)) and self.run <= WINDOW:
            i += 1
            self.run += 1
        line_feed(&self.line, self.kind, self.data, self.i, i)
        self.work += i - self.i + 1
        self.i = i
        self.over = self.run > WINDOW
        a = self._decide_block()
        if a == A_HOLD:
            return MORE
        if a == A_LEAVE or a == A_CUT_TAG:
            self._left_open()
            if a == A_CUT_TAG:
                self._emit(K_WS, self.p, self.i)
                self._call_issue("cut-tag")
                self._emit(K_JUNK, self.i, self.n)
                self.p = self.t = self.i = self.n
                self.incomplete = True
                self.state = S_END
                return DONE
            if self.j_long:
                self._issue("window-exceeded")
                self.j_long = False
            self.state = S_CONTENT
            self.stages = 0
            self.j_started = False
            if self.over:
                self._resolve(self.i, True)
                self._saw_text()
            return DONE
        self._emit(K_WS, self.p, i)
        if a == A_CUT_CALL:
            self._emit(K_JUNK, i, self.n)
            self._nameless_cut()
            return DONE
        if a == A_WRAPPER_CLOSE:
            self._emit(K_CALL_CLOSE, i, self.tag.end)
            self.i = self.tag.end
            self._section(S_CONTENT)
            self.stray_ok = True
        elif a == A_BLOCK:
            self._begin_function(&self.tag)
        else:
            self._begin_json(i)
        self.stages = 0
        self.j_started = False
        return DONE

    # ------------------------------------------------------------------------------------- function blocks

    cdef int _run_function(self) except -1:
        cdef Py_ssize_t i, j
        cdef Py_UCS4 c
        cdef int t
        while True:
            i = self.i
            if i == self.n:
                if not self.closing:
                    return MORE
                return self._end_function()
            c = self._c(i)
            if is_ws(c):
                if self._layout():
                    return DONE
                continue
            if self.p < i:
                self._emit(K_WS, self.p, i)
                self.p = i
            self.newline = False
            if c == 60:
                if self._tag_here(B_PARAM | B_FN_CLOSE | B_CALL_CLOSE | B_CALL | B_FN) == MORE \
                        and self.tag.tag != TAG_FN:
                    return MORE
                t = self.tag.tag
                if t == TAG_FN_CLOSE:
                    self._emit(K_FN_CLOSE, i, self.tag.end)
                    self.i = self.tag.end
                    self._end_call(True)
                    self._enter_block()
                    return DONE
                if t == TAG_CALL_CLOSE or t == TAG_CALL or t == TAG_FN:
                    self._call_issue("missing-function-close")
                    self._end_call(True)
                    self._enter_block()
                    return DONE
                if t == TAG_PARAM and self.tag.read != READ_OPEN:
                    self._parameter()
                    return DONE
                if self.tag.could or t == TAG_PARAM:            # half a tag, and nothing more will come
                    return self._end_function()
                self.stages = 0
            if not self.junk:
                self.junk = True
                self._call_issue("malformed-parameter")
            j = i + 1
            while j < self.n and not is_ws(self._c(j)) and self._c(j) != 60:
                j += 1
            self.work += j - i
            self._emit(K_JUNK, i, j)
            self.p = self.t = self.i = j

    cdef int _layout(self) except -1:
        """Whitespace at i, between parameters. True: it held a blank line behind junk, which ends the call."""
        cdef Py_ssize_t i = self.i
        cdef Py_UCS4 c
        while i < self.n:
            c = self._c(i)
            if not is_ws(c):
                break
            if c == 10 and self.junk:
                if self.newline and i - self.blank < WINDOW:
                    self._emit(K_WS, self.p, self.blank)
                    self._end_call(False)
                    self._left_open()
                    self.i = self.blank
                    self._section(S_CONTENT)
                    self.stray_ok = True
                    self.stages = 0
                    return 1
                self.newline = True
                self.blank = i
            i += 1
        self.work += i - self.i + 1
        self.i = i
        # From a newline on it may still be the blank line.
        if self.newline and i - self.blank >= WINDOW:
            self.newline = False
        i = self.blank if self.newline else i
        self._emit(K_WS, self.p, i)
        self.p = self.t = i
        return 0

    cdef int _end_function(self) except -1:
        """The input ends in a function block, between parameters; [i, n) is half a tag."""
        cdef bint half = self.i < self.n
        self._emit(K_WS, self.p, self.i)
        if half:
            self._call_issue("cut-tag", self.i, self.n)
            self._emit(K_JUNK, self.i, self.n)
            self.incomplete = True
        self.p = self.t = self.i = self.n
        return self._cut(not half and not self.unclosed_params and (self.ended or self.closed_params > 0))

    cdef int _cut(self, bint whole) except -1:
        """The input ended inside the call; `whole`: policy truncated_call="closed" may count it as complete."""
        self._call_issue("cut-call")
        self._end_arg(False)
        self._end_call(whole and self.rules.close_cut)
        if not self.call_complete:
            self._rec(R_CUT, 0, self.emitted, self.emitted)
        self.incomplete = True
        self.state = S_END
        return DONE

    cdef bint _is_parameter(self, str name) except -1:
        """Whether NAME may name a parameter: declared, or nothing is known of them and it is a plain word."""
        if self.params is not None:
            return name in self.params
        return bool(name) and _plain(name)

    cdef inline bint _is_given(self, str name) except -1:
        return self.given is not None and name in self.given

    cdef int _parameter(self) except -1:
        """The <parameter= at i, whole or broken off."""
        cdef Py_ssize_t i = self.i
        cdef Py_ssize_t a = i + TAG_LEN[TAG_PARAM]
        cdef Py_ssize_t e = self.tag.end
        cdef bint whole = self.tag.read == READ_WHOLE
        cdef Py_ssize_t name_end = e - 1 if whole else e
        cdef bint quoted = False
        cdef str written = self._slice(a, name_end)
        cdef str name = _clean_name(written, &quoted)
        cdef Py_ssize_t equal
        cdef str word
        cdef str code = "malformed-parameter"
        self.discard = False
        if whole and name and (self._is_parameter(name) or _plain(name)):
            self._emit(K_PARAM_OPEN, i, a)
            self._start_arg(name, a, name_end)
            if quoted:
                self._call_issue("quoted-name", a, name_end)
            if self.params is not None and name not in self.params:
                self._call_issue("undeclared-parameter", a, name_end)
            self._emit(K_PARAM_OPEN_END, name_end, e)
            return self._begin_value(name, e, True)
        if not whole:
            equal = written.find("=")
            if equal >= 0:
                word = _clean_name(written[:equal], &quoted)
                if word and self._is_parameter(word) and _plain(word):
                    name = word
                    self._emit(K_PARAM_OPEN, i, a)
                    self._start_arg(name, a, a + equal)
                    self._call_issue("fused-parameter", a, name_end)
                    if quoted:
                        self._call_issue("quoted-name", a, a + equal)
                    self._emit(K_PARAM_OPEN_END, a + equal, a + equal + 1)
                    return self._begin_value(name, a + equal + 1, True)
            elif name and self._c(e) in (10, 13) and self._is_parameter(name) and _plain(name):
                self._emit(K_PARAM_OPEN, i, a)
                self._start_arg(name, a, name_end)
                self._call_issue("unclosed-parameter-tag", a, name_end)
                if quoted:
                    self._call_issue("quoted-name", a, name_end)
                return self._begin_value(name, e, True)
        if not name:
            code = "nameless-parameter"
        self._call_issue(code, a, name_end)
        self._emit(K_PARAM_OPEN, i, a)
        self.discard = True
        if self._c(name_end) == 62:
            name_end += 1
        self._emit(K_JUNK, a, name_end)
        return self._begin_value(None, name_end, False)

    # ---------------------------------------------------------------------------------------------- values

    cdef int _begin_value(self, str name, Py_ssize_t at, bint framed) except -1:
        if name is not None:
            if self.given is None:
                self.given = set()
            self.given.add(name)
        self.state = S_VALUE
        self.at_value_start = framed
        self.value_bol = True
        self.stages = 0
        self.p = self.t = self.i = at
        return 0

    cdef int _decide_value(self) except -1:
        """The '<' at i, inside a value."""
        cdef unsigned int mask = B_PARAM_CLOSE
        cdef int t
        if self.value_bol:
            mask |= B_FN_CLOSE | B_CALL_CLOSE | B_PARAM
        if self._tag_here(mask) == MORE:
            return A_HOLD
        t = self.tag.tag
        if t == NO_TAG:
            if self.tag.could == B_PARAM:
                return A_VALUE_CUT if self._could_be_parameter() else A_TEXT
            return A_VALUE_CUT if self.tag.could else A_TEXT
        if t == TAG_PARAM_CLOSE:
            if self.tag.read != READ_WHOLE:
                return A_VALUE_CUT
            if self.rules.first_close and self.tag.end - self.tag.start == 12:
                return A_VALUE_CLOSE
            return self._decide_follow(B_PARAM | B_FN_CLOSE | B_CALL_CLOSE, A_VALUE_CLOSE)
        if t == TAG_FN_CLOSE:
            return self._decide_follow(B_CALL_CLOSE | B_CALL | B_FN, A_VALUE_BREAK)
        if t == TAG_CALL_CLOSE:
            return self._decide_follow(B_CALL, A_VALUE_BREAK)
        if self.tag.read == READ_OPEN:
            return A_VALUE_CUT if self._could_be_parameter() else A_TEXT
        if self.tag.read != READ_WHOLE:
            return A_TEXT
        if self._is_given(self._name_of(&self.tag)) or not self._is_parameter(<str> self.name):
            return A_TEXT
        return A_VALUE_BREAK

    cdef bint _could_be_parameter(self) except -1:
        """Whether the unfinished NAME at the end could still become one that ends this value."""
        cdef Py_ssize_t a = self.tag.start + TAG_LEN[TAG_PARAM]
        cdef str written = self._slice(a, self.tag.end).lstrip(" \t") if a < self.tag.end else ""
        cdef str name
        cdef str word = written.rstrip(" \t")           # behind a blank the name cannot grow
        cdef bint quoted
        if self.params is None:
            return _plain(word) and (word == written or not self._is_given(_clean_name(word, &quoted)))
        for name in self.params:
            if not self._is_given(name):
                for form in (name, f'"{name}"', f"'{name}'"):
                    if (<str> form).startswith(written) or form == word:
                        return True
        return False

    cdef int _decide_follow(self, unsigned int mask, int closes) except -1:
        """The closer at i counts if one of `mask` follows; at the end of the input see docs/format.md, values."""
        cdef int r = self._ws_behind()
        cdef int t
        cdef bint lookahead = closes == A_VALUE_CLOSE
        cdef int at_end = closes if lookahead or self.ended else A_VALUE_CUT
        if r == MORE:
            return A_HOLD
        if r == OVER:
            return A_TEXT
        if self.ws == self.n:
            return at_end
        if self._c(self.ws) != 60:
            return A_TEXT
        r = self._tag_behind(mask)
        t = self.tag2.tag
        if t == NO_TAG:
            if r == MORE:
                return A_HOLD
            return at_end if self.tag2.could else A_TEXT
        if t == TAG_PARAM:
            return closes
        if t == TAG_FN:
            if r == MORE:
                return A_HOLD
            if self.tag2.read == READ_OPEN:
                return at_end
            self.name = None
            if self.tag2.read != READ_WHOLE or not self._name_of(&self.tag2) \
                    or not (_plain(<str> self.name) or (self.known and self.name in self.declared)):
                return A_TEXT
        return closes

    cdef int _run_value(self) except -1:
        cdef Py_ssize_t j, q
        cdef Py_ssize_t s
        cdef int a
        cdef int kind = K_JUNK if self.discard else K_VALUE
        if self.at_value_start:
            if self.i == self.n:
                if not self.closing:
                    return MORE
            elif self._c(self.i) == 10:
                self._emit(K_LEAD, self.i, self.i + 1)
                self.i += 1
                self.p = self.i
            self.at_value_start = False
        s = self.i
        while True:
            j = find_char(self.kind, self.data, s, self.n, 60)
            self.work += j - s + 1
            self.value_bol = blanks_since_newline(self.kind, self.data, self.i, j, self.value_bol)
            self.i = j
            # One newline in front of a closing tag is framing.
            q = j - 1 if j > self.p and not self.discard and self._c(j - 1) == 10 else j
            if j == self.n:
                if self.closing:
                    self._emit(kind, self.p, j)
                    self.p = j
                    return self._cut(False)
                self._emit(kind, self.p, q)
                self.p = q
                return MORE
            a = self._decide_value()
            if a == A_TEXT:
                self.value_bol = False
                self.stages = 0
                self.i = s = j + 1
                continue
            self._emit(kind, self.p, q)
            self.p = q
            if a == A_HOLD:
                return MORE
            self._emit(K_TRAIL, q, j)
            self.p = self.t = j
            if a == A_VALUE_CUT:
                self._call_issue("cut-tag", j, self.n)
                self._emit(K_JUNK, j, self.n)
                self.p = self.t = self.i = self.n
                return self._cut(False)
            if a == A_VALUE_BREAK:
                self.unclosed_params = True
                if not self.discard:
                    self._call_issue("missing-parameter-close")
                self._end_arg(True)
            else:
                if self.tag.end - self.tag.start != 12 and not self.discard:
                    self._call_issue("malformed-close", j, self.tag.end)
                self._end_arg(True)
                self._emit(K_PARAM_CLOSE, j, self.tag.end)
                self.p = self.t = self.i = self.tag.end
                if not self.discard:
                    self.closed_params += 1
                if self.stages >= 3 and self.tag2.read == READ_WHOLE:       # what follows has been read
                    self._between()
                    self.tag = self.tag2
                    self.stages = 1
                    self.name = None
                    return DONE
            self._between()
            return DONE

    # ------------------------------------------------------------------------------------------- JSON calls

    cdef int _begin_json(self, Py_ssize_t at) except -1:
        """The '{' at `at` begins a call whose name is known: read it again, this time reporting."""
        self.state = S_JSON
        self._json_begin(at)
        self.p = self.t = self.i = at
        self.quoted = False
        self.pending_name = self.name
        self.j_text = None
        return 0

    cdef inline int _json_kind(self) noexcept:
        if self.j_current >= MEMBER_ARGS:
            return K_JSON_ARGS
        return K_JSON_CLOSE if self.j_args_done else K_JSON_OPEN

    cdef int _json_flush(self, Py_ssize_t end, int kind) except -1:
        if self.p < end:
            if kind == K_JSON_ARGS and self.j_text is not None:
                self.j_text.append(self._slice(self.p, end))
            self._emit(kind, self.p, end)
            self.p = end
        return 0

    cdef int _json_start(self, Py_ssize_t a, Py_ssize_t b) except -1:
        cdef str name = <str> self.pending_name
        self.pending_name = None
        self._start_call(name, a, b, K_JSON_NAME)
        return self._introduce(name, False)

    cdef int _run_json(self) except -1:
        cdef int point
        cdef bint after
        while True:
            point = self._json_read(False)
            if point == JP_NAME:
                self._json_flush(self.j_val, self._json_kind())
                if self.pending_name is not None:
                    self._json_start(self.j_val, self.j_at)
                else:
                    self._emit(K_JSON_NAME, self.j_val, self.j_at)
                self.p = self.j_at
            elif point == JP_ARGS:
                self._json_flush(self.j_val, K_JSON_OPEN)
                if self.pending_name is not None:
                    self._json_start(self.j_val, self.j_val)
                if self.j_alias:
                    self._call_issue("aliased-arguments")
                self._start_arg(None, self.j_val, self.j_val)
                self.j_text = [] if self.j_args_string else None
            elif point == JP_ARGS_END:
                self._json_flush(self.j_at, K_JSON_ARGS)
                self._end_arg(True)
                self.j_args_done = True
                self.j_text = None
            elif point == JP_AGAIN:
                self._json_flush(self.j_at, self._json_kind())
                self._broken_json()
            elif point == JP_END:
                self._json_flush(self.j_at - 1, self._json_kind())
                self._json_flush(self.j_at, K_JSON_CLOSE)
                self.i = self.j_at
                if not self.j_args_done:
                    self._call_issue("missing-arguments")
                self._end_call(True)
                self._enter_block()
                return DONE
            else:
                # Only the last brace is missing: arguments is closed and a member has just ended.
                if self.json.state in (J_ZERO, J_INT, J_FRAC, J_EXP):
                    self.j_end = self.j_at
                after = self.j_args_closed and self.json.depth == 1 and self.j_at - self.j_end <= WINDOW + 1 and (
                    self.json.state == J_AFTER or (point == JP_MORE and self.j_end == self.j_at))
                self._json_flush(self.j_at, self._json_kind())
                self.i = self.t = self.p
                if point == JP_MORE:
                    if not self.closing:
                        return MORE
                    if after and self.ended:
                        return self._json_forgiven()
                    return self._cut(self.j_args_closed)
                if after and self._c(self.i) == 60:
                    if self._tag_here(B_CALL | B_CALL_CLOSE) == MORE:
                        return MORE
                    if self.tag.tag != NO_TAG or (self.tag.could and self.ended):
                        return self._json_forgiven()
                    if self.tag.could:
                        self._call_issue("cut-tag", self.i, self.n)
                        self._emit(K_JUNK, self.i, self.n)
                        self.p = self.t = self.i = self.n
                        return self._cut(True)
                self._broken_json()
                self._end_arg(False)
                self._end_call(False)
                self.in_string = self.json.state in (J_STRING, J_ESCAPE, J_HEX) and self.json.depth > 0
                self.escaped = False
                self.j_text = None
                self.state = S_BROKEN
                self.stages = 0
                return DONE

    cdef int _json_forgiven(self) except -1:
        self._broken_json()
        self._end_call(True)
        self._enter_block()
        return DONE

    cdef int _broken_json(self) except -1:
        """Once per call."""
        if not self.j_broken:
            self._call_issue("broken-json")
            self.j_broken = True
        return 0

    cdef int _run_broken(self) except -1:
        """Behind a fault: layout up to and with the next </tool_call>, or up to the next <tool_call>."""
        cdef Py_ssize_t i = self.i
        cdef Py_UCS4 c
        while self.in_string and i < self.n:
            c = self._c(i)
            if self.escaped:
                self.escaped = False
            elif c == 92:
                self.escaped = True
            elif c == 34:
                self.in_string = False
            i += 1
        self.work += i - self.i
        while True:
            i = find_char(self.kind, self.data, i, self.n, 60)
            self.work += i - self.i + 1
            self.i = i
            self._emit(K_JUNK, self.p, i)
            self.p = self.t = i
            if i == self.n:
                if self.closing:
                    self._left_open()
                    self.state = S_END
                    return DONE
                return MORE
            if self._tag_here(B_CALL | B_CALL_CLOSE) == MORE:
                return MORE
            if self.tag.tag == NO_TAG:
                self.stages = 0
                i += 1
                continue
            if self.tag.tag == TAG_CALL_CLOSE:
                self._emit(K_CALL_CLOSE, i, self.tag.end)
                self.i = self.tag.end
            else:
                self._left_open()
            self._section(S_CONTENT)
            self.stray_ok = True
            self.stages = 0
            return DONE

    cdef int _left_open(self) except -1:
        """The wrapper ends without its tag."""
        return self._call_issue("missing-tool-call-close") if self.wrapper else 0

    # --------------------------------------------------------------------------------------------- the window

    cdef int _run(self, bint closing) except -1:
        cdef int r
        self.closing = closing
        while True:
            if self.state <= S_CONTENT:
                r = self._run_text()
            elif self.state == S_VALUE:
                r = self._run_value()
            elif self.state == S_FUNCTION:
                r = self._run_function()
            elif self.state == S_JSON:
                r = self._run_json()
            elif self.state == S_BLOCK:
                r = self._run_block()
            elif self.state == S_BROKEN:
                r = self._run_broken()
            else:
                return 0
            if r == MORE:
                break
        if closing:
            self._resolve(self.n, False)
            if self.state == S_REASONING:
                self._issue("unclosed-think")
                self.incomplete = True
            self.state = S_END
        return 0

    cdef int _run_whole(self, bint closing) except -1:
        """`_run`, closed to others while it runs, and for good if an exception leaves it halfway.

        What raises is not the text: an id_factory, a signal, no memory. Other Python code may run inside too (a
        finalizer, another thread while one of these runs), and it may come back here.
        """
        self.busy = RUNNING
        try:
            self._run(closing)
        except:
            self._fail()
            raise
        self.busy = 0
        return 0

    cdef int _fail(self) noexcept:
        """The window may be a piece that is going away: nothing is held any more."""
        self.busy = FAILED
        self.base += self.n
        self.n = self.p = self.t = self.i = 0
        self.piece = None
        self.kind = 4
        self.data = self.buffer
        self.out = self.carry = None
        self.d_reasoning = self.d_content = None
        self.d_calls = self.d_issues = None
        self.notes = None
        return 0

    cdef int _must_be_free(self, bint failed=False) except -1:
        """Raises `RuntimeError` while the parser is being fed, and if `failed` does not allow it behind an exception."""
        if self.busy == RUNNING:
            raise RuntimeError("this parser is being fed: it cannot be used from its own id_factory or another thread")
        if self.busy == FAILED and not failed:
            raise RuntimeError("an exception left this turn half read; reset() begins a new one")
        return 0

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

    cdef int _append(self, int kind, void* data, Py_ssize_t a, Py_ssize_t b, Py_ssize_t at) except -1:
        """Copies [a, b) of a string into the buffer from `at` on."""
        cdef Py_ssize_t k
        cdef unsigned int* to
        self._grow(at + b - a)
        to = self.buffer + at
        if kind == 1:
            for k in range(b - a):
                to[k] = (<unsigned char*> data)[a + k]
        elif kind == 2:
            for k in range(b - a):
                to[k] = (<unsigned short*> data)[a + k]
        else:
            memcpy(to, <unsigned int*> data + a, (b - a) * sizeof(unsigned int))
        return 0

    cdef int _input(self, str s) except -1:
        """More of the completion: runs the machine over what was held and s; keeps what stays undecided."""
        cdef Py_ssize_t size = PyUnicode_GET_LENGTH(s)
        cdef int kind = PyUnicode_KIND(s)
        if size == 0:
            return 0
        self.turn_cache = None
        if kind >= 2 and holds_broken(kind, PyUnicode_DATA(s), size):
            self._find_broken(s)
        else:
            self.broken_before = False
        if self.record:
            self._keep_piece(s)
        if self.carry is not None:
            self._flush_carry()
        if self.n <= LITTLE and self._plain_piece(s):
            return 0
        if self.n <= LITTLE:
            # Little was held: a str of both is cheaper than the buffer, and its slices are too.
            self.piece = _joined_to(self.buffer, self.n, s) if self.n else s
            self.kind = PyUnicode_KIND(self.piece)
            self.data = PyUnicode_DATA(self.piece)
            self.n += size
        else:
            self._append(kind, PyUnicode_DATA(s), 0, size, self.n)
            self.piece = None
            self.kind = 4
            self.data = self.buffer
            self.n += size
        self._run_whole(False)
        return self._keep()

    cdef bint _plain_piece(self, str s) except -1:
        """Reads a piece that holds no '<' where nothing or only whitespace is held; False: read it the long way.

        Reports and holds what the long way would.
        """
        cdef Py_ssize_t size = PyUnicode_GET_LENGTH(s)
        cdef Py_ssize_t end = size
        cdef Py_ssize_t held = self.n
        cdef int kind = PyUnicode_KIND(s)
        cdef void* data = PyUnicode_DATA(s)
        cdef str text
        if self.base < 0 or self.notes is not None or self.i != held:
            return False
        if self.state == S_VALUE:
            if self.discard or self.at_value_start:
                return False
            if PyUnicode_READ(kind, data, size - 1) == 10:
                end -= 1
        elif self.state > S_CONTENT or self.t or self.run != held or self.over or self.strays or not self._has_text():
            return False
        else:
            while end and is_ws(PyUnicode_READ(kind, data, end - 1)):
                end -= 1
            if end == 0 or size - end > LITTLE:
                return False
        if find_char(kind, data, 0, size, 60) != size:
            return False
        self.work += size
        text = s if end == size else PyUnicode_Substring(s, 0, end)
        if held:
            text = _joined_to(self.buffer, held, text)
        if end < size:
            self._append(kind, data, end, size, 0)
        self.kind = 4
        self.data = self.buffer
        self.n = self.i = size - end
        if self.state == S_VALUE:
            self.value_bol = blanks_since_newline(kind, data, 0, size, self.value_bol)
            kind = K_VALUE
        else:
            line_feed(&self.line, kind, data, 0, size)
            self._saw_text()
            self.run = self.n
            kind = self._text_kind()
        if text:
            self._report_text(text, kind)
        self.base += held + end
        return True

    cdef int _report_text(self, str text, int kind) except -1:
        """Reports a region of text that begins at `emitted`."""
        cdef Py_ssize_t start = self.emitted
        self.emitted += PyUnicode_GET_LENGTH(text)
        self._rec(kind, 0, start, self.emitted)
        if self.mode == MODE_DELTA and kind == K_THINK_BODY:
            self.d_reasoning = _joined(self.d_reasoning, text)
        elif self.mode == MODE_DELTA and kind == K_CONTENT:
            self.d_content = _joined(self.d_content, text)
        elif self.mode != MODE_NONE:
            self._event(_text_event(text, kind, start, self.call))
        return 0

    cdef inline int _keep_piece(self, str s) except -1:
        if self.pieces is None:
            self.pieces = [s]
        else:
            self.pieces.append(s)
        return 0

    cdef int _keep(self) except -1:
        """Holds [p, n) for the next window."""
        cdef Py_ssize_t cut = self.p
        cdef Py_ssize_t left = self.n - cut
        if left and self.piece is not None:
            self._append(self.kind, self.data, cut, self.n, 0)
        elif left and cut:
            memmove(self.buffer, self.buffer + cut, left * sizeof(unsigned int))
        self._rebase(cut, left)
        if self.capacity > 16384 and left < 4096:
            self.capacity = 4096
            self.buffer = <unsigned int*> realloc(self.buffer, 4096 * sizeof(unsigned int))
            self.data = self.buffer
        return 0

    cdef int _rebase(self, Py_ssize_t cut, Py_ssize_t left) except -1:
        self.piece = None
        self.kind = 4
        self.data = self.buffer
        self.n = left
        self.base += cut
        self.p = 0
        self.t -= cut
        self.i -= cut
        self.blank -= cut
        if self.late_at >= 0:
            self.late_at -= cut
        self.tag.start -= cut
        self.tag.end -= cut
        self.tag.at -= cut
        self.tag2.start -= cut
        self.tag2.end -= cut
        self.tag2.at -= cut
        self.ws -= cut
        self.ws2 -= cut
        self.j_start -= cut
        self.j_at -= cut
        self.j_val -= cut
        self.j_end -= cut
        return 0

    cdef int _find_broken(self, str s) except -1:
        """Notes the beginning of each run of undecodable bytes in s."""
        cdef int kind = PyUnicode_KIND(s)
        cdef void* data = PyUnicode_DATA(s)
        cdef Py_ssize_t k
        cdef Py_UCS4 c
        cdef bint before = self.broken_before
        for k in range(PyUnicode_GET_LENGTH(s)):
            c = PyUnicode_READ(kind, data, k)
            if 0xDC80 <= c <= 0xDCFF:
                if not before:
                    self._later(self.base + self.n + k, "broken-utf8", "")
                before = True
            else:
                before = False
        self.broken_before = before
        return 0

    cdef int _later(self, Py_ssize_t position, str code, str text) except -1:
        if self.notes is None:
            self.notes = deque()
        self.notes.append((position, code, text))
        return 0

    # ------------------------------------------------------------------------------------------- front ends

    cdef int _may_feed(self, int what) except -1:
        if self.busy:
            self._must_be_free()
        if self.stop is not None:
            raise errors.ParserClosed("the turn is closed; reset() begins a new one")
        if self.fed != what:
            if self.fed:
                raise TypeError(f"this parser was fed {FED[self.fed]}; it cannot be fed {FED[what]} as well")
            self.fed = what
        return 0

    cdef int _input_bytes(self, const char* data, Py_ssize_t size, bint final, Py_ssize_t tags=0) except -1:
        """Decodes (PEP 383) and keeps the bytes of an unfinished sequence.

        The last `tags` of the certain tags are offsets in `data` still, to be made positions.
        """
        cdef bytes joined
        cdef str s
        cdef Py_ssize_t used = 0
        cdef Py_ssize_t k
        cdef Py_ssize_t before = self.n_pending
        if before:
            joined = (<char*> self.pending)[:before] + data[:size]
            data = joined
            size = len(joined)
        if size == 0:
            return 0
        s = PyUnicode_DecodeUTF8Stateful(data, size, "surrogateescape", NULL if final else &used)
        if final:
            used = size
        for k in range(size - used):
            self.pending[k] = <unsigned char> data[used + k]
        self.n_pending = <int> (size - used)
        if tags:
            self._place_tags(s, data, before, tags)
        return self._input(s)

    cdef int _place_tags(self, str s, const char* text, Py_ssize_t before, Py_ssize_t tags) except -1:
        """Byte offsets of the last certain tags, `before` bytes further on in `text`, become positions in s."""
        cdef int kind = PyUnicode_KIND(s)
        cdef void* data = PyUnicode_DATA(s)
        cdef bint broken = holds_broken(kind, data, PyUnicode_GET_LENGTH(s))
        cdef Py_ssize_t at = 0
        cdef Py_ssize_t offset = 0
        cdef Py_ssize_t k, end
        cdef Py_UCS4 c
        for k in range(self.n_certain - tags, self.n_certain):
            end = <Py_ssize_t> self.certain[k] + before
            if not broken:
                at += characters(text + offset, end - offset)
                offset = end
            while offset < end:
                c = PyUnicode_READ(kind, data, at)
                # An undecodable byte was one byte.
                offset += 1 if c < 0x80 or 0xDC80 <= c <= 0xDCFF else 2 if c < 0x800 else 3 if c < 0x10000 else 4
                at += 1
            self.certain[k] = self.base + self.n + at
            self._keep_mark(self.certain[k])
        return 0

    cdef int _input_object(self, data) except -1:
        cdef Py_buffer view
        if isinstance(data, str):
            self._may_feed(FED_STR)
            return self._input(PyUnicode_FromObject(data) if type(data) is not str else <str> data)
        if type(data) is bytes:
            self._may_feed(FED_BYTES)
            return self._input_bytes(<bytes> data, len(<bytes> data), False)
        if not PyObject_CheckBuffer(data):
            raise TypeError(f"feed takes str or bytes, not {type(data).__name__}")
        try:
            PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        except BufferError as error:
            raise ValueError(f"feed takes a buffer in one piece ({error})") from None
        try:
            if view.itemsize != 1:
                raise TypeError(f"feed takes str or bytes; this {type(data).__name__} has items of {view.itemsize} bytes "
                                "(token ids go to feed_ids)")
            self._may_feed(FED_BYTES)
            return self._input_bytes(<char*> view.buf, view.len, False)
        finally:
            PyBuffer_Release(&view)

    cdef int _mark_certain(self, Py_ssize_t position) except -1:
        cdef long long* grown
        cdef Py_ssize_t capacity
        if self.n_certain == self.certain_capacity:
            if self.certain_head > self.n_certain // 2:
                memmove(self.certain, self.certain + self.certain_head,
                        (self.n_certain - self.certain_head) * sizeof(long long))
                self.n_certain -= self.certain_head
                self.certain_head = 0
            else:
                capacity = 8 if self.certain_capacity == 0 else self.certain_capacity * 2
                grown = <long long*> realloc(self.certain, capacity * sizeof(long long))
                if grown == NULL:
                    raise MemoryError
                self.certain = grown
                self.certain_capacity = capacity
        self.certain[self.n_certain] = position
        self.n_certain += 1
        return 0

    cdef int _keep_mark(self, Py_ssize_t position) except -1:
        if self.record:
            if self.marked is None:
                self.marked = []
            self.marked.append(position)
        return 0

    cdef int _input_ids(self, ids) except -1:
        """Token ids: a list or other sequence, an array of integers, or one int."""
        cdef unsigned int one
        cdef Ids checked
        if self.table is None:
            raise TypeError("feed_ids needs a parser made with tokens=")
        if isinstance(ids, int):
            one = self._one_id(ids)
            self._may_feed(FED_IDS)
            return self._consume_ids(&one, 1)
        checked.at = checked.few
        try:
            self._check_ids(ids, &checked)
            self._may_feed(FED_IDS)
            return self._consume_ids(checked.at, checked.count)
        finally:
            _ids_free(&checked)

    cdef int _check_ids(self, ids, Ids* to) except -1:
        """Copies the ids, all of them checked."""
        cdef Py_ssize_t k = 0
        cdef Py_ssize_t size = self.table.size
        cdef tuple items
        if type(ids) is list:
            with cython.critical_section(ids):
                _ids_room(to, PyList_GET_SIZE(ids))
                while k < to.count and _exact_id(PyList_GET_ITEM(ids, k), size, &to.at[k]):
                    prefetch(&self.table.rows[to.at[k]])
                    k += 1
            if k == to.count:
                return 0
            _ids_free(to)
        elif PyObject_CheckBuffer(ids) and type(ids) is not bytes and type(ids) is not bytearray:
            if self._check_buffer(ids, to):
                return 0
        items = tuple(ids if isinstance(ids, (list, tuple)) else _listed(ids))
        _ids_room(to, len(items))
        for k in range(to.count):
            to.at[k] = self._one_id(items[k])
        return 0

    cdef bint _check_buffer(self, ids, Ids* to) except -1:
        """The same of a row of machine integers, without objects. False: it is none, or an id is bad."""
        cdef Py_buffer view
        cdef Py_ssize_t k
        try:
            PyObject_GetBuffer(ids, &view, PyBUF_RECORDS_RO)
        except (BufferError, ValueError):
            return False
        try:
            if view.ndim != 1 or view.format == NULL or strlen(view.format) != 1:
                return False
            if strchr("bBhHiIlLqQ", view.format[0]) == NULL:
                return False
            _ids_room(to, view.shape[0])
            for k in range(to.count):
                if not _machine_id(<char*> view.buf + k * view.strides[0], view.itemsize, view.format[0] >= 97,
                                   self.table.size, &to.at[k]):
                    _ids_free(to)
                    return False
                prefetch(&self.table.rows[to.at[k]])
            return True
        finally:
            PyBuffer_Release(&view)

    cdef unsigned int _one_id(self, value) except? 0xFFFFFFFF:
        cdef long long v
        try:
            v = <long long> operator_index(value)
        except OverflowError:
            v = -1
        if v < 0 or v >= self.table.size:
            raise ValueError(f"token id {value} is not in the table of {self.table.size} ids")
        return <unsigned int> v

    cdef int _consume_ids(self, const unsigned int* ids, Py_ssize_t count) except -1:
        cdef Py_ssize_t k = 0
        if self.record:
            self._record_ids(ids, count)
        while k < count:
            k += self._consume_text(ids + k, count - k)
            if k < count:
                if self._consume_special(ids[k]):
                    return self._trailing(ids + k + 1, count - k - 1)
                k += 1
        return 0

    cdef Py_ssize_t _consume_text(self, const unsigned int* ids, Py_ssize_t count) except -1:
        """Reads ids up to the first that has no bytes or ends the turn, as one piece; says how many."""
        cdef Row* row
        cdef const char* source
        cdef Py_ssize_t k = 0
        cdef Py_ssize_t size
        cdef Py_ssize_t used = 0
        cdef Py_ssize_t tags = 0
        cdef char small[4096]
        cdef Py_ssize_t capacity = sizeof(small)
        cdef char* text = small
        cdef char* grown
        cdef unsigned char what = 0
        small[0] = 0
        try:
            for k in range(count):
                row = &self.table.rows[ids[k]]
                what = row.kind
                size = row.size
                source = row.text
                if what != 0:
                    if what == ROW_LONG:
                        what = self.table.kinds[ids[k]]
                        source = self.table.blob + self.table.offsets[ids[k]]
                        size = self.table.offsets[ids[k] + 1] - self.table.offsets[ids[k]]
                    if what > 4:
                        count = k
                        break
                    if what != 0 and self.by_id:
                        self._mark_certain(used)
                        tags += 1
                if used + size + 16 > capacity:
                    capacity = 2 * (used + size) + 32
                    grown = <char*> realloc(NULL if text == small else text, capacity)
                    if grown == NULL:
                        raise MemoryError
                    if text == small:
                        memcpy(grown, small, used)
                    text = grown
                if source == row.text:
                    memcpy(text + used, row, sizeof(Row))           # a fixed size is one move; what is too much is written over
                else:
                    memcpy(text + used, source, size)
                used += size
            # An unfinished character before a stop will never be finished.
            self._input_bytes(text, used, 4 < what < 255, tags)
        finally:
            if text != small:
                free(text)
        return count

    cdef bint _consume_special(self, unsigned int id) except -1:
        """An id without bytes, or one that ends the turn: then True."""
        cdef Py_ssize_t begin = self.table.offsets[id]
        cdef str text
        if self.table.kinds[id] == 255:
            if self.unknown_ids is None:
                self.unknown_ids = set()
            if id not in self.unknown_ids:
                self.unknown_ids.add(id)
                self._later(self.base + self.n, "unknown-token", str(id))
            return False
        text = PyUnicode_DecodeUTF8Stateful(self.table.blob + begin, self.table.offsets[id + 1] - begin,
                                            "surrogateescape", NULL)
        if self.prefixing:
            self._input(text)
            return False
        self._finish("im_end" if self.table.kinds[id] == 8 else "other_stop", text)
        return True

    cdef int _record_ids(self, const unsigned int* ids, Py_ssize_t count) except -1:
        cdef unsigned int* grown
        cdef Py_ssize_t capacity = self.ids_capacity if self.ids_capacity else 64
        while capacity < self.n_ids + count:
            capacity *= 2
        if capacity != self.ids_capacity:
            grown = <unsigned int*> realloc(self.ids, capacity * sizeof(unsigned int))
            if grown == NULL:
                raise MemoryError
            self.ids = grown
            self.ids_capacity = capacity
        memcpy(self.ids + self.n_ids, ids, count * sizeof(unsigned int))
        self.n_ids += count
        return 0

    cdef int _trailing(self, const unsigned int* ids, Py_ssize_t count) except -1:
        """Ids behind a stop id: kept, not read."""
        cdef Py_ssize_t k
        cdef list parts = []
        for k in range(count):
            parts.append(self.table.blob[self.table.offsets[ids[k]]:self.table.offsets[ids[k] + 1]])
        self._append_region((<bytes> b"".join(parts)).decode("utf-8", "surrogateescape"), K_TRAILING)
        return 0

    cdef int _append_region(self, str text, int kind) except -1:
        """A last region, of text that is not read."""
        cdef int was = self.state
        if not text:
            return 0
        if self.record:
            self._keep_piece(text)
        self.piece = text
        self.kind = PyUnicode_KIND(text)
        self.data = PyUnicode_DATA(text)
        self.base += self.n
        self.n = len(text)
        self._emit(kind, 0, self.n)
        self.base += self.n
        self.n = 0
        self.piece = None
        return 0

    cdef int _finish(self, str stop, str text) except -1:
        """The end of the input. What was held becomes text or layout; the stop text is the last region."""
        self.turn_cache = None
        if self.n_pending:
            self._input_bytes(<const char*> self.pending, 0, True)
        if self.carry is not None:
            self._flush_carry()
        self.ended = stop != "none"
        self.kind = 4
        self.data = self.buffer
        self._run_whole(True)
        while self.notes is not None:
            self._note()
        self.base += self.n
        self.n = 0
        self.p = self.t = self.i = 0
        if stop != "none":
            self._append_region(text, K_STOP)
        self.stop = stop
        return 0

    cdef int _close(self, stop, text) except -1:
        if stop not in ("none", "im_end", "other_stop"):
            raise ValueError(f"stop={stop!r}: it takes 'none', 'im_end', 'other_stop'")
        if text is not None and stop != "other_stop":
            raise ValueError("text= is the text of stop='other_stop'")
        if self.busy:
            self._must_be_free()
        if self.stop is not None:
            return 0
        return self._finish(stop, IM_END if stop == "im_end" else ENDOFTEXT if text is None else text)

    cdef int _whole_text(self, str s, int what) noexcept:
        """The kind of region that s is as a whole, if nothing is held or pending; -1: read it the long way.

        Moves the line state on, as the long way would.
        """
        cdef Py_ssize_t size = PyUnicode_GET_LENGTH(s)
        cdef int kind = PyUnicode_KIND(s)
        cdef void* data = PyUnicode_DATA(s)
        cdef Py_UCS4 last
        cdef Py_ssize_t m
        if self.n or size == 0 or self.fed != what or self.stop is not None or self.notes is not None or self.busy \
                or self.carry is not None:
            return -1
        last = PyUnicode_READ(kind, data, size - 1)
        if self.state <= S_CONTENT:
            if self.over or not self._has_text() or is_ws(last):
                return -1
            if find_char(kind, data, 0, size, 60) != size or (kind >= 2 and holds_broken(kind, data, size)):
                return -1
            line_feed(&self.line, kind, data, 0, size)
            self.run = 0
            self.stray_ok = False
            return self._text_kind()
        if self.state == S_JSON:
            # Inside a string of the arguments: what is neither a quote nor half an escape changes nothing.
            if self.json.state != J_STRING or self.json.depth < 2 or self.j_current < MEMBER_ARGS:
                return -1
            m = find_quote(kind, data, 0, size)
            while m + 1 < size and PyUnicode_READ(kind, data, m) == 92 \
                    and is_simple_escape(PyUnicode_READ(kind, data, m + 1)):
                m = find_quote(kind, data, m + 2, size)
            if m < size or (kind >= 2 and holds_broken(kind, data, size)):
                return -1
            self.j_start -= size
            self.j_val -= size
            self.j_end -= size
            return K_JSON_ARGS
        if self.state != S_VALUE or self.discard or self.at_value_start or last == 10:
            return -1
        if find_char(kind, data, 0, size, 60) != size or (kind >= 2 and holds_broken(kind, data, size)):
            return -1
        self.value_bol = blanks_since_newline(kind, data, 0, size, self.value_bol)
        return K_VALUE

    cdef str _piece_of(self, data, bint id):
        """The text of one ordinary id, or of bytes, if it begins and ends a character; else None, nothing done."""
        cdef const char* text
        cdef Py_ssize_t size
        cdef Py_ssize_t used = 0
        cdef unsigned int one
        cdef str s
        if self.n_pending or self.stop is not None or self.busy:
            return None
        if not id:
            text = <bytes> data
            size = len(<bytes> data)
        else:
            if self.table is None or not _exact_id(<PyObject*> data, self.table.size, &one):
                return None
            if self.table.kinds[one] != 0 and (self.by_id or self.table.kinds[one] > 4):
                return None
            text = self.table.blob + self.table.offsets[one]
            size = self.table.offsets[one + 1] - self.table.offsets[one]
        s = PyUnicode_DecodeUTF8Stateful(text, size, "surrogateescape", &used)
        if used != size:
            return None
        self._may_feed(FED_IDS if id else FED_BYTES)
        if id and self.record:
            self._record_ids(&one, 1)
        return s

    cdef inline Delta _text_delta(self, str s, int kind):
        cdef Delta d = Delta.__new__(Delta)
        d.calls = d.issues = ()
        if kind == K_THINK_BODY:
            d.reasoning = s
        elif kind == K_CONTENT:
            d.content = s
        else:
            d.calls = (_text_event(s, kind, self.emitted, self.call),)
        return d

    cdef object _whole(self, str s, int kind):
        """What `feed` returns for a piece that is one region."""
        cdef object out
        if self.mode == MODE_EVENTS:
            out = [_text_event(s, kind, self.emitted, self.call)]
        else:
            out = self._text_delta(s, kind)
        self._count_text(s, kind)
        return out

    cdef inline int _count_text(self, str s, int kind) except -1:
        """The whole of s was reported as a region."""
        cdef Py_ssize_t size = PyUnicode_GET_LENGTH(s)
        if self.record:
            self.turn_cache = None
            self._keep_piece(s)
            self._rec(kind, 0, self.emitted, self.emitted + size)
        self.emitted += size
        self.base += size
        self.broken_before = False
        return 0

    # ---------------------------------------------------------------------------------------------- prefix

    cdef int _prefix(self, tail, bint default_start) except -1:
        """Runs over what the prompt has already written of this turn."""
        cdef int mode = self.mode
        cdef bint record = self.record
        cdef list events
        cdef Py_ssize_t k
        cdef Event e
        self.prefixed = bool(default_start)
        if default_start:
            self.state = S_CONTENT
            self.fresh = FRESH_CONTENT if self.format.start == "content" else FRESH_AUTO
        self.mode = MODE_EVENTS
        self.record = False
        self.prefixing = True
        try:
            if isinstance(tail, str):
                self.gen_prefix = tail
                if self.by_id:
                    self._certain_in(tail)
                self._input(tail)
            else:
                self.gen_prefix = self.tokens.decode(tail)
                self._input_ids(tail)
                if self.n_pending:      # what the completion begins with is no part of a character of the prompt
                    self._input_bytes(NULL, 0, True)
        finally:
            self.mode = mode
            self.record = record
            self.prefixing = False
        events = self.out if self.out is not None else []
        self.out = None
        for k in range(self.certain_head, self.n_certain):
            self.certain[k] -= self.base + self.n
        self.base = -self.n
        self.emitted = 0
        self.fed = 0
        self.notes = None
        if self.call_open:
            k = len(events) - 1
            while type(events[k]) is not ToolCallStart:
                k -= 1
            self.carry = [e for e in events[k:] if type(e) is not Markup]
            self.call = 0
        else:
            self.call = -1
        return 0

    cdef int _certain_in(self, str text) except -1:
        """In a prefix given as text, every spelled tag counts; one that ends in the completion was not sampled."""
        cdef Py_ssize_t at = text.find("<")
        while at >= 0:
            if text.startswith(formats.ID_TAGS, at):
                self._mark_certain(self.base + at)
            at = text.find("<", at + 1)
        return 0

    cdef int _flush_carry(self) except -1:
        """Reports the call that the prefix began: zero-width, at position 0."""
        cdef list carry = self.carry
        cdef Event e
        cdef bint value
        self.carry = None
        for e in carry:
            if type(e) is Issue:
                if e.number >= 0:
                    self._issue_of(e.value, 0, e.extra)
                continue
            value = type(e) is ArgumentDelta
            if type(e) is ToolCallStart:
                self._rec_string(R_CALL, (e.value, e.extra), 0)
            elif type(e) is ArgumentStart:
                self._rec_string(R_ARG, e.value, 0)
            elif value:
                self._rec_string(R_TEXT, e.raw, 0)
            elif type(e) is ArgumentEnd:
                self._rec(R_ARG_END, e.value, 0, 0)
            if self.mode != MODE_NONE:
                self._event(_make(type(e), "", 0, 0, e.raw if value else e.value, e.extra))
        return 0

    # ---------------------------------------------------------------------------------------------- results

    @property
    def state(self):
        """Where the parser stands, a `State`."""
        if self.stop is not None:
            return STATE_OF[S_END]
        if self.fresh == FRESH_AUTO and self.state == S_CONTENT:
            return STATE_START
        return STATE_OF[self.state]

    @property
    def position(self):
        """Code points consumed."""
        return self.base + self.n

    @property
    def held(self):
        """Text that is not decided yet."""
        cdef Py_ssize_t a = -self.base if self.base < 0 else 0
        self._must_be_free(True)
        if self.n <= a:
            return ""
        return PyUnicode_FromKindAndData(4, self.buffer + a, self.n - a)

    @property
    def held_bytes(self):
        """Bytes of an unfinished UTF-8 sequence, at most three."""
        return (<char*> self.pending)[:self.n_pending]

    @property
    def closed(self):
        """How the turn was closed (`"im_end"`, `"other_stop"`, `"none"`), or None while it is open."""
        return self.stop

    @property
    def turn(self):
        """The `Turn` as known so far. Needs `record=True`."""
        if not self.record:
            raise ValueError("this parser was made with record=False: it keeps no turn")
        self._must_be_free()
        if self.turn_cache is None:
            self.turn_cache = _make_turn(self)
        return self.turn_cache

    def _settings(self):
        """What it takes to read this turn again."""
        return self.start, self.max_held, self.tokens, self.by_id

    def _origin(self):
        """How the reading began, beside the settings: `prefixed`, and what ids said about tags.

        That is None, or (the tags with an id of their own, as bits; the positions where such an id was fed).
        """
        return self.prefixed, (self.id_tags, tuple(self.marked or ())) if self.by_id else None

    def _recorded(self):
        """What a Turn is made of: raw, records (kind, aux, start, end), strings, ids."""
        cdef Py_ssize_t k
        cdef list records = []
        cdef list ids = None
        cdef Rec* r
        cdef str raw
        if self.pieces is not None and len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        raw = "" if self.pieces is None else self.pieces[0]
        for k in range(self.n_recs):
            r = &self.recs[k]
            records.append((r.kind, r.aux, r.start, r.end))
        if self.fed == FED_IDS:
            ids = [self.ids[k] for k in range(self.n_ids)]
        return raw, records, list(self.strings or ()), ids, self.incomplete

    cdef int _copy_from(self, _Machine o) except -1:
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


cdef list _listed(ids):
    """The integers of an array; numpy arrays and torch tensors have tolist()."""
    if hasattr(ids, "tolist"):
        ids = ids.tolist()
        return ids if isinstance(ids, list) else [ids]
    if isinstance(ids, (str, bytes, bytearray)):
        raise TypeError("feed_ids takes token ids; feed takes text")
    return list(ids)


cdef object _joined(old, str text):
    """Text collected over one call: None, one string, or a list of several."""
    if old is None:
        return text
    if type(old) is list:
        (<list> old).append(text)
        return old
    return [old, text]


cdef inline str _text_of(old):
    if type(old) is list:
        return "".join(<list> old)
    return <str> old


@cython.final
cdef class Parser(_Machine):
    """Reads one completion in any pieces and reports events.

    Every character belongs to exactly one event; the events do not depend on how the input was cut. No text raises.

    `format` is a name or `Format` (docs/format.md lists them). `tools` are the tools of the request: None if they are
    not known, `[]` if there are none. `start` says where the completion begins (None: as the format says);
    `Parser.for_prompt` takes it from the rendered prompt and is the better way. `tokens` is a `TokenTable`, needed by
    `feed_ids`; with `tags="ids"` the tags of the vocabulary count only where their own id was sampled. `max_held`
    bounds, in code points, a JSON call whose name has not come and a value that must be whole before it is typed.

    Raises `FormatError` for an unknown format, start or tool.

    >>> import qwenparse
    >>> p = qwenparse.Parser("qwen3.5", start="content")
    >>> p.feed("Hi")
    [ContentDelta(text='Hi', start=0, end=2)]
    """

    def __cinit__(self):
        self.mode = MODE_EVENTS

    @classmethod
    def for_prompt(cls, prompt, /, *, format=None, **settings):
        """A parser for the turn that a rendered prompt leaves open.

        `prompt` is the text, or the token ids with `tokens=`. What stands behind the last assistant header (a
        `<think>`, a prefill) is read first, so that the state is right; it is kept as `gen_prefix`. Without `format`
        the format is taken from the tool instructions and that tail.
        """
        cdef _Machine self
        format, tail = _open_turn(prompt, format, settings.get("tokens"))
        self = cls(format, **settings)
        if tail is not None:
            self._prefix(tail, settings.get("start") is None)
        return self

    cdef object _take(self):
        cdef list out = self.out
        if out is None:
            return ()
        self.out = None
        return out

    @cython.critical_section
    def feed(self, data, /):
        """More of the completion, `str` or bytes; the events it decides. Raises `ParserClosed` after `close`."""
        cdef int kind
        cdef str s
        if type(data) is str:
            kind = self._whole_text(<str> data, FED_STR)
            if kind >= 0:
                return self._whole(<str> data, kind)
        elif type(data) is bytes:
            s = self._piece_of(data, False)
            if s is not None:
                kind = self._whole_text(s, FED_BYTES)
                if kind >= 0:
                    return self._whole(s, kind)
                self._input(s)
                return self._take()
        self._input_object(data)
        return self._take()

    @cython.critical_section
    def feed_ids(self, ids, /):
        """More of the completion as token ids: a list, an array or one int. Needs `tokens=`.

        Raises `ValueError` for an id outside the table, before any of the list is consumed. A stop id ends the turn.
        """
        cdef int kind
        cdef str s = self._piece_of(ids, True) if type(ids) is int else None
        if s is None:
            self._input_ids(ids)
            return self._take()
        kind = self._whole_text(s, FED_IDS)
        if kind >= 0:
            return self._whole(s, kind)
        self._input(s)
        return self._take()

    @cython.critical_section
    def close(self, *, stop="none", text=None):
        """The end of the completion: gives back everything held. Later calls return ().

        `stop`: `"im_end"` or `"other_stop"` if the model ended the turn (its text, or `text`, becomes the last
        region), `"none"` if it was cut: length limit, cancelled, stop string, unknown.
        """
        self._close(stop, text)
        return self._take()

    def reset(self):
        """The same settings, a new turn. What a prompt began is forgotten: the turn starts where the format says."""
        self._must_be_free(True)
        self._begin()

    def copy(self):
        """An independent parser in the same state."""
        cdef Parser other = Parser.__new__(Parser)
        self._must_be_free(True)
        other._copy_from(self)
        return other

    def __copy__(self):
        return self.copy()


@cython.final
cdef class DeltaParser(_Machine):
    """The same machine as `Parser`, with one coalesced `Delta` per call, or None."""

    def __cinit__(self):
        self.mode = MODE_DELTA

    @classmethod
    def for_prompt(cls, prompt, /, *, format=None, **settings):
        """As `Parser.for_prompt`."""
        cdef _Machine self
        format, tail = _open_turn(prompt, format, settings.get("tokens"))
        self = cls(format, **settings)
        if tail is not None:
            self._prefix(tail, settings.get("start") is None)
        return self

    cdef object _take(self):
        cdef Delta d
        if self.d_reasoning is None and self.d_content is None and self.d_calls is None and self.d_issues is None:
            return None
        d = Delta.__new__(Delta)
        d.reasoning = _text_of(self.d_reasoning)
        d.content = _text_of(self.d_content)
        d.calls = () if self.d_calls is None else tuple(self.d_calls)
        d.issues = () if self.d_issues is None else tuple(self.d_issues)
        self.d_reasoning = self.d_content = None
        self.d_calls = self.d_issues = None
        return d

    @cython.critical_section
    def feed(self, data, /):
        """More of the completion, `str` or bytes; what it adds. Raises `ParserClosed` after `close`."""
        cdef int kind
        cdef str s
        if type(data) is str:
            kind = self._whole_text(<str> data, FED_STR)
            if kind >= 0:
                return self._whole(<str> data, kind)
        elif type(data) is bytes:
            s = self._piece_of(data, False)
            if s is not None:
                kind = self._whole_text(s, FED_BYTES)
                if kind >= 0:
                    return self._whole(s, kind)
                self._input(s)
                return self._take()
        self._input_object(data)
        return self._take()

    @cython.critical_section
    def feed_ids(self, ids, /):
        """As `Parser.feed_ids`."""
        cdef int kind
        cdef str s = self._piece_of(ids, True) if type(ids) is int else None
        if s is None:
            self._input_ids(ids)
            return self._take()
        kind = self._whole_text(s, FED_IDS)
        if kind >= 0:
            return self._whole(s, kind)
        self._input(s)
        return self._take()

    @cython.critical_section
    def close(self, *, stop="none", text=None):
        """As `Parser.close`."""
        self._close(stop, text)
        return self._take()

    def reset(self):
        """The same settings, a new turn. What a prompt began is forgotten: the turn starts where the format says."""
        self._must_be_free(True)
        self._begin()

    def copy(self):
        """An independent parser in the same state."""
        cdef DeltaParser other = DeltaParser.__new__(DeltaParser)
        self._must_be_free(True)
        other._copy_from(self)
        return other

    def __copy__(self):
        return self.copy()


@cython.final
cdef class _Recorder(_Machine):
    """The machine without events, for `parse`."""

    def __cinit__(self):
        self.mode = MODE_NONE


def parse(text, format, *, tools=None, start=None, policy=None, stop="none", stop_text=None, **settings):
    """The `Turn` of a whole completion, `str` or bytes. Takes what `Parser` takes, and how the turn ended: `stop`, and with
    `"other_stop"` its text.

    >>> import qwenparse
    >>> qwenparse.parse("Plan.\\n</think>\\n\\nHi", "qwen3.5").content
    'Hi'
    """
    cdef _Machine m = _Recorder(format, tools=tools, start=start, policy=policy, **settings)
    m._input_object(text)
    m._close(stop, stop_text)
    return m.turn


def _replay(format, gen_prefix, text, stop, *, prefixed=None, stop_text=None, trailing="", evidence=None, unknown=(),
            ids=None, **settings):
    """A Turn from its record: the prefix, the text as `str`, then the end.

    `prefixed` and `evidence` are those of `_origin`, `unknown` are the (position, text) of ids without bytes, in order;
    `ids` are kept with the turn.
    """
    cdef _Machine m = _Recorder(format, **settings)
    cdef Py_ssize_t at = 0
    cdef Py_ssize_t position
    cdef unsigned int one
    if evidence is not None:
        m.by_id = True
        m.id_tags = evidence[0]
    if prefixed is not None:
        m._prefix(gen_prefix, prefixed)
    if evidence is not None:
        for position in evidence[1]:
            m._mark_certain(position)
            m._keep_mark(position)
    m._may_feed(FED_STR)
    for position, note in unknown:
        m._input(text[at:position])
        m._later(m.base + m.n, "unknown-token", note)
        at = position
    m._input(text[at:] if at else text)
    m._finish(stop, IM_END if stop == "im_end" else ENDOFTEXT if stop_text is None else stop_text)
    m._append_region(trailing, K_TRAILING)
    if ids is not None:
        for one in ids:
            m._record_ids(&one, 1)
        m.fed = FED_IDS
    return m.turn

