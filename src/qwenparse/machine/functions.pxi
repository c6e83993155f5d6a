# <function=NAME> blocks, their parameters and values.

cdef class _Functions(_Calls):
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

    cdef int _run_function(self) except -1:
        cdef Py_ssize_t i, j
        cdef Py_UCS4 c
        cdef int a
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
                a = self._decide_function()
                if a == A_HOLD:
                    return MORE
                if a == A_CUT_TAG:
                    return self._end_function()
                if a == A_FUNCTION_CLOSE:
                    self._emit(K_FN_CLOSE, i, self.tag.end)
                    self.i = self.tag.end
                    self._end_call(True)
                    self._enter_block()
                    return DONE
                if a == A_LEAVE:
                    self._call_issue("missing-function-close")
                    self._end_call(True)
                    self._enter_block()
                    return DONE
                if a != A_TEXT:
                    self._parameter(a)
                    return DONE
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

    cdef int _parameter(self, int action) except -1:
        """The <parameter= at i, as `_decide_parameter` said."""
        cdef Py_ssize_t i = self.i
        cdef Py_ssize_t a = i + TAG_LEN[TAG_PARAM]      # the NAME is [a, b), and the tag ends at e
        cdef Py_ssize_t b = self._name_ends(&self.tag)
        cdef Py_ssize_t e = self.tag.end
        cdef str name = <str> self.name
        if action == A_PARAMETER_NAMELESS or action == A_PARAMETER_MALFORMED:
            b = e - 1 if self.tag.read == READ_WHOLE else e
            self._call_issue("nameless-parameter" if action == A_PARAMETER_NAMELESS else "malformed-parameter", a, b)
            self._emit(K_PARAM_OPEN, i, a)
            self.discard = True
            e = b + 1 if self._c(b) == 62 else b
            self._emit(K_JUNK, a, e)
            return self._begin_value(None, e)
        self.discard = False
        if action == A_PARAMETER_FUSED:
            e = b + 1
        self._emit(K_PARAM_OPEN, i, a)
        self._start_arg(name, a, b)
        if action == A_PARAMETER_FUSED:
            self._call_issue("fused-parameter", a, self.tag.end)
        elif action == A_PARAMETER_UNCLOSED:
            self._call_issue("unclosed-parameter-tag", a, b)
        if self.quoted:
            self._call_issue("quoted-name", a, b)
        if self.params is not None and name not in self.params:
            self._call_issue("undeclared-parameter", a, b)
        self._emit(K_PARAM_OPEN_END, b, e)
        return self._begin_value(name, e)

    cdef int _begin_value(self, str name, Py_ssize_t at) except -1:
        """The value at `at`; without a name it is discarded."""
        if name is not None:
            if self.given is None:
                self.given = set()
            self.given.add(name)
        self.state = S_VALUE
        self.at_value_start = name is not None
        self.value_bol = True
        self.stages = 0
        self.p = self.t = self.i = at
        return 0

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
            j = self._next_candidate(s)
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
