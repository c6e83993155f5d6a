"""Drift as a page: one file without scripts or outside resources, light and dark.

For each case a strip that shows how much of prompt and turn is still the beginning of the next prompt, and the two texts
under each other with every changed character marked; for a corpus a chart of the causes first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from html import escape

from ..common import common_prefix
from .corpus import Case, Summary
from .frames import frames
from .report import MEANING, Drift
from .style import STYLE

_CONTEXT = 3
"""Equal lines shown on each side of a change."""
_MAX_SHOWN = 6000
"""Code points of a turn that are shown on each side."""
_PIECE = re.compile(r"<[^<>\s]{1,40}>|\w+|\s|.", re.DOTALL)
_VISIBLE = {"\n": "⏎", "\r": "␍", "\t": "⇥", " ": "·", "\v": "␋", "\f": "␌", "\x00": "␀"}


_NOTE = (
    "“Kept” is what the next prompt begins with; whether it is still cached is the engine’s affair. "
    "A hybrid model goes back to its last checkpoint before the difference, which may be the beginning of the prompt."
)


def page(cases: Sequence[Case], *, title: str = "Drift") -> str:
    """The page of one case, or of a corpus."""
    if len(cases) == 1:
        body = f"<h1>{escape(title)}</h1><p class=soft>{escape(cases[0].name)}</p>{_card(cases[0])}"
    else:
        body = f"<h1>{escape(title)}</h1>{_chart(cases)}" + "".join(map(_folded, _worst_first(cases)))
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>{escape(title)}</title><style>{STYLE}</style><main>{body}<footer>{_NOTE}</footer></main></html>\n"
    )


def _worst_first(cases: Sequence[Case]) -> Iterable[Case]:
    return sorted(cases, key=lambda case: (not case.drift, -(case.drift.lost_tokens or 0)))


def _folded(case: Case) -> str:
    drift = case.drift
    lost = "" if not drift or drift.lost_tokens is None else f" <span class=soft>{drift.lost_tokens:,} tokens lost</span>"
    return f"<details><summary>{escape(case.name)}{lost} {_chip(drift)}</summary>{_card(case)}</details>"


def _chip(drift: Drift) -> str:
    return f"<span class='chip{'' if drift else ' ok'}'>{drift.cause if drift else 'unchanged'}</span>"


def _card(case: Case) -> str:
    drift = case.drift
    later = "".join(f"<span class='chip later'>then {cause}</span>" for cause in drift.later)
    meaning = MEANING[drift.cause] if drift else "the next prompt begins with all of it"
    evidence = f"<p class=soft><code>{escape(drift.evidence)}</code></p>" if drift.evidence else ""
    return (
        f"<section class=card><div class=head>{_chip(drift)}<h2>{escape(meaning)}</h2>{later}</div>{evidence}"
        f"{_figures(drift)}{_strip(case)}{_texts(case)}</section>"
    )


def _figures(drift: Drift) -> str:
    found: list[tuple[str, str]] = []
    if drift.equal_prefix_tokens is not None:
        found.append((f"{drift.equal_prefix_tokens:,}", "tokens kept"))
    elif drift.equal_prefix_bytes is not None:
        found.append((f"{drift.equal_prefix_bytes:,}", "bytes kept"))
    if drift.lost_tokens is not None:
        found.append((f"{drift.lost_tokens:,}", "tokens lost"))
    if drift.lost_share is not None and drift:
        found.append((f"{drift.lost_share:.0%}", "of the turn lost"))
    if drift.first_diff_byte is not None:
        inside = "" if drift.first_diff_byte_in_turn is None else f", {drift.first_diff_byte_in_turn:+,} in the turn"
        found.append((f"{drift.first_diff_byte:,}", f"first differing byte{inside}"))
    if drift.first_diff_token is not None:
        inside = "" if drift.first_diff_token_in_turn is None else f", {drift.first_diff_token_in_turn:+,} in the turn"
        found.append((f"{drift.first_diff_token:,}", f"first differing token{inside}"))
    return "<div class=figures>" + "".join(f"<div><b>{n}</b><span>{escape(t)}</span></div>" for n, t in found) + "</div>"


def _strip(case: Case) -> str:
    """Prompt and turn as one bar: what is still the beginning of the next prompt, and what is not."""
    drift = case.drift
    if drift.equal_prefix_tokens is not None and drift.lost_tokens is not None:
        total, kept = drift.equal_prefix_tokens + drift.lost_tokens, drift.equal_prefix_tokens
        turn = None
        if drift.first_diff_token is not None and drift.first_diff_token_in_turn is not None:
            turn = drift.first_diff_token - drift.first_diff_token_in_turn
        elif case.before is not None and case.start is not None:
            turn = round(total * case.start / max(1, len(case.before)))
        unit = "tokens"
    elif case.before is not None and drift.equal_prefix_bytes is not None:
        total, kept = len(case.before.encode("utf-8", "replace")), drift.equal_prefix_bytes
        turn = None if case.start is None else len(case.before[: case.start].encode("utf-8", "replace"))
        unit = "bytes"
    else:
        return ""
    total = max(total, 1)
    turn = total if turn is None else min(max(turn, 0), total)
    parts = [
        ("kept", min(kept, turn), "prompt, kept"), ("lost", turn - min(kept, turn), "prompt, lost"),
        ("kept turn", max(0, kept - turn), "turn, kept"), ("lost", total - max(kept, turn), "turn, lost"),
    ]  # fmt: skip
    bar = "".join(
        f"<i class='{kind}' style='width:{size / total:.3%}' title='{label}: {size:,} {unit}'></i>"
        for kind, size, label in parts
        if size > 0
    )
    at = turn / total
    marks = f"<span style='left:0'>prompt {turn:,} {unit}</span>"
    if turn < total:
        side = " class=r" if at > 0.75 else ""
        marks = "<span style='left:0'>prompt</span>" if at > 0.12 else ""
        marks += f"<span{side} style='left:{min(at, 0.995):.3%}'>{'turn ▸' if at > 0.75 else '▏turn'}</span>"
        if at < 0.9 or at > 0.97:
            marks += f"<span class=r style='left:100%'>{total:,} {unit}</span>" if at < 0.6 else ""
    return f"<div class=strip><div class=bar>{bar}</div><div class=marks>{marks}</div></div>"


def _texts(case: Case) -> str:
    """The turn as it was and as it is, with what changed marked; the head, where that is what changed."""
    if case.before is None or case.after is None or not case.drift:
        return ""
    before, after = case.before, case.after
    equal = common_prefix(before, after)
    start, old_end, new_end = _window(before, after, equal)
    old, new = before[start:old_end], after[start:new_end]
    if not old.endswith("\n"):
        new = new.removesuffix("\n")  # the turn ends with its stop token, the template's frame with a newline
    rows = _aligned(old[:_MAX_SHOWN], new[:_MAX_SHOWN])
    if max(len(old), len(new)) > _MAX_SHOWN:
        rows += "<tr><td class=skip colspan=2>… cut</td></tr>"
    return f"<table class=texts><tr><th>was</th><th>is now</th></tr>{rows}</table>"


def _window(before: str, after: str, equal: int) -> tuple[int, int, int]:
    """The message in which the difference lies, on both sides; a long one from near the difference on."""
    old, new = frames(before), frames(after)
    mine = next((f for f in reversed(old) if f.start <= equal), None)
    theirs = next((f for f in reversed(new) if f.start <= equal), None)
    start = mine.start if mine is not None else 0
    start = max(start, equal - _MAX_SHOWN // 3)
    return start, mine.end if mine is not None else len(before), theirs.end if theirs is not None else len(after)


def _aligned(old: str, new: str) -> str:
    """Both texts line by line beside each other; equal lines once, long runs of them folded."""
    one, other = old.splitlines(keepends=True), new.splitlines(keepends=True)
    opcodes = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    rows: list[str] = []
    for number, (tag, a, b, c, d) in enumerate(opcodes):
        if tag == "equal":
            head = 0 if number == 0 else _CONTEXT
            tail = 0 if number == len(opcodes) - 1 else _CONTEXT
            skipped = b - a - head - tail
            for k in range(a, b):
                if skipped > 2 and head <= k - a < head + skipped:
                    if k - a == head:
                        rows.append(f"<tr><td class=skip colspan=2>{skipped} equal lines</td></tr>")
                    continue
                rows.append(f"<tr><td colspan=2><pre>{_equal_text(one[k])}</pre></td></tr>")
            continue
        left, right = _marked("".join(one[a:b]), "".join(other[c:d]))
        rows.append(f"<tr class=changed><td><pre>{left}</pre></td><td><pre>{right}</pre></td></tr>")
    return "".join(rows)


def _marked(old: str, new: str) -> tuple[str, str]:
    """Two texts with what is only in one of them marked."""
    one, other = _PIECE.findall(old), _PIECE.findall(new)
    left: list[str] = []
    right: list[str] = []
    junk = len(one) * len(other) > 4_000_000
    for tag, a, b, c, d in SequenceMatcher(None, one, other, autojunk=junk).get_opcodes():
        if tag == "equal":
            text = _plain("".join(one[a:b]))
            left.append(text)
            right.append(text)
            continue
        left.append(f"<span class=gone>{_shown(''.join(one[a:b]))}</span>" if b > a else "<span class=here></span>")
        right.append(f"<span class=came>{_shown(''.join(other[c:d]))}</span>" if d > c else "<span class=here></span>")
    return "".join(left), "".join(right)


def _plain(text: str) -> str:
    return escape(_safe(text)).replace("\n", "<span class=w>⏎</span>\n")


def _equal_text(text: str) -> str:
    return f"<span class=eq>{_plain(text)}</span>"


def _safe(text: str) -> str:
    return "".join(
        f"\\x{ord(c) - 0xDC00:02x}" if 0xDC80 <= ord(c) <= 0xDCFF else "\ufffd" if 0xD800 <= ord(c) <= 0xDFFF
        else _VISIBLE[c] if c in "\r\t\v\f\x00" else c
        for c in text
    )  # fmt: skip


def _shown(text: str) -> str:
    """Changed text: every character of it visible."""
    return "".join(
        "⏎\n" if c == "\n" else escape(_VISIBLE.get(c, _safe(c)) if c != " " else "·") for c in text
    )


def _chart(cases: Sequence[Case]) -> str:
    summary = Summary.of(cases)
    rows = summary.rows()
    most = max((count.cases + count.later for count in rows), default=1)
    share = summary.kept / summary.cases if summary.cases else 1.0
    bar = (
        f"<i class=kept style='width:{share:.2%}'></i><i class=lost style='width:{1 - share:.2%}'></i>"
        if share < 1 else "<i class=kept style='width:100%'></i>"
    )  # fmt: skip
    lines = []
    for count in rows:
        parts = (("hbar", count.cases, "first cause"), ("hbar l", count.later, "behind another cause"))
        bars = "".join(
            f"<div class='{kind}' style='width:{size / most:.2%}' title='{label}'></div>"
            for kind, size, label in parts
            if size
        )
        mean = "" if count.mean_share is None else f"{count.mean_share:.0%}"
        lost = f"{count.lost_tokens:,}" if count.counted else ""
        lines.append(
            f"<tr><td><code>{count.cause}</code><div class=soft>{escape(MEANING[count.cause])}</div></td>"
            f"<td class=w40><div class=two>{bars}</div></td><td class=n>{count.cases}</td>"
            f"<td class=n>{count.later or ''}</td><td class=n>{lost}</td><td class=n>{mean}</td></tr>"
        )
    table = (
        "<table><tr><th>cause</th><th>turns</th><th class=n>first</th><th class=n>later</th><th class=n>lost tokens</th>"
        f"<th class=n>of the turn</th></tr>{''.join(lines)}</table>"
        if lines else ""
    )  # fmt: skip
    lost_tokens = sum(count.lost_tokens for count in rows)
    figures = [(f"{summary.cases:,}", "turns"), (f"{summary.kept:,}", "came back unchanged"), (f"{share:.0%}", "of all")]
    if lost_tokens:
        figures.append((f"{lost_tokens:,}", "tokens lost"))
    shown = "".join(f"<div><b>{n}</b><span>{t}</span></div>" for n, t in figures)
    return (
        f"<section class=card><div class=figures style='margin-top:0'>{shown}</div>"
        f"<div class=strip><div class=bar>{bar}</div></div>{table}</section>"
    )
