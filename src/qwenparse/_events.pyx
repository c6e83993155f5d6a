# cython: language_level=3, binding=False, embedsignature=True, embedsignature.format=clinic
# cython: boundscheck=False, wraparound=False, initializedcheck=False, autotestdict=False
# cython: freethreading_compatible=True
"""What a parser reports: events and deltas. Values only; nothing here knows how they came about."""

cimport cython


cdef tuple _key(Event e):
    return e.raw, e.start, e.number, e.value


# All fields live in the base, so that every event class has one size and the freelist of the base serves all.
@cython.freelist(64)
@cython.no_gc
cdef class Event:
    """A region of the input, or a zero-width note at a place in it.

    `raw` is the exact source; `start` and `end` are code points of the completion, `end == start + len(raw)`.
    """
    def __init__(self):
        raise TypeError("an event is made as one of the classes below Event")

    @property
    def end(self):
        return self.start + len(self.raw)

    def __eq__(self, other):
        if type(self) is not type(other):
            return NotImplemented
        return _key(self) == _key(other)

    def __hash__(self):
        return hash((type(self).__name__, _key(self)))

    def __repr__(self):
        fields = [f"{n}={getattr(self, n)!r}" for n in type(self).__match_args__]
        return f"{type(self).__name__}({', '.join(fields)}, start={self.start}, end={self.end})"

    def __reduce__(self):
        return _make, (type(self), self.raw, self.start, self.number, self.value, self.extra)


def _make(type cls, str raw not None, Py_ssize_t start, Py_ssize_t number, value, extra):
    cdef Event e = cls.__new__(cls)
    e.raw = raw
    e.start = start
    e.number = number
    e.value = value
    e.extra = extra
    return e


@cython.final
@cython.no_gc
cdef class ReasoningDelta(Event):
    """More reasoning. `text is raw`."""
    __match_args__ = ("text",)

    def __init__(self, str text not None, Py_ssize_t start=0):
        self.raw = text
        self.start = start

    @property
    def text(self):
        return self.raw


@cython.final
@cython.no_gc
cdef class ContentDelta(Event):
    """More answer. `text is raw`."""
    __match_args__ = ("text",)

    def __init__(self, str text not None, Py_ssize_t start=0):
        self.raw = text
        self.start = start

    @property
    def text(self):
        return self.raw


@cython.final
@cython.no_gc
cdef class ToolCallStart(Event):
    """The name is complete and the block is certain to be a call. `raw` is the name as written (it may be empty:
    begun in the prompt, or known before its place in a JSON call). `id` has no meaning and no part in equality."""
    __match_args__ = ("index", "name")

    def __init__(self, Py_ssize_t index, str name not None, str raw not None="", Py_ssize_t start=0, *, str id=None):
        self.raw = raw
        self.start = start
        self.number = index
        self.value = name
        self.extra = id

    @property
    def index(self):
        return self.number

    @property
    def name(self):
        return self.value

    @property
    def id(self):
        return self.extra


@cython.final
@cython.no_gc
cdef class ArgumentStart(Event):
    """A parameter begins (`name`), or the argument object of a JSON call (`name` None)."""
    __match_args__ = ("index", "name")

    def __init__(self, Py_ssize_t index, str name=None, str raw not None="", Py_ssize_t start=0):
        self.raw = raw
        self.start = start
        self.number = index
        self.value = name

    @property
    def index(self):
        return self.number

    @property
    def name(self):
        return self.value


@cython.final
@cython.no_gc
cdef class ArgumentDelta(Event):
    """More of the literal, framing newlines already removed. `text is raw`, but for a value begun in the prompt."""
    __match_args__ = ("index", "text")

    def __init__(self, Py_ssize_t index, str text not None, Py_ssize_t start=0):
        self.raw = text
        self.start = start
        self.number = index

    @property
    def index(self):
        return self.number

    @property
    def text(self):
        return self.raw if self.value is None else self.value


@cython.final
@cython.no_gc
cdef class ArgumentEnd(Event):
    """The literal is complete; `closed` is False if the input was cut, or broken by a fault, inside it."""
    __match_args__ = ("index", "closed")

    def __init__(self, Py_ssize_t index, bint closed, Py_ssize_t start=0):
        self.raw = ""
        self.start = start
        self.number = index
        self.value = closed

    @property
    def index(self):
        return self.number

    @property
    def closed(self):
        return self.value


@cython.final
@cython.no_gc
cdef class ToolCallEnd(Event):
    """No more arguments for this call."""
    __match_args__ = ("index", "complete")

    def __init__(self, Py_ssize_t index, bint complete, Py_ssize_t start=0):
        self.raw = ""
        self.start = start
        self.number = index
        self.value = complete

    @property
    def index(self):
        return self.number

    @property
    def complete(self):
        return self.value


@cython.final
@cython.no_gc
cdef class Markup(Event):
    """Tags and layout whitespace; `kind` is one of `formats.KINDS`."""
    __match_args__ = ("kind",)

    def __init__(self, str kind not None, str raw not None="", Py_ssize_t start=0):
        self.raw = raw
        self.start = start
        self.value = kind

    @property
    def kind(self):
        return self.value


@cython.final
@cython.no_gc
cdef class Issue(Event):
    """A zero-width note about the text, never a failure. `code` is one of docs/format.md; `index` is the call it
    belongs to, or None; `text` shows what was seen."""
    __match_args__ = ("code", "text")

    def __init__(self, str code not None, str text not None="", Py_ssize_t start=0, *, index=None):
        self.raw = ""
        self.start = start
        self.number = -1 if index is None else index
        self.value = code
        self.extra = text

    @property
    def code(self):
        return self.value

    @property
    def text(self):
        return self.extra

    @property
    def index(self):
        return None if self.number < 0 else self.number


@cython.final
@cython.freelist(8)
@cython.no_gc
cdef class Delta:
    """What one `feed` of a `DeltaParser` (or of `ollama.Parser`) adds, in one object. Truthy if it has anything.

    `calls` are the call events in order: `ToolCallStart`, `ArgumentStart`, `ArgumentDelta`, `ArgumentEnd`, `ToolCallEnd`.
    """
    __match_args__ = ("reasoning", "content", "calls", "issues")

    def __init__(self, str reasoning=None, str content=None, tuple calls=(), tuple issues=()):
        self.reasoning = reasoning
        self.content = content
        self.calls = calls
        self.issues = issues

    def __bool__(self):
        return bool(self.reasoning or self.content or self.calls or self.issues)

    def __eq__(self, other):
        if not isinstance(other, Delta):
            return NotImplemented
        cdef Delta d = <Delta> other
        return (self.reasoning == d.reasoning and self.content == d.content
                and self.calls == d.calls and self.issues == d.issues)

    def __hash__(self):
        return hash((self.reasoning, self.content, self.calls, self.issues))

    def __repr__(self):
        return (f"Delta(reasoning={self.reasoning!r}, content={self.content!r}, calls={self.calls!r}, "
                f"issues={self.issues!r})")

    def __reduce__(self):
        return Delta, (self.reasoning, self.content, self.calls, self.issues)


cdef Event content_delta(str raw, Py_ssize_t start):
    cdef ContentDelta e = ContentDelta.__new__(ContentDelta)
    e.raw = raw
    e.start = start
    return e


cdef Event reasoning_delta(str raw, Py_ssize_t start):
    cdef ReasoningDelta e = ReasoningDelta.__new__(ReasoningDelta)
    e.raw = raw
    e.start = start
    return e


cdef Event argument_delta(Py_ssize_t index, str raw, Py_ssize_t start):
    cdef ArgumentDelta e = ArgumentDelta.__new__(ArgumentDelta)
    e.raw = raw
    e.start = start
    e.number = index
    return e


cdef Event markup(str kind, str raw, Py_ssize_t start):
    cdef Markup e = Markup.__new__(Markup)
    e.raw = raw
    e.start = start
    e.value = kind
    return e


CallEvent = ToolCallStart | ArgumentStart | ArgumentDelta | ArgumentEnd | ToolCallEnd
AnyEvent = ReasoningDelta | ContentDelta | CallEvent | Markup | Issue
