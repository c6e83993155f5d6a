"""The exceptions. Model output raises none of them in lossless mode; they mean misuse by the caller."""

from __future__ import annotations


class QwenParseError(Exception):
    """Base of every exception of this package."""


class ParserClosed(QwenParseError):
    """`feed` or `feed_ids` after `close`."""


class FormatError(QwenParseError, ValueError):
    """An unknown format, policy value or renderer name, or a tool without a name."""


class TemplateError(QwenParseError, ValueError):
    """A chat template refused its input, or its engine failed.

    `kind` is `"template"` for the template's own refusal (`str(e)` is then exactly its text) and `"engine"`
    for a failure of the engine that runs it; `type` is the name of the exception class the engine raises.
    `hint` says what may help, where something is known to.
    """

    hint: str | None = None

    def __init__(self, message: str, *, kind: str = "template", type: str = "TemplateError") -> None:
        super().__init__(message)
        self.kind = kind
        self.type = type


class ReplayError(QwenParseError, ValueError):
    """A stored turn (blob) that fails its checks."""
