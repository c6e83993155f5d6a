"""The events as C: one layout for all classes, so that the freelist of the base serves every one."""

cimport cython


cdef class Event:
    cdef readonly str raw
    cdef readonly Py_ssize_t start
    cdef Py_ssize_t number
    cdef object value
    cdef object extra
    cdef tuple _key(self)


@cython.final
cdef class ReasoningDelta(Event):
    pass


@cython.final
cdef class ContentDelta(Event):
    pass


@cython.final
cdef class ToolCallStart(Event):
    pass


@cython.final
cdef class ArgumentStart(Event):
    pass


@cython.final
cdef class ArgumentDelta(Event):
    pass


@cython.final
cdef class ArgumentEnd(Event):
    pass


@cython.final
cdef class ToolCallEnd(Event):
    pass


@cython.final
cdef class Markup(Event):
    pass


@cython.final
cdef class Issue(Event):
    pass


@cython.final
cdef class Delta:
    cdef readonly str reasoning
    cdef readonly str content
    cdef readonly tuple calls
    cdef readonly tuple issues
