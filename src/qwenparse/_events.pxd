"""The events as C: one layout for all classes, so that the freelist of the base serves every one."""

cimport cython


cdef class Event:
    cdef readonly str raw
    cdef readonly Py_ssize_t start
    cdef Py_ssize_t number
    cdef object value
    cdef object extra


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


# Within this module `__new__` is a plain call: the machine makes what it makes most by these.
cdef Event content_delta(str raw, Py_ssize_t start)
cdef Event reasoning_delta(str raw, Py_ssize_t start)
cdef Event argument_delta(Py_ssize_t index, str raw, Py_ssize_t start)
cdef Event markup(str kind, str raw, Py_ssize_t start)
