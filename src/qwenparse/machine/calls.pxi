# What calls of both dialects have in common: their notes and their ends.

cdef class _Calls(_Text):
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

    cdef int _enter_block(self) except -1:
        """Behind a call, before its wrapper ends. What comes may already be content."""
        self._section(S_BLOCK)
        self.stages = 0
        self.j_started = False
        self.stray_ok = True
        return 0

    cdef int _left_open(self) except -1:
        """The wrapper ends without its tag."""
        return self._call_issue("missing-tool-call-close") if self.wrapper else 0

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

    cdef int _nameless_cut(self) except -1:
        self.p = self.t = self.i = self.n
        self._issue("cut-call")
        self._rec(R_CUT, 1, self.emitted, self.emitted)
        self.incomplete = True
        self.state = S_END
        return 0
