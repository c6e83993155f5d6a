# Regions of reasoning and content, and the layout whitespace around them.

cdef class _Text(_Reports):
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

    cdef int _section(self, int state) except -1:
        """A section of reasoning or content begins at i."""
        self.state = state
        line_reset(&self.line)
        self.run = 0
        self.over = False
        self.p = self.t = self.i
        return 0
