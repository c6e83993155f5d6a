# Calls written as a JSON object, and what follows a fault in one.

cdef class _JsonCalls(_Functions):
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
        cdef int point, a
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
                self._json_flush(self.j_at, self._json_kind())
                self.i = self.t = self.p
                a = self._decide_json_stop(point)
                return MORE if a == A_HOLD else self._stop_json(a)

    cdef int _stop_json(self, int action) except -1:
        """The call ends at i before its last brace."""
        if action == A_CUT_CALL:
            return self._cut(self.j_args_closed)
        if action == A_CUT_TAG:
            self._call_issue("cut-tag", self.i, self.n)
            self._emit(K_JUNK, self.i, self.n)
            self.p = self.t = self.i = self.n
            return self._cut(True)
        self._broken_json()
        if action == A_LAST_BRACE:
            self._end_call(True)
            self._enter_block()
            return DONE
        self._end_arg(False)
        self._end_call(False)
        self.in_string = self.json.state in (J_STRING, J_ESCAPE, J_HEX) and self.json.depth > 0
        self.escaped = self.json.state == J_ESCAPE
        self.j_text = None
        self.state = S_BROKEN
        self.stages = 0
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
            i = self._next_candidate(i)
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
