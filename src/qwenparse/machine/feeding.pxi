# Front ends for text and bytes, the end of the turn, and the fast path for pieces that are one region.

cdef str IM_END = formats.IM_END
cdef str ENDOFTEXT = formats.ENDOFTEXT
cdef tuple FED = ("nothing", "str", "bytes", "token ids")

cdef enum:
    FED_STR = 1
    FED_BYTES = 2
    FED_IDS = 3


cdef class _Feeding(_Window):
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

    cdef inline str _piece_of(self, const char* text, Py_ssize_t size, int what):
        """These bytes as a piece to feed, if they begin and end a character; else None, nothing done."""
        cdef Py_ssize_t used = 0
        cdef str s
        if self.n_pending or self.stop is not None or self.busy:
            return None
        s = PyUnicode_DecodeUTF8Stateful(text, size, "surrogateescape", &used)
        if used != size:
            return None
        self._may_feed(what)
        return s

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

    cdef int _keep_mark(self, Py_ssize_t position) except -1:
        if self.record:
            if self.marked is None:
                self.marked = []
            self.marked.append(position)
        return 0

    cdef int _append_region(self, str text, int kind) except -1:
        """A last region, of text that is not read: it never is a window."""
        cdef Py_ssize_t start = self.base
        if not text:
            return 0
        self.emitted = self.base = start + PyUnicode_GET_LENGTH(text)
        if self.record:
            self._keep_piece(text)
            self._rec(kind, 0, start, self.base)
        return self._event(markup(<str> KINDS[kind], text, start)) if self.mode == MODE_EVENTS else 0

    cdef int _finish(self, str stop, str text) except -1:
        """`_end`, as `_input` is `_read`."""
        self.busy = RUNNING
        try:
            self._end(stop, text)
            self.busy = 0
        finally:
            if self.busy:
                self._fail()
        return 0

    cdef int _end(self, str stop, str text) except -1:
        """The end of the input. What was held becomes text or layout; the stop text is the last region."""
        self.turn_cache = None
        if self.n_pending:
            self._input_bytes(<const char*> self.pending, 0, True)
        if self.carry is not None:
            self._flush_carry()
        self.ended = stop != "none"
        self.kind = 4
        self.data = self.buffer
        self._run(True)
        self._keep()
        self.stop = stop
        while self.notes is not None:
            self._note()
        return self._append_region(text, K_STOP) if self.ended else 0

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

    @cython.final
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
            if holds(kind, data, size, 60) or holds_broken(kind, data, size):
                return -1
            if self.line.bol or self.line.phase != LINE_PLAIN or holds(kind, data, size, 10):
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
            if m < size or holds_broken(kind, data, size):
                return -1
            self.j_start -= size
            self.j_val -= size
            self.j_end -= size
            return K_JSON_ARGS
        if self.state != S_VALUE or self.discard or self.at_value_start or last == 10:
            return -1
        if holds(kind, data, size, 60) or holds_broken(kind, data, size):
            return -1
        self.value_bol = blanks_since_newline(kind, data, 0, size, self.value_bol)
        return K_VALUE

    cdef inline Delta _text_delta(self, str s, int kind, Py_ssize_t start):
        cdef Delta d = Delta.__new__(Delta)
        d.calls = d.issues = ()
        if kind == K_THINK_BODY:
            d.reasoning = s
        elif kind == K_CONTENT:
            d.content = s
        else:
            d.calls = (_text_event(s, kind, start, self.call),)
        return d

    @cython.final
    cdef object _whole(self, str s, int kind):
        """What `feed` returns for a piece that is one region."""
        cdef Py_ssize_t start = self.emitted
        self._count_text(s, kind)
        if self.mode == MODE_EVENTS:
            return [_text_event(s, kind, start, self.call)]
        return self._text_delta(s, kind, start)

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
