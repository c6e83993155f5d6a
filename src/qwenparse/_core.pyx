# cython: language_level=3, binding=False, embedsignature=True, embedsignature.format=clinic
# cython: boundscheck=False, wraparound=False, initializedcheck=False, autotestdict=False
# cython: freethreading_compatible=True
"""The lossless streaming parser.

Theory of operation
-------------------
The input is cut into regions, gap-free; a region is reported once it is certain and never changed. `_Machine` scans and
decides; `Parser` and `DeltaParser` only shape what it reports.

The machine is one class, written as a chain of them in `machine/`, each of which knows only those before it:

    words, token_rows           tags, states, kinds; a token table as the machine reads it, ids checked against it
    state                       all fields of a turn in the making
    lexemes, json_block         scanning: what stands at a place
    decide                      deciding: what it means. Cannot report, nor move on
    reports                     records, events, deltas
    text, calls, functions,     acting on what was decided
    json_calls, sections
    window                      what was held and what was fed
    feeding, ids, prefix        front ends: text and bytes, token ids, what the prompt has written
    results                     what can be asked between two pieces

It is one file to C, so a call from one to another costs what a call costs.

Scanning. `_run` works on a *window*: the piece that was fed, or, if something was held, `buffer` (what was held, then
the piece). In it [p, t) is text that is certain and not reported yet, [t, i) is whitespace (and closers behind a call)
that may turn out to be layout, and i is the next character. Between '<'s there is nothing to decide, so each `_run_*`
jumps from one '<' to the next, or to where a JSON block stops, and asks its `_decide_*` what that is.

Deciding. A candidate is up to four lexemes, read on demand and in order: the tag at i (`tag`), whitespace (`ws`), the
tag behind it (`tag2`), whitespace (`ws2`). `_decide_*` look at the state, at these and at nothing else; they change
nothing but the lexemes' caches and return an action (A_*). Their rows are those of docs/format.md. "Undecided" (A_HOLD)
means that the window ends inside a lexeme and the turn goes on; with `closing` set nothing is undecided.

Held. Only [p, n) of the window is kept between two calls: at most a candidate, that is three whitespace runs of a
window each and their tags; in a value one newline. A JSON block is held until its name is known (`_json_head`), at most
`max_held`, and then read a second time, reporting.

Why O(n). A lexeme remembers where it stopped (`Lex.at`, `ws`, `j_at`); a candidate that grows goes on there. A rejected
candidate becomes text up to its second character and the scan goes on behind it; tags hold no '<', so each character is
read by a bounded number of candidates. Joining costs what is held, which is bounded, or amortised by the buffer.

Fast path (`_whole_text`). Nothing held, no '<', no whitespace at the end (in a value: no newline), text already seen:
the piece is one region and its event carries the very object that was fed. Inside a string of JSON arguments that is
any piece without a quote, escapes whole. A piece without '<' that ends in whitespace, or comes behind some that is held,
is not that simple but needs no machine either (`_plain_piece`).

A prefix (text the prompt wrote of this turn) is read by the same machine first; then positions are shifted so that the
completion begins at 0, and what lies before 0 is clipped from reports.
"""

cimport cython
from cpython.buffer cimport PyBUF_RECORDS_RO, PyBUF_SIMPLE, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.object cimport PyObject
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memmove, strchr, strlen

from qwenparse._events cimport (
    ArgumentDelta, ArgumentEnd, ArgumentStart, Delta, Event, Issue, Markup, ToolCallEnd, ToolCallStart,
    argument_delta, content_delta, markup, reasoning_delta,
)
from qwenparse._json cimport (
    J_AFTER, J_DONE, J_ESCAPE, J_EXP, J_FRAC, J_HEX, J_INT, J_KEY_OR_END, J_STRING, J_ZERO,
    JE_DONE, JE_END, JE_END_BEFORE, JE_FAULT, JE_KEY, JE_KEY_START, JE_MEMORY, JE_NONE, JE_START,
    Json, is_json_ws, is_simple_escape, json_copy, json_init, json_step,
)
from qwenparse._scan cimport (
    LINE_PLAIN, Line, PyUnicode_DATA, PyUnicode_DecodeUTF8Stateful, PyUnicode_FromKindAndData, PyUnicode_GET_LENGTH,
    PyUnicode_IS_ASCII, PyUnicode_KIND, PyUnicode_New, PyUnicode_READ, PyUnicode_Substring,
    blanks_since_newline, characters, find_char, find_quote, holds, holds_broken, is_text, is_ws, line_feed,
    line_reset, name_end,
)

import os
from collections import deque
from json import JSONDecoder
from operator import index as operator_index
from random import Random

from . import errors, formats
from ._events import _make

include "machine/words.pxi"
include "machine/token_rows.pxi"
include "machine/state.pxi"
include "machine/lexemes.pxi"
include "machine/json_block.pxi"
include "machine/decide.pxi"
include "machine/reports.pxi"
include "machine/text.pxi"
include "machine/calls.pxi"
include "machine/functions.pxi"
include "machine/json_calls.pxi"
include "machine/sections.pxi"
include "machine/window.pxi"
include "machine/feeding.pxi"
include "machine/ids.pxi"
include "machine/prefix.pxi"
include "machine/results.pxi"

cdef class _Machine(_Results):
    """One turn being read. `Parser` and `DeltaParser` are this with two shapes of result."""

    @classmethod
    def for_prompt(cls, prompt, /, *, format=None, **settings):
        """A parser for the turn that a rendered prompt leaves open.

        `prompt` is the text, or the token ids with `tokens=`. What stands behind the last assistant header (a
        `<think>`, a prefill) is read first, so that the state is right; it is kept as `gen_prefix`. Without `format`
        the format is taken from the tool instructions and that tail.
        """
        cdef _Machine self
        format, tail = _open_turn(prompt, format, settings.get("tokens"))
        self = cls(format, **settings)
        if tail is not None:
            self._prefix(tail, settings.get("start") is None)
        return self

    cdef object _take(self):
        """What this call of `feed` or `close` reports."""
        cdef list out = self.out
        if self.mode == MODE_DELTA:
            return self._take_delta()
        if out is None:
            return ()
        self.out = None
        return out

    @cython.critical_section
    def feed(self, data, /):
        """More of the completion, `str` or bytes; what it decides. Raises `ParserClosed` after `close`."""
        cdef int kind
        cdef str s
        if type(data) is str:
            kind = self._whole_text(<str> data, FED_STR)
            if kind >= 0:
                return self._whole(<str> data, kind)
            self._may_feed(FED_STR)
            self._input(<str> data)
            return self._take()
        elif type(data) is bytes:
            s = self._piece_of(<bytes> data, len(<bytes> data), FED_BYTES)
            if s is not None:
                kind = self._whole_text(s, FED_BYTES)
                if kind >= 0:
                    return self._whole(s, kind)
                self._input(s)
                return self._take()
        self._input_object(data)
        return self._take()

    @cython.critical_section
    def feed_ids(self, ids, /):
        """More of the completion as token ids: a list, an array or one int. Needs `tokens=`.

        Raises `ValueError` for an id outside the table, before any of the list is consumed. A stop id ends the turn.
        """
        cdef int kind
        cdef str s = self._piece_of_id(ids) if type(ids) is int else None
        if s is None:
            self._input_ids(ids)
            return self._take()
        kind = self._whole_text(s, FED_IDS)
        if kind >= 0:
            return self._whole(s, kind)
        self._input(s)
        return self._take()

    @cython.critical_section
    def close(self, *, stop="none", text=None):
        """The end of the completion: gives back everything held. Later calls return () or None.

        `stop`: `"im_end"` or `"other_stop"` if the model ended the turn (its text, or `text`, becomes the last
        region), `"none"` if it was cut: length limit, cancelled, stop string, unknown.
        """
        self._close(stop, text)
        return self._take()

    @cython.critical_section
    def reset(self):
        """The same settings, a new turn. What a prompt began is forgotten: the turn starts where the format says."""
        self._must_be_free(True)
        self._begin()

    def copy(self):
        """An independent parser in the same state."""
        cdef _Machine other = type(self).__new__(type(self))
        with cython.critical_section(self):
            self._must_be_free(True)
            other._copy_from(self)
        return other

    def __copy__(self):
        return self.copy()


@cython.final
cdef class Parser(_Machine):
    """Reads one completion in any pieces and reports events.

    Every character belongs to exactly one event; the events do not depend on how the input was cut. No text raises.

    `format` is a name or `Format` (docs/format.md lists them). `tools` are the tools of the request: None if they are
    not known, `[]` if there are none. `start` says where the completion begins (None: as the format says);
    `Parser.for_prompt` takes it from the rendered prompt and is the better way. `tokens` is a `TokenTable`, needed by
    `feed_ids`; with `tags="ids"` the tags of the vocabulary count only where their own id was sampled. `max_held`
    bounds, in code points, a JSON call whose name has not come and a value that must be whole before it is typed.

    Raises `FormatError` for an unknown format, start or tool.

    >>> import qwenparse
    >>> p = qwenparse.Parser("qwen3.5", start="content")
    >>> p.feed("Hi")
    [ContentDelta(text='Hi', start=0, end=2)]
    """

    def __cinit__(self):
        self.mode = MODE_EVENTS


@cython.final
cdef class DeltaParser(_Machine):
    """The same machine as `Parser`, with one coalesced `Delta` per call, or None."""

    def __cinit__(self):
        self.mode = MODE_DELTA


@cython.final
cdef class _Recorder(_Machine):
    """The machine without events, for `parse`."""

    def __cinit__(self):
        self.mode = MODE_NONE


def parse(text, format, *, tools=None, start=None, policy=None, stop="none", stop_text=None, **settings):
    """The `Turn` of a whole completion, `str` or bytes. Takes what `Parser` takes, and how the turn ended: `stop`, and with
    `"other_stop"` its text.

    >>> import qwenparse
    >>> qwenparse.parse("Plan.\\n</think>\\n\\nHi", "qwen3.5").content
    'Hi'
    """
    cdef _Machine m = _Recorder(format, tools=tools, start=start, policy=policy, **settings)
    m._input_object(text)
    m._close(stop, stop_text)
    return m.turn


def _replay(format, gen_prefix, text, stop, *, prefixed=None, stop_text=None, trailing="", evidence=None, unknown=(),
            ids=None, **settings):
    """A Turn from its record: the prefix, the text as `str`, then the end.

    `prefixed` and `evidence` are those of `_origin`, `unknown` are the (position, text) of ids without bytes, in order;
    `ids` are kept with the turn.
    """
    cdef _Machine m = _Recorder(format, **settings)
    cdef Py_ssize_t at = 0
    cdef Py_ssize_t position
    cdef unsigned int one
    if evidence is not None:
        m.by_id = True
        m.id_tags = evidence[0]
    if prefixed is not None:
        m._prefix(gen_prefix, prefixed)
    if evidence is not None:
        for position in evidence[1]:
            m._mark_certain(position)
            m._keep_mark(position)
    m._may_feed(FED_STR)
    for position, note in unknown:
        m._input(text[at:position])
        m._later(m.base + m.n, "unknown-token", note)
        at = position
    m._input(text[at:] if at else text)
    m._finish(stop, IM_END if stop == "im_end" else ENDOFTEXT if stop_text is None else stop_text)
    m._append_region(trailing, K_TRAILING)
    if ids is not None:
        for one in ids:
            m._record_ids(&one, 1)
        m.fed = FED_IDS
    return m.turn
