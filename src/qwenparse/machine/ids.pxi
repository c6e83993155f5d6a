# The front end for token ids.

cdef list _listed(ids):
    """The integers of an array; numpy arrays and torch tensors have tolist()."""
    if hasattr(ids, "tolist"):
        ids = ids.tolist()
        return ids if isinstance(ids, list) else [ids]
    if isinstance(ids, (str, bytes, bytearray)):
        raise TypeError("feed_ids takes token ids; feed takes text")
    return list(ids)


cdef class _IdFeeding(_Feeding):
    cdef int _input_ids(self, ids) except -1:
        """Token ids: a list or other sequence, an array of integers, or one int."""
        cdef unsigned int one
        cdef Ids checked
        if self.table is None:
            raise TypeError("feed_ids needs a parser made with tokens=")
        if isinstance(ids, int):
            one = self._one_id(ids)
            self._may_feed(FED_IDS)
            return self._consume_ids(&one, 1)
        checked.at = checked.few
        try:
            self._check_ids(ids, &checked)
            self._may_feed(FED_IDS)
            return self._consume_ids(checked.at, checked.count)
        finally:
            _ids_free(&checked)

    cdef int _check_ids(self, ids, Ids* to) except -1:
        """Copies the ids, all of them checked."""
        cdef Py_ssize_t k = 0
        cdef Py_ssize_t size = self.table.size
        cdef tuple items
        if type(ids) is list:
            with cython.critical_section(ids):
                _ids_room(to, PyList_GET_SIZE(ids))
                while k < to.count and _exact_id(PyList_GET_ITEM(ids, k), size, &to.at[k]):
                    prefetch(&self.table.rows[to.at[k]])
                    k += 1
            if k == to.count:
                return 0
            _ids_free(to)
        elif PyObject_CheckBuffer(ids) and type(ids) is not bytes and type(ids) is not bytearray:
            if self._check_buffer(ids, to):
                return 0
        items = tuple(ids if isinstance(ids, (list, tuple)) else _listed(ids))
        _ids_room(to, len(items))
        for k in range(to.count):
            to.at[k] = self._one_id(items[k])
        return 0

    cdef bint _check_buffer(self, ids, Ids* to) except -1:
        """The same of a row of machine integers, without objects. False: it is none, or an id is bad."""
        cdef Py_buffer view
        cdef Py_ssize_t k
        try:
            PyObject_GetBuffer(ids, &view, PyBUF_RECORDS_RO)
        except (BufferError, ValueError):
            return False
        try:
            if view.ndim != 1 or view.format == NULL or strlen(view.format) != 1:
                return False
            if strchr("bBhHiIlLqQ", view.format[0]) == NULL:
                return False
            _ids_room(to, view.shape[0])
            for k in range(to.count):
                if not _machine_id(<char*> view.buf + k * view.strides[0], view.itemsize, view.format[0] >= 97,
                                   self.table.size, &to.at[k]):
                    _ids_free(to)
                    return False
                prefetch(&self.table.rows[to.at[k]])
            return True
        finally:
            PyBuffer_Release(&view)

    cdef unsigned int _one_id(self, value) except? 0xFFFFFFFF:
        cdef long long v
        try:
            v = <long long> operator_index(value)
        except OverflowError:
            v = -1
        if v < 0 or v >= self.table.size:
            raise ValueError(f"token id {value} is not in the table of {self.table.size} ids")
        return <unsigned int> v

    cdef int _consume_ids(self, const unsigned int* ids, Py_ssize_t count) except -1:
        cdef Py_ssize_t k = 0
        if self.record:
            self._record_ids(ids, count)
        while k < count:
            k += self._consume_text(ids + k, count - k)
            if k < count:
                if self._consume_special(ids[k]):
                    return self._trailing(ids + k + 1, count - k - 1)
                k += 1
        return 0

    cdef Py_ssize_t _consume_text(self, const unsigned int* ids, Py_ssize_t count) except -1:
        """Reads ids up to the first that has no bytes or ends the turn, as one piece; says how many."""
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
        try:
            for k in range(count):
                row = &self.table.rows[ids[k]]
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
        self._finish("im_end" if self.table.kinds[id] == 8 else "other_stop", text)
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

    cdef str _piece_of(self, data, bint id):
        """The text of one ordinary id, or of bytes, if it begins and ends a character; else None, nothing done."""
        cdef const char* text
        cdef Py_ssize_t size
        cdef Py_ssize_t used = 0
        cdef unsigned int one
        cdef str s
        if self.n_pending or self.stop is not None or self.busy:
            return None
        if not id:
            text = <bytes> data
            size = len(<bytes> data)
        else:
            if self.table is None or not _exact_id(<PyObject*> data, self.table.size, &one):
                return None
            if self.table.kinds[one] != 0 and (self.by_id or self.table.kinds[one] > 4):
                return None
            text = self.table.blob + self.table.offsets[one]
            size = self.table.offsets[one + 1] - self.table.offsets[one]
        s = PyUnicode_DecodeUTF8Stateful(text, size, "surrogateescape", &used)
        if used != size:
            return None
        self._may_feed(FED_IDS if id else FED_BYTES)
        if id and self.record:
            self._record_ids(&one, 1)
        return s
