# Acting on what was decided in text and behind a call.

cdef class _Sections(_JsonCalls):
    cdef int _run_text(self) except -1:
        cdef Py_ssize_t i, j
        cdef bint skip = False
        cdef int a
        while True:
            i = self.i
            if i < self.n and (skip or self._c(i) != 60):
                j = self._next_candidate(i + skip)
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
