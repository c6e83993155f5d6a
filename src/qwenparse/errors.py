"""The exceptions. Model output raises none of them in lossless mode; they mean misuse by the caller."""

from __future__ import annotations

from typing import Literal


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


NoExactIds = Literal["text-fed", "prefix-mismatch", "foreign-ids", "unsafe-seam"]


class TokenIdsError(QwenParseError, ValueError):
    """The ids of a prompt cannot be had by appending to those that an engine holds (`Prompt.ids_after`).

    `reason`: `text-fed`, the turn was read as text, so its ids are not known; `prefix-mismatch`, the prompt does not
    begin with the text of the ids; `foreign-ids`, ids and tokenizer are not of one vocabulary; `unsafe-seam`, text goes
    on behind the sampled ids where no token need end. `position`, in code points of the prompt, where there is one.
    """

    def __init__(self, message: str, *, reason: NoExactIds, position: int | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.position = position
