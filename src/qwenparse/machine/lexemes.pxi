# Scanning: what stands at a place of the window. Knows no policy and no format rule.

cdef inline int _tag_at(int kind, void* data, Py_ssize_t i) noexcept nogil:
    """The only tag that can stand at i, by its first two letters, where a '<' and at least three more characters are."""
    cdef Py_UCS4 c = PyUnicode_READ(kind, data, i + 1)
    cdef Py_UCS4 d
    cdef bint close = c == 47
    if close:
        i += 1
        c = PyUnicode_READ(kind, data, i + 1)
    if c != 102 and c != 112 and c != 116:
        return NO_TAG
    d = PyUnicode_READ(kind, data, i + 2)
    if c == 116 and d == 104:
        return TAG_THINK_CLOSE if close else TAG_THINK
    if c == 116 and d == 111:
        return TAG_CALL_CLOSE if close else TAG_CALL
    if c == 102 and d == 117:
        return TAG_FN_CLOSE if close else TAG_FN
    if c == 112 and d == 97:
        return TAG_PARAM_CLOSE if close else TAG_PARAM
    return NO_TAG


cdef inline bint _is_blank_or_quote(Py_UCS4 c) noexcept:
    return c == 32 or c == 9 or c == 34 or c == 39


cdef inline str _clean_name(str written, bint* quoted):
    """NAME: surrounding blanks and one pair of matching quotes removed."""
    cdef str name
    cdef Py_ssize_t n = PyUnicode_GET_LENGTH(written)
    quoted[0] = False
    if n and not _is_blank_or_quote(written[0]) and not _is_blank_or_quote(written[n - 1]):
        return written
    name = written.strip(" \t")
    if len(name) >= 2 and name[0] == name[len(name) - 1] and (name[0] == u'"' or name[0] == u"'"):
        name = name[1:len(name) - 1]
        quoted[0] = True
    return name


cdef inline bint _plain(str name):
    """No whitespace and no '=' in it."""
    cdef Py_UCS4 c
    for c in name:
        if is_ws(c) or c == 61:
            return False
    return True


cdef class _Lexemes(_State):
    cdef inline Py_ssize_t _next_candidate(self, Py_ssize_t i) noexcept:
        """The next '<' from i on at which a tag may stand, or n. All others are text wherever they are."""
        while True:
            i = find_char(self.kind, self.data, i, self.n, 60)
            if self.n - i < 4 or _tag_at(self.kind, self.data, i) != NO_TAG:
                return i
            i += 1

    cdef int _read_ws(self, Py_ssize_t start, Py_ssize_t* at) noexcept:
        """Moves `at` to the end of the whitespace run that begins at `start`."""
        cdef Py_ssize_t a = at[0]
        while a < self.n and is_ws(self._c(a)):
            if a - start >= WINDOW:
                at[0] = a
                return OVER
            a += 1
        self.work += a - at[0] + 1
        at[0] = a
        return MORE if a == self.n and not self.closing else DONE

    cdef inline void _pass_certain(self) noexcept:
        """Those in front of what is held are done with."""
        while self.certain_head < self.n_certain and self.certain[self.certain_head] < self.base + self.p:
            self.certain_head += 1

    cdef bint _is_certain(self, Py_ssize_t i) noexcept:
        cdef Py_ssize_t at = self.base + i
        cdef Py_ssize_t low, high, middle
        self._pass_certain()
        low = self.certain_head
        high = self.n_certain
        while low < high:
            middle = (low + high) // 2
            if self.certain[middle] < at:
                low = middle + 1
            else:
                high = middle
        return low < self.n_certain and self.certain[low] == at

    @cython.final
    cdef int _read_tag(self, Lex* x, Py_ssize_t start, bint again, unsigned int mask) noexcept:
        """Reads the tag at `start`, where a '<' is: one of `mask`; `again`: goes on where it stopped."""
        cdef Py_ssize_t n = self.n
        cdef Py_ssize_t have = n - start
        cdef Py_ssize_t size, m, at, limit
        cdef int t
        cdef bint variant
        cdef Py_UCS4 c
        cdef int first = 0
        cdef int last = 8
        cdef int kind = self.kind
        cdef void* data = self.data
        if not again or x.read != READ_OPEN:
            x.tag = NO_TAG
            x.read = READ_NONE
            x.could = 0
            x.start = x.end = start
            if have >= 4:
                first = _tag_at(kind, data, start)
                if first == NO_TAG or not mask >> first & 1:
                    self.work += 1
                    return DONE
                last = first + 1
            self.work += TAG_LONGEST if TAG_LONGEST < have else have
            for t in range(first, last):
                if not mask >> t & 1:
                    continue
                size = TAG_LEN[t]
                m = size if size < have else have
                if not is_text(kind, data, start, TAG_TEXT[t], m):
                    continue
                if self.by_id and (self.id_tags >> t) & 1 and not self._is_certain(start):
                    continue
                if m == size:
                    x.tag = t
                    break
                x.could |= 1u << t
            if x.tag == NO_TAG:
                x.end = n if x.could else start
                return MORE if x.could and not self.closing else DONE
            x.could = 0
            x.at = start + TAG_LEN[x.tag]
            x.end = x.at
            if x.tag != TAG_FN and x.tag != TAG_PARAM and x.tag != TAG_PARAM_CLOSE:
                x.read = READ_WHOLE
                return DONE
            x.read = READ_OPEN
        x.could = 0
        at = x.at
        size = start + TAG_LEN[x.tag]           # the NAME or variant begins here
        variant = x.tag == TAG_PARAM_CLOSE
        m = VARIANT_LIMIT if variant else NAME_LIMIT
        limit = size + m if size + m < n else n
        while True:
            at = name_end(kind, data, at, limit)
            if at == n:
                break
            c = PyUnicode_READ(kind, data, at)
            if c == 13 and variant and at < limit:
                at += 1
                continue
            self.work += at - x.at
            x.at = x.end = at
            if c == 62 and (at > size or variant):
                x.at = x.end = at + 1
                x.read = READ_WHOLE
            elif variant:
                x.tag = NO_TAG
                x.read = READ_NONE
            else:
                x.read = READ_BROKEN
            return DONE
        self.work += n - x.at
        x.at = x.end = n
        if x.tag == TAG_PARAM_CLOSE:
            x.could = B_PARAM_CLOSE
        return DONE if self.closing else MORE

    cdef inline int _tag_here(self, unsigned int mask) noexcept:
        """The tag at i."""
        cdef bint again = self.stages >= 1 and self.tag.start == self.i
        if not again:
            self.stages = 1
            self.name = None
        elif self.stages > 1 or self.tag.read == READ_WHOLE:
            return DONE
        return self._read_tag(&self.tag, self.i, again, mask)

    cdef inline int _ws_behind(self) noexcept:
        """The whitespace behind the tag at i."""
        if self.stages < 2:
            self.stages = 2
            self.ws = self.tag.end
        return self._read_ws(self.tag.end, &self.ws)

    cdef inline int _tag_behind(self, unsigned int mask) noexcept:
        """The tag behind that whitespace."""
        cdef bint again = self.stages >= 3
        if again and self.tag2.read == READ_WHOLE:
            return DONE
        self.stages = 3
        return self._read_tag(&self.tag2, self.ws, again, mask)

    cdef inline int _ws_behind_tag2(self) noexcept:
        if self.stages < 4:
            self.stages = 4
            self.ws2 = self.tag2.end
        return self._read_ws(self.tag2.end, &self.ws2)

    cdef Py_ssize_t _name_ends(self, Lex* x) noexcept:
        """The end of the NAME: the '>', or if the tag broke off the '=' in it, or where it broke off."""
        if x.read == READ_WHOLE:
            return x.end - 1
        return find_char(self.kind, self.data, x.start + TAG_LEN[x.tag], x.end, 61)

    cdef str _name_before(self, Lex* x, Py_ssize_t end):
        if self.name is None:
            self.name = _clean_name(self._slice(x.start + TAG_LEN[x.tag], end), &self.quoted)
        return <str> self.name

    cdef str _name_of(self, Lex* x):
        return self._name_before(x, x.end - 1)
