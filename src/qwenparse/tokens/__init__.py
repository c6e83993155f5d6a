"""Token ids: what bytes an id stands for, which ids are tags and stops, and how text becomes ids again.

`TokenTable` needs nothing but the standard library. Encoding needs a tokenizer object of the caller
(extra `[tokens]`).
"""

from __future__ import annotations

from .encode import Encoder
from .table import Kind, TokenTable
from .usage import TokenSpan, Usage, token_spans, usage

__all__ = ["Encoder", "Kind", "TokenSpan", "TokenTable", "Usage", "token_spans", "usage"]
