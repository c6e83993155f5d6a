# Scanning of a JSON block, up to the next thing its caller must know.

# What a JSON call has reached.
cdef enum:
    JP_MORE = 0
    JP_FAULT = 1
    JP_NAME = 2
    JP_ARGS = 3
    JP_ARGS_END = 4
    JP_END = 5
    JP_AGAIN = 6        # a second name or a second arguments
    JP_LONG = 7

cdef enum:
    MEMBER_OTHER = 0
    MEMBER_NAME = 1
    MEMBER_ARGS = 2
    MEMBER_ALIAS = 3

cdef tuple OPENER_KEYS = (b"name", b"arguments", b"parameters", b"id", b"type")
cdef object json_loads = JSONDecoder(strict=False).decode


cdef bint _holds_object(str source) except -1:
    """Whether a JSON string (its source, quotes included) holds a JSON object and only that."""
    cdef str text = json_loads(source)
    cdef Json j
    cdef Py_UCS4 c
    cdef int said
    cdef bint ok = True
    j.stack = NULL
    j.capacity = 0
    json_init(&j)
    try:
        for c in text:
            if j.state == J_DONE or (j.depth == 0 and c != 123):
                if not is_json_ws(c):
                    ok = False
                    break
                continue
            said = json_step(&j, c)
            if said & JE_MEMORY:
                raise MemoryError
            if said & JE_FAULT:
                ok = False
                break
        return ok and j.state == J_DONE
    finally:
        free(j.stack)


cdef class _JsonBlock(_Lexemes):
    cdef int _json_begin(self, Py_ssize_t at) except -1:
        json_init(&self.json)
        self.j_start = self.j_at = at
        self.j_val = self.j_end = at
        self.j_key_size = 0
        self.j_member = self.j_current = MEMBER_OTHER
        self.j_first = True
        self.j_name = self.j_args = self.j_args_string = self.j_args_closed = self.j_args_done = False
        self.j_alias = self.j_long = self.j_broken = False
        self.j_started = True
        return 0

    cdef int _json_read(self, bint head) except -1:
        """Goes on reading the JSON block until something happens that its caller must know (JP_*)."""
        cdef Py_UCS4 c
        cdef Py_ssize_t m, stop, k
        cdef int said
        while self.j_at < self.n:
            stop = self.n
            if head:
                if self.j_at - self.j_start >= self.max_held:
                    return JP_LONG
                if stop - self.j_start > self.max_held:
                    stop = self.j_start + self.max_held
            if self.j_current >= MEMBER_ARGS and self.j_args_string:
                m = self.j_val + 1
                if self.j_at - m >= self.max_held and (self._c(self.j_at) != 34 or self.json.state != J_STRING):
                    return JP_FAULT
                if stop - m > self.max_held:
                    stop = m + self.max_held
            c = self._c(self.j_at)
            if self.json.state == J_STRING and c != 34:
                m = find_quote(self.kind, self.data, self.j_at, stop)
                while (self.json.depth > 1 or not self.json.key) and m + 1 < stop and self._c(m) == 92 \
                        and is_simple_escape(self._c(m + 1)):
                    m = find_quote(self.kind, self.data, m + 2, stop)
                if m > self.j_at:
                    if self.json.key and self.json.depth == 1:
                        for k in range(self.j_at, m):
                            self._json_key_char(self._c(k))
                    self.work += m - self.j_at
                    self.j_at = m
                    continue
            said = json_step(&self.json, c)
            self.work += 1
            if said & JE_MEMORY:
                raise MemoryError
            if said & JE_FAULT:
                if said & JE_END_BEFORE:
                    self.json.state = J_AFTER
                    self.j_end = self.j_at
                return JP_FAULT
            if said == JE_NONE:
                if self.json.key and self.json.depth == 1:
                    self._json_key_char(c)
                self.j_at += 1
                continue
            if said & (JE_END | JE_END_BEFORE):
                self.j_end = self.j_at + (1 if said & JE_END else 0)
            if said & JE_KEY_START:
                if self.j_first and self.j_at - self.j_start - 1 > WINDOW:
                    return JP_FAULT
                self.j_key_size = 0
            if said & JE_KEY:
                if not self._json_member():
                    return JP_FAULT
            if said & JE_START:
                self.j_val = self.j_at
                self.j_current = MEMBER_OTHER
                if self.j_member == MEMBER_NAME:
                    if self.j_name:
                        self.j_at += 1
                        return JP_AGAIN
                    if c != 34:
                        return JP_FAULT
                    self.j_current = MEMBER_NAME
                elif self.j_member >= MEMBER_ARGS:
                    if self.j_args:
                        self.j_at += 1
                        return JP_AGAIN
                    if c == 123 or c == 34:
                        self.j_args = True
                        self.j_args_string = c == 34
                        self.j_alias = self.j_member == MEMBER_ALIAS
                        self.j_current = self.j_member
                        self.j_at += 1
                        return JP_ARGS
                    if c != 110:                # null: no arguments
                        return JP_FAULT
            self.j_at += 1
            if said & JE_END:
                if self.j_current == MEMBER_NAME:
                    self.j_name = True
                    self.j_current = MEMBER_OTHER
                    return JP_NAME
                if self.j_current >= MEMBER_ARGS:
                    if self.j_args_string and not self._args_hold_object(head):
                        return JP_FAULT
                    self.j_current = MEMBER_OTHER
                    self.j_args_closed = True
                    return JP_ARGS_END
            if said & JE_DONE:
                return JP_END
        return JP_MORE

    cdef bint _args_hold_object(self, bint head) except -1:
        # While streaming, the string's beginning has left the window; `j_text` keeps it.
        cdef str source = self._slice(self.j_val, self.j_at) if head else \
            "".join(self.j_text) + self._slice(self.p, self.j_at)
        return _holds_object(source)

    cdef inline void _json_key_char(self, Py_UCS4 c) noexcept:
        if self.j_key_size < 12:
            self.j_key[self.j_key_size] = <char> c if c < 128 else 1
            self.j_key_size += 1

    cdef bint _json_member(self) except -1:
        """Which member the key just read names. False: the first key shows that this is no call."""
        cdef bytes key = (<char*> self.j_key)[:self.j_key_size]
        if self.j_first and key not in OPENER_KEYS:
            return False
        self.j_first = False
        self.j_member = MEMBER_OTHER
        if key == b"name":
            self.j_member = MEMBER_NAME
        elif key == b"arguments":
            self.j_member = MEMBER_ARGS
        elif key == b"parameters":
            self.j_member = MEMBER_ALIAS
        return True

    cdef bint _opener_could(self) except -1:
        """Whether what has come of the first key, or of the whitespace before it, may still make a JSON opener."""
        cdef bytes part
        if self.json.state == J_KEY_OR_END or self.json.depth == 0:
            return self.j_at - self.j_start - 1 <= WINDOW
        if self.json.depth != 1 or not self.json.key or self.json.state != J_STRING:
            return False
        part = (<char*> self.j_key)[:self.j_key_size]
        for key in OPENER_KEYS:
            if (<bytes> key).startswith(part):
                return True
        return False

    cdef int _json_head(self, Py_ssize_t start) except -1:
        """Reads the block at `start` up to its name: JP_NAME, JP_MORE (the window ends before it), JP_FAULT (it is no call)."""
        cdef int point
        cdef str name
        if not self.j_started or self.j_start != start:
            self._json_begin(start)
        while True:
            point = self._json_read(True)
            if (point == JP_MORE or point == JP_LONG) and self.j_first and not self._opener_could():
                return JP_FAULT
            if point == JP_MORE:
                return JP_MORE
            if point == JP_NAME:
                name = self._slice(self.j_val + 1, self.j_at - 1)
                if find_char(self.kind, self.data, self.j_val, self.j_at, 92) < self.j_at:
                    name = json_loads(self._slice(self.j_val, self.j_at))
                if not 1 <= len(name) <= NAME_LIMIT:
                    return JP_FAULT
                self.name = name
                return JP_NAME
            if point == JP_LONG:
                self.j_long = True
            if point == JP_LONG or point == JP_FAULT or point == JP_END:
                return JP_FAULT
