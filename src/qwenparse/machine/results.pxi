# What can be asked of a parser between two pieces, and the record a Turn is made of.

cdef tuple STATE_OF = (
    formats.State.REASONING, formats.State.CONTENT, formats.State.CALL, formats.State.FUNCTION, formats.State.VALUE,
    formats.State.ARGUMENTS, formats.State.BROKEN, formats.State.CLOSED,
)
cdef object STATE_START = formats.State.START


cdef class _Results(_Prefix):
    @property
    def state(self):
        """Where the parser stands, a `State`."""
        if self.stop is not None:
            return STATE_OF[S_END]
        if self.fresh == FRESH_AUTO and self.state == S_CONTENT:
            return STATE_START
        return STATE_OF[self.state]

    @property
    def position(self):
        """Code points consumed."""
        return self.base + self.n

    @property
    def held(self):
        """Text that is not decided yet."""
        cdef Py_ssize_t a
        with cython.critical_section(self):
            self._must_be_free(True)
            a = -self.base if self.base < 0 else 0
            return PyUnicode_FromKindAndData(4, self.buffer + a, self.n - a) if self.n > a else ""

    @property
    def held_bytes(self):
        """Bytes of an unfinished UTF-8 sequence, at most three."""
        with cython.critical_section(self):
            return (<char*> self.pending)[:self.n_pending]

    @property
    def closed(self):
        """How the turn was closed (`"im_end"`, `"other_stop"`, `"none"`), or None while it is open."""
        return self.stop

    @property
    def turn(self):
        """The `Turn` as known so far. Needs `record=True`."""
        if not self.record:
            raise ValueError("this parser was made with record=False: it keeps no turn")
        with cython.critical_section(self):
            self._must_be_free()
            if self.turn_cache is None:
                self.turn_cache = _make_turn(self)
            return self.turn_cache

    def _settings(self):
        """What it takes to read this turn again."""
        return self.start, self.max_held, self.tokens, self.by_id

    def _origin(self):
        """How the reading began, beside the settings: `prefixed`, and what ids said about tags.

        That is None, or (the tags with an id of their own, as bits; the positions where such an id was fed).
        """
        return self.prefixed, (self.id_tags, tuple(self.marked or ())) if self.by_id else None

    def _recorded(self):
        """What a Turn is made of: raw, records (kind, aux, start, end), strings, ids."""
        cdef Py_ssize_t k
        cdef list records = []
        cdef list ids = None
        cdef Rec* r
        cdef str raw
        if self.pieces is not None and len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        raw = "" if self.pieces is None else self.pieces[0]
        for k in range(self.n_recs):
            r = &self.recs[k]
            records.append((r.kind, r.aux, r.start, r.end))
        if self.fed == FED_IDS:
            ids = [self.ids[k] for k in range(self.n_ids)]
        return raw, records, list(self.strings or ()), ids, self.incomplete
