# A token table as the machine reads it: short texts by id, and how the ids of a caller are checked against it.

cdef extern from "Python.h":
    Py_ssize_t PyList_GET_SIZE(object)
    PyObject* PyList_GET_ITEM(object, Py_ssize_t)
    str PyUnicode_FromObject(object)

cdef extern from *:
    """
    /* An int of one digit, without a call: the way of almost all token ids. -1: something else. */
    static CYTHON_INLINE Py_ssize_t qwenparse_small_int(PyObject *v) {
        if (!PyLong_CheckExact(v)) return -1;
    #if PY_VERSION_HEX >= 0x030C0000
        return PyUnstable_Long_IsCompact((PyLongObject *) v) ? PyUnstable_Long_CompactValue((PyLongObject *) v) : -1;
    #else
        if (Py_SIZE(v) == 1) return (Py_ssize_t) ((PyLongObject *) v)->ob_digit[0];
        return Py_SIZE(v) == 0 ? 0 : -1;
    #endif
    }
    #if defined(__GNUC__)
    #define qwenparse_prefetch(at) __builtin_prefetch(at)
    #else
    #define qwenparse_prefetch(at) ((void) (at))
    #endif
    """
    Py_ssize_t small_int "qwenparse_small_int" (PyObject*) noexcept nogil
    void prefetch "qwenparse_prefetch" (const void*) noexcept nogil

cdef enum:
    ROW_TEXT = 14           # bytes of text in a row
    ROW_LONG = 16           # a kind beside those of a table: text and kind are to be read there

# An id in a quarter of a cache line: the ids of a vocabulary are drawn from all over it.
cdef struct Row:
    char text[14]
    unsigned char size
    unsigned char kind      # of `TokenTable.kinds`; ROW_LONG if the text does not fit


cdef inline bint _exact_id(PyObject* value, Py_ssize_t size, unsigned int* to) noexcept:
    """Whether it is an int and an id of the table: the way of almost all."""
    cdef Py_ssize_t v = small_int(value)
    if v < 0 or v >= size:
        return False
    to[0] = <unsigned int> v
    return True


cdef inline bint _machine_id(const char* at, Py_ssize_t width, bint signed, Py_ssize_t size, unsigned int* to) noexcept:
    """The same of an integer of that width in memory, aligned or not."""
    cdef signed char v1
    cdef short v2
    cdef int v4
    cdef long long v
    if width == 8:
        memcpy(&v, at, 8)
    elif width == 4:
        memcpy(&v4, at, 4)
        v = v4
        if not signed:
            v = <unsigned int> v4
    elif width == 2:
        memcpy(&v2, at, 2)
        v = v2
        if not signed:
            v = <unsigned short> v2
    else:
        memcpy(&v1, at, 1)
        v = v1
        if not signed:
            v = <unsigned char> v1
    if v < 0 or v >= size:
        return False
    to[0] = <unsigned int> v
    return True


# Ids that were checked: those of a turn fit beside the call, no memory is asked for.
cdef struct Ids:
    unsigned int* at
    Py_ssize_t count
    unsigned int few[512]


cdef int _ids_room(Ids* ids, Py_ssize_t count) except -1:
    ids.count = count
    ids.at = ids.few
    if count > 512:
        ids.at = <unsigned int*> malloc(count * sizeof(unsigned int))
        if ids.at == NULL:
            ids.at = ids.few
            raise MemoryError
    return 0


cdef inline void _ids_free(Ids* ids) noexcept:
    if ids.at != ids.few:
        free(ids.at)
    ids.at = ids.few


cdef list _listed(ids):
    """The integers of an array; numpy arrays and torch tensors have tolist()."""
    if hasattr(ids, "tolist"):
        ids = ids.tolist()
        return ids if isinstance(ids, list) else [ids]
    if isinstance(ids, (str, bytes, bytearray)):
        raise TypeError("feed_ids takes token ids; feed takes text")
    return list(ids)


@cython.final
cdef class _Table:
    """Pointers into the buffers of a `TokenTable`, which it keeps alive, and its short texts by id."""
    cdef tuple refs
    cdef Py_ssize_t size
    cdef const char* blob
    cdef const unsigned int* offsets
    cdef const unsigned char* kinds
    cdef Row* rows
    cdef unsigned int id_tags       # the tags that have an id

    def __dealloc__(self):
        free(self.rows)

    cdef int _fill(self, size_t blob_size) except -1:
        cdef Py_ssize_t k
        cdef unsigned int size
        cdef Row* row
        self.rows = <Row*> malloc((self.size + 1) * sizeof(Row))
        if self.rows == NULL:
            raise MemoryError
        for k in range(self.size):
            if self.offsets[k] > self.offsets[k + 1] or self.offsets[k + 1] > blob_size:
                raise ValueError("the token table's offsets lead out of its bytes")
            row = &self.rows[k]
            size = self.offsets[k + 1] - self.offsets[k]
            row.kind = self.kinds[k]
            row.size = 0
            if size > ROW_TEXT:
                row.kind = ROW_LONG
            else:
                row.size = <unsigned char> size
                memcpy(row.text, self.blob + self.offsets[k], size)
        return 0

    cdef int check_ids(self, ids, Ids* to) except -1:
        """Copies the ids of a list or other sequence or of an array, all of them checked."""
        cdef Py_ssize_t k = 0
        cdef Py_ssize_t size = self.size
        cdef Row* rows = self.rows
        cdef tuple items
        if type(ids) is list:
            with cython.critical_section(ids):
                _ids_room(to, PyList_GET_SIZE(ids))
                while k < to.count and _exact_id(PyList_GET_ITEM(ids, k), size, &to.at[k]):
                    prefetch(&rows[to.at[k]])
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
            to.at[k] = self.one_id(items[k])
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
                                   self.size, &to.at[k]):
                    _ids_free(to)
                    return False
                prefetch(&self.rows[to.at[k]])
            return True
        finally:
            PyBuffer_Release(&view)

    cdef unsigned int one_id(self, value) except? 0xFFFFFFFF:
        cdef long long v
        try:
            v = <long long> operator_index(value)
        except OverflowError:
            v = -1
        if v < 0 or v >= self.size:
            raise ValueError(f"token id {value} is not in the table of {self.size} ids")
        return <unsigned int> v


cdef _Table _table_of(tokens):
    """Made once for a table, and kept with it."""
    cdef _Table t
    cdef bytes blob, offsets, kinds
    cdef Py_ssize_t i
    cdef object made = getattr(tokens, "_core", None)
    if type(made) is _Table:
        return <_Table> made
    t = _Table.__new__(_Table)
    try:
        blob, offsets, kinds = tokens.blob, tokens.offsets, tokens.kinds
    except AttributeError:
        raise TypeError(f"tokens is a TokenTable, not a {type(tokens).__name__}") from None
    t.refs = (blob, offsets, kinds)
    t.size = tokens.size
    if len(kinds) != t.size or len(offsets) != 4 * (t.size + 1):
        raise ValueError("the token table's buffers do not fit its size")
    t.blob = blob
    t.offsets = <const unsigned int*> <const char*> offsets
    t.kinds = <const unsigned char*> <const char*> kinds
    t._fill(len(blob))
    t.id_tags = 0
    for i in range(4):
        if formats.TAGS[i] in tokens.tag_ids:
            t.id_tags |= 1u << i
    if hasattr(tokens, "_core"):
        tokens._core = t
    return t
