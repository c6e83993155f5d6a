# The front end for token ids.

cdef class _IdFeeding(_Feeding):
    cdef int _input_ids(self, ids) except -1:
        """Token ids: a list or other sequence, an array of integers, or one int."""
        cdef unsigned int one
        cdef Ids checked
        cdef _Table table = self.table
        if table is None:
            raise TypeError("feed_ids needs a parser made with tokens=")
        if isinstance(ids, int):
            one = table.one_id(ids)
            self._may_feed(FED_IDS)
            return self._consume_ids(&one, 1)
        checked.at = checked.few
        try:
            table.check_ids(ids, &checked)
            if self.table is not table:
                raise RuntimeError("this parser was made anew while its ids were read")
            self._may_feed(FED_IDS)
            return self._consume_ids(checked.at, checked.count)
        finally:
            _ids_free(&checked)

    cdef int _consume_ids(self, const unsigned int* ids, Py_ssize_t count) except -1:
        """Ids that were checked, as `_input` takes text."""
        cdef Py_ssize_t k = 0
        self.busy = RUNNING
        try:
            if self.record:
                self._record_ids(ids, count)
            while k < count:
                k += self._consume_text(ids + k, count - k)
                if k < count:
                    if self._consume_special(ids[k]):
                        self._trailing(ids + k + 1, count - k - 1)
                        break
                    k += 1
            self.busy = 0
        finally:
            if self.busy:
                self._fail()
        return 0

    cdef Py_ssize_t _consume_text(self, const unsigned int* ids, Py_ssize_t count) except -1:
        """Reads ids up to the first that has no bytes or ends the turn, as one piece; says how many."""
        cdef Row* rows = self.table.rows
        cdef Row* row
        cdef const char* source
        cdef Py_ssize_t k = 0
        cdef Py_ssize_t size
        cdef Py_ssize_t used = 0
        cdef Py_ssize_t tags = 0
        cdef char small[4096]
        cdef Py_ssize_t capacity = sizeof(small)
        cdef char* text = small
        cdef char* grown
        cdef unsigned char what = 0
        small[0] = 0
        self._pass_certain()
        try:
            for k in range(count):
                row = &rows[ids[k]]
                what = row.kind
                size = row.size
                source = row.text
                if what != 0:
                    if what == ROW_LONG:
                        what = self.table.kinds[ids[k]]
                        source = self.table.blob + self.table.offsets[ids[k]]
                        size = self.table.offsets[ids[k] + 1] - self.table.offsets[ids[k]]
                    if what > 4:
                        count = k
                        break
                    if what != 0 and self.by_id:
                        self._mark_certain(used)
                        tags += 1
                if used + size + 16 > capacity:
                    capacity = 2 * (used + size) + 32
                    grown = <char*> realloc(NULL if text == small else text, capacity)
                    if grown == NULL:
                        raise MemoryError
                    if text == small:
                        memcpy(grown, small, used)
                    text = grown
                if source == row.text:
                    memcpy(text + used, row, sizeof(Row))           # a fixed size is one move; what is too much is written over
                else:
                    memcpy(text + used, source, size)
                used += size
            # An unfinished character before a stop will never be finished.
            self._input_bytes(text, used, 4 < what < 255, tags)
        finally:
            if text != small:
                free(text)
        return count

    cdef int _mark_certain(self, Py_ssize_t position) except -1:
        cdef long long* grown
        cdef Py_ssize_t capacity
        if self.n_certain == self.certain_capacity:
            if self.certain_head > self.n_certain // 2:
                memmove(self.certain, self.certain + self.certain_head,
                        (self.n_certain - self.certain_head) * sizeof(long long))
                self.n_certain -= self.certain_head
                self.certain_head = 0
            else:
                capacity = 8 if self.certain_capacity == 0 else self.certain_capacity * 2
                grown = <long long*> realloc(self.certain, capacity * sizeof(long long))
                if grown == NULL:
                    raise MemoryError
                self.certain = grown
                self.certain_capacity = capacity
        self.certain[self.n_certain] = position
        self.n_certain += 1
        return 0

    cdef bint _consume_special(self, unsigned int id) except -1:
        """An id without bytes, or one that ends the turn: then True."""
        cdef Py_ssize_t begin = self.table.offsets[id]
        cdef str text
        if self.table.kinds[id] == 255:
            if self.unknown_ids is None:
                self.unknown_ids = set()
            if id not in self.unknown_ids:
                self.unknown_ids.add(id)
                self._later(self.base + self.n, "unknown-token", str(id))
            return False
        text = PyUnicode_DecodeUTF8Stateful(self.table.blob + begin, self.table.offsets[id + 1] - begin,
                                            "surrogateescape", NULL)
        if self.prefixing:
            self._input(text)
            return False
        self._end("im_end" if self.table.kinds[id] == 8 else "other_stop", text)
        return True

    cdef int _record_ids(self, const unsigned int* ids, Py_ssize_t count) except -1:
        cdef unsigned int* grown
        cdef Py_ssize_t capacity = self.ids_capacity if self.ids_capacity else 64
        while capacity < self.n_ids + count:
            capacity *= 2
        if capacity != self.ids_capacity:
            grown = <unsigned int*> realloc(self.ids, capacity * sizeof(unsigned int))
            if grown == NULL:
                raise MemoryError
            self.ids = grown
            self.ids_capacity = capacity
        memcpy(self.ids + self.n_ids, ids, count * sizeof(unsigned int))
        self.n_ids += count
        return 0

    cdef int _trailing(self, const unsigned int* ids, Py_ssize_t count) except -1:
        """Ids behind a stop id: kept, not read."""
        cdef Py_ssize_t k
        cdef list parts = []
        for k in range(count):
            parts.append(self.table.blob[self.table.offsets[ids[k]]:self.table.offsets[ids[k] + 1]])
        self._append_region((<bytes> b"".join(parts)).decode("utf-8", "surrogateescape"), K_TRAILING)
        return 0

    cdef str _piece_of_id(self, id):
        """The text of one ordinary id, if it can be fed as a piece of characters; else None, nothing done."""
        cdef Py_ssize_t begin
        cdef unsigned int one
        cdef str s
        if self.table is None or not _exact_id(<PyObject*> id, self.table.size, &one):
            return None
        if self.table.kinds[one] != 0 and (self.by_id or self.table.kinds[one] > 4):
            return None
        begin = self.table.offsets[one]
        s = self._piece_of(self.table.blob + begin, self.table.offsets[one + 1] - begin, FED_IDS)
        if s is not None and self.record:
            self._record_ids(&one, 1)
        return s
