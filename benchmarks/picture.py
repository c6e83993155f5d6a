"""A bar chart as SVG, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Bar:
    label: str
    value: float
    """Positive; drawn on a logarithmic scale."""
    note: str
    strong: bool
    """Drawn in the accent colour."""


def bars(data: Sequence[Bar], title: str, about: str) -> str:
    """An SVG picture of these bars, top to bottom."""
    left, width, row = 250, 470, 26
    low = 10 ** math.floor(math.log10(min(max(b.value, 1) for b in data)))
    high = 10 ** math.ceil(math.log10(max(max(b.value, 10) for b in data)))
    height = 76 + row * len(data) + 24

    def x(value: float) -> float:
        return left + width * math.log(max(value, low) / low) / math.log(high / low)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 {height}" font-family="sans-serif" font-size="13">',
        f'<rect width="900" height="{height}" fill="#fff"/>',
        f'<text x="16" y="26" font-size="16" font-weight="bold">{escape(title)}</text>',
        f'<text x="16" y="46" fill="#666">{escape(about)}</text>',
    ]
    tick = low
    while tick <= high:
        out.append(f'<path d="M{x(tick):.1f} 60V{height - 24}" stroke="#ddd"/>')
        out.append(f'<text x="{x(tick):.1f}" y="{height - 8}" fill="#666" text-anchor="middle">{tick:,}</text>')
        tick *= 10
    for n, bar in enumerate(data):
        y = 66 + n * row
        colour = "#0a7d53" if bar.strong else "#9aa7b4"
        out.append(f'<text x="{left - 8}" y="{y + 14}" text-anchor="end">{escape(bar.label)}</text>')
        out.append(f'<rect x="{left}" y="{y}" width="{x(bar.value) - left:.1f}" height="18" fill="{colour}"/>')
        out.append(f'<text x="{x(bar.value) + 6:.1f}" y="{y + 14}">{bar.value:,.0f} · {escape(bar.note)}</text>')
    return "\n".join([*out, "</svg>", ""])
