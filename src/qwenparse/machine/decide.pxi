# Deciding: pure functions of state, candidate and what follows. Their rows are those of docs/format.md. They stand below
# the reports: nothing here can report or move on.

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
    A_CUT_TAG = 18
    A_FUNCTION_CLOSE = 19
    A_PARAMETER = 20
    A_PARAMETER_FUSED = 21
    A_PARAMETER_UNCLOSED = 22
    A_PARAMETER_MALFORMED = 23
    A_PARAMETER_NAMELESS = 24
    A_LAST_BRACE = 25
    A_BROKEN = 26


cdef class _Decisions(_JsonBlock):
    cdef bint _admits(self, str name, bint in_reasoning, bint xml) except -1:
        """Whether a block with this name may be a call here."""
        if self.known:
            if name in self.declared:
                return True
            return not in_reasoning and not self.rules.unknown_is_text and (not xml or _plain(name))
        return _plain(name) or not (in_reasoning or self.rules.unknown_is_text or xml)

    cdef bint _is_parameter(self, str name) except -1:
        """Whether NAME may name a parameter: declared, or nothing is known of them and it is a plain word."""
        return bool(name) and (_plain(name) if self.params is None else name in self.params)

    cdef inline bint _is_given(self, str name) except -1:
        return self.given is not None and name in self.given

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
        cdef int cut = A_TEXT if self.ended else A_CUT_CALL
        cdef Py_UCS4 c
        cdef bint in_reasoning = self.state == S_REASONING
        if r == MORE:
            return A_HOLD
        if r == OVER:
            return A_TEXT
        if self.ws == self.n:
            return cut
        c = self._c(self.ws)
        if c == 123:
            return self._decide_json(self.ws, in_reasoning)
        if c != 60:
            return A_TEXT
        r = self._tag_behind(B_FN)
        if r == MORE:
            return A_HOLD
        if self.tag2.could or self.tag2.read == READ_OPEN:
            return cut
        if self.tag2.read != READ_WHOLE:
            return A_TEXT
        if not self._name_of(&self.tag2) or not self._admits(<str> self.name, in_reasoning, True):
            return A_TEXT
        r = self._ws_behind_tag2()
        if r == MORE:
            return A_HOLD
        if r == OVER or (self.ws2 < self.n and self._c(self.ws2) != 60):
            return A_TEXT
        return A_CALL

    cdef int _decide_json(self, Py_ssize_t start, bint in_reasoning) except -1:
        """Whether the '{' at `start` begins a call."""
        cdef int r = self._json_head(start)
        if r == JP_NAME and self._admits(<str> self.name, in_reasoning, False):
            return A_JSON_CALL
        if r != JP_MORE or self.ended:
            return A_TEXT
        return A_CUT_CALL if self.closing else A_HOLD

    cdef int _decide_json_stop(self, int point) except -1:
        """The block stops at i, before its last brace: at a fault, or where the window ends."""
        cdef bint more = point == JP_MORE
        cdef Py_ssize_t end = self.j_at if self.json.state in (J_ZERO, J_INT, J_FRAC, J_EXP) else self.j_end
        # arguments is closed and a member has just ended: only the brace is missing
        cdef bint whole = self.j_args_closed and self.json.depth == 1 and self.j_at - end <= WINDOW and (
            self.json.state == J_AFTER or (more and end == self.j_at))
        if more:
            return A_HOLD if not self.closing else A_LAST_BRACE if whole and self.ended else A_CUT_CALL
        if not whole or self._c(self.i) != 60:
            return A_BROKEN
        if self._tag_here(B_CALL | B_CALL_CLOSE) == MORE:
            return A_HOLD
        if self.tag.tag != NO_TAG or (self.tag.could and self.ended):
            return A_LAST_BRACE
        return A_CUT_TAG if self.tag.could else A_BROKEN

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
            r = self._decide_json(self.i, self.from_reasoning)
            return A_LEAVE if r == A_TEXT else r
        return A_LEAVE

    cdef int _decide_function(self) except -1:
        """The '<' at i, between parameters."""
        cdef int r = self._tag_here(B_PARAM | B_FN_CLOSE | B_CALL_CLOSE | B_CALL | B_FN)
        cdef int t = self.tag.tag
        if r == MORE and t != TAG_FN:
            return A_HOLD
        if t == TAG_FN_CLOSE:
            return A_FUNCTION_CLOSE
        if t == TAG_CALL_CLOSE or t == TAG_CALL or t == TAG_FN:
            return A_LEAVE
        if t == TAG_PARAM and self.tag.read != READ_OPEN:
            return self._decide_parameter()
        return A_CUT_TAG if self.tag.could or t == TAG_PARAM else A_TEXT

    cdef int _decide_parameter(self) except -1:
        """The <parameter= at i, whole or broken off; its name is known then."""
        cdef Py_ssize_t b = self._name_ends(&self.tag)
        cdef bint fused = b < self.tag.end and self._c(b) == 61
        cdef str name = self._name_before(&self.tag, b)
        if not name:
            return A_PARAMETER_MALFORMED if fused else A_PARAMETER_NAMELESS
        if self.tag.read == READ_WHOLE:
            return A_PARAMETER if self._is_parameter(name) or _plain(name) else A_PARAMETER_MALFORMED
        if not self._is_parameter(name) or not _plain(name):
            return A_PARAMETER_MALFORMED
        if fused:
            return A_PARAMETER_FUSED
        return A_PARAMETER_UNCLOSED if self._c(b) == 10 or self._c(b) == 13 else A_PARAMETER_MALFORMED

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
            name = _clean_name(word, &quoted)
            return _plain(word) and (word == written or (bool(name) and not self._is_given(name)))
        for name in self.params:
            if name and not self._is_given(name):
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
            if self.tag2.read != READ_WHOLE or not self._name_of(&self.tag2) \
                    or not (_plain(<str> self.name) or (self.known and self.name in self.declared)):
                return A_TEXT
        return closes
