# cython: language_level=3, binding=False, boundscheck=False, wraparound=False, initializedcheck=False
# cython: freethreading_compatible=True
"""What CPython itself asks for: calls and objects of the shape a parser makes, with no parser behind them.

Every figure of this package is read beside these (docs/performance.md): below them there is nothing to win.
"""

cimport cython


@cython.freelist(64)
@cython.no_gc
cdef class Event:
    """The layout of the package's own events."""
    cdef readonly str raw
    cdef readonly Py_ssize_t start
    cdef Py_ssize_t number
    cdef object value
    cdef object extra


@cython.final
@cython.no_gc
cdef class TextEvent(Event):
    @property
    def text(self):
        return self.raw


@cython.final
cdef class Floor:
    cdef Py_ssize_t position

    def nothing(self, data, /):
        """One positional argument, nothing done (METH_O)."""
        return None

    def shared(self, str data not None, /):
        """State advanced, the shared empty tuple returned."""
        self.position += len(data)
        return ()

    def event(self, str data not None, /):
        """One event object, returned bare."""
        cdef TextEvent e = TextEvent.__new__(TextEvent)
        e.raw = data
        e.start = self.position
        self.position += len(data)
        return e

    def listed(self, str data not None, /):
        """A list with one event object: the floor row."""
        cdef TextEvent e = TextEvent.__new__(TextEvent)
        e.raw = data
        e.start = self.position
        self.position += len(data)
        return [e]
