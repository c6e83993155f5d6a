# What is reported, as records of the turn and as events or deltas.

cdef dict ISSUE_NUMBER = {code: i for i, code in enumerate(formats.ISSUE_CODES)}

# Fresh ids, made many at a time; list.pop is atomic, so each is given out once. Seeded by the system, but not urandom
# itself: that lets other threads run in the middle of a feed.
cdef list id_pool = []
cdef object id_source = Random()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=id_pool.clear)       # no cover: at import
    os.register_at_fork(after_in_child=id_source.seed)      # no cover: at import


cdef str _fresh_id():
    cdef str digits
    cdef Py_ssize_t k
    try:
        return <str> id_pool.pop()
    except IndexError:
        digits = id_source.getrandbits(96 * 64).to_bytes(12 * 64, "big").hex()
        id_pool.extend(["call_" + digits[k:k + 24] for k in range(24, 24 * 64, 24)])
        return "call_" + digits[:24]


cdef inline Event _text_event(str text, int kind, Py_ssize_t start, Py_ssize_t call):
    if kind == K_THINK_BODY:
        return reasoning_delta(text, start)
    if kind == K_CONTENT:
        return content_delta(text, start)
    return argument_delta(call, text, start)


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


cdef class _Reports(_Decisions):
    cdef inline int _rec(self, int kind, Py_ssize_t aux, Py_ssize_t a, Py_ssize_t b) except -1:
        return self._add_rec(kind, aux, a, b) if self.record else 0

    @cython.final
    cdef int _add_rec(self, int kind, Py_ssize_t aux, Py_ssize_t a, Py_ssize_t b) except -1:
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
        return self._rec(kind, len(self.strings) - 1, at, at)

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

    cdef int _later(self, Py_ssize_t position, str code, str text) except -1:
        if self.notes is None:
            self.notes = deque()
        self.notes.append((position, code, text))
        return 0

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
        cdef Py_ssize_t number
        if self.record:
            number = ISSUE_NUMBER[code]
            if text:
                self._keep_string(text)
                number += len(self.strings) << 8
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

    cdef object _take_delta(self):
        cdef Delta d
        cdef object reasoning = self.d_reasoning
        cdef object content = self.d_content
        cdef list calls = self.d_calls
        cdef list issues = self.d_issues
        if reasoning is None and content is None and calls is None and issues is None:
            return None
        self.d_reasoning = self.d_content = None        # before anything is made: that may run code that comes back here
        self.d_calls = self.d_issues = None
        d = Delta.__new__(Delta)
        d.reasoning = _text_of(reasoning)
        d.content = _text_of(content)
        d.calls = () if calls is None else tuple(calls)
        d.issues = () if issues is None else tuple(issues)
        return d
