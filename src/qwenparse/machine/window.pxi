# What was held and what was fed, joined; the machine run over it; what stays undecided, held.

cdef enum:
    LITTLE = 16             # so many held characters are joined to the next piece as a str


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


cdef class _Window(_Sections):
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
        """More of the completion. Closed to others while it is read, and for good if an exception leaves it halfway.

        What raises is not the text: an id_factory, a signal, no memory. Other Python code may run inside too (a
        finalizer, another thread while one of these runs), and it may come back here.
        """
        if PyUnicode_GET_LENGTH(s) == 0:
            return 0
        if self.n <= LITTLE and self.carry is None and self._plain_piece(s):
            return 0
        if self.busy == RUNNING:            # `_finish` and `_consume_ids` do the same around all they do
            return self._read(s)
        self.busy = RUNNING
        try:
            self._read(s)
            self.busy = 0
        finally:
            if self.busy:
                self._fail()
        return 0

    cdef int _read(self, str s) except -1:
        """Runs the machine over what was held and s; keeps what stays undecided."""
        cdef Py_ssize_t size = PyUnicode_GET_LENGTH(s)
        cdef int kind = PyUnicode_KIND(s)
        self.turn_cache = None
        if holds_broken(kind, PyUnicode_DATA(s), size):
            self._find_broken(s)
        else:
            self.broken_before = False
        if self.record:
            self._keep_piece(s)
        if self.carry is not None:
            self._flush_carry()
        if self.n == 0 or (self.n <= LITTLE and size > 64):
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
        self._run(False)
        return self._keep()

    cdef bint _plain_piece(self, str s) except -1:
        """Reads a piece that holds no '<' where nothing or only whitespace is held; False: read it the long way.

        Reports and holds what the long way would. What it makes last may run other code: all is in its place by then.
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
        if holds(kind, data, size, 60) or holds_broken(kind, data, size):
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
        self.base += held + end
        self.broken_before = False
        self.turn_cache = None
        if self.record:
            self._keep_piece(s)
        if text:
            self._report_text(text, kind)
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
        cdef unsigned int* smaller
        if left and self.piece is not None:
            self._append(self.kind, self.data, cut, self.n, 0)
        elif left and cut:
            memmove(self.buffer, self.buffer + cut, left * sizeof(unsigned int))
        self._rebase(cut, left)
        if self.capacity > 16384 and left < 4096:
            smaller = <unsigned int*> realloc(self.buffer, 4096 * sizeof(unsigned int))
            if smaller != NULL:
                self.buffer = smaller
                self.capacity = 4096
                self.data = self.buffer
        return 0

    cdef int _rebase(self, Py_ssize_t cut, Py_ssize_t left) except -1:
        self.piece = None
        self.kind = 4
        self.data = self.buffer
        self.n = left
        if cut == 0:
            return 0
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
