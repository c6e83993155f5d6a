# What the prompt has already written of the turn.

cdef class _Prefix(_IdFeeding):
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
                    self._input_bytes(<const char*> self.pending, 0, True)
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
