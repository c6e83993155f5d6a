"""The style sheet of drift pages."""

from __future__ import annotations

from typing import Final

STYLE: Final = """
:root {
  color-scheme: light dark; --bg: #f6f7f9; --card: #fff; --ink: #1c2128; --soft: #667080; --line: #dde2e8;
  --kept: #2f9e6e; --kept-soft: #d9f1e5; --lost: #d9485f; --lost-soft: #fde3e7; --old: #ffd3d9; --old-ink: #8a1025;
  --new: #c3ecd5; --new-ink: #0d5c36; --code: #f3f5f8; --accent: #4263eb;
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --bg: #14171c; --card: #1d2128; --ink: #e4e8ee; --soft: #94a0b0; --line: #333a45; --kept: #3fbf86;
    --kept-soft: #1c3a2c; --lost: #f0627a; --lost-soft: #42202a; --old: #6b2433; --old-ink: #ffd9df; --new: #1f5a3c;
    --new-ink: #d2f8e3; --code: #171a20; --accent: #8da2fb;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--bg); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, "DejaVu Sans", sans-serif;
}
main { max-width: 1120px; margin: 0 auto; padding: 32px 20px 60px; }
h1 { font-size: 22px; margin: 0 0 4px; letter-spacing: -.01em; }
h2 { font-size: 16px; margin: 0; }
p { margin: 4px 0; }
pre, code { font: 12.5px/1.6 var(--mono); }
.soft { color: var(--soft); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 18px 20px; margin-top: 18px; }
.head { display: flex; flex-wrap: wrap; gap: 8px 12px; align-items: center; }
.chip {
  font: 600 12.5px/1 var(--mono); padding: 6px 10px; border-radius: 999px; background: var(--lost-soft);
  color: var(--lost);
}
.chip.ok { background: var(--kept-soft); color: var(--kept); }
.chip.later { background: var(--code); color: var(--soft); font-weight: 500; }
.figures { display: flex; flex-wrap: wrap; gap: 10px 36px; margin: 14px 0 4px; }
.figures b { display: block; font-size: 21px; font-variant-numeric: tabular-nums; letter-spacing: -.02em; }
.figures span { color: var(--soft); font-size: 12.5px; }
.strip { margin: 16px 0 6px; }
.bar { display: flex; height: 26px; border-radius: 7px; overflow: hidden; background: var(--code); }
.bar i { display: block; min-width: 2px; border-right: 1px solid var(--card); }
.bar i:last-child { border: 0; }
.kept { background: var(--kept); }
.kept.turn { background: color-mix(in srgb, var(--kept) 70%, var(--card)); }
.lost {
  background: repeating-linear-gradient(135deg, var(--lost) 0 5px,
    color-mix(in srgb, var(--lost) 62%, var(--card)) 5px 10px);
}
.marks { position: relative; height: 18px; font-size: 11.5px; color: var(--soft); }
.marks span { position: absolute; white-space: nowrap; top: 2px; }
.marks span.r { transform: translateX(-100%); }
table { border-collapse: collapse; width: 100%; margin-top: 10px; font-size: 13.5px; }
td, th { text-align: left; padding: 6px 10px 6px 0; border-bottom: 1px solid var(--line); vertical-align: middle; }
th { color: var(--soft); font-weight: 500; font-size: 12px; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
td.w40 { width: 34%; }
table.texts { table-layout: fixed; border: 1px solid var(--line); margin-top: 14px; }
table.texts td, table.texts th { padding: 1px 12px; border: 0; vertical-align: top; width: 50%; }
table.texts th { padding: 7px 12px; background: var(--code); border-bottom: 1px solid var(--line); }
table.texts td + td, table.texts th + th { border-left: 1px solid var(--line); }
table.texts pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
tr.changed td { background: color-mix(in srgb, var(--old) 26%, var(--card)); padding-top: 4px; padding-bottom: 4px; }
tr.changed td + td { background: color-mix(in srgb, var(--new) 30%, var(--card)); }
td.skip { color: var(--soft); background: var(--code); font-size: 12px; text-align: center; padding: 3px !important; }
.eq { color: var(--soft); }
.gone { background: var(--old); color: var(--old-ink); border-radius: 3px; }
.came { background: var(--new); color: var(--new-ink); border-radius: 3px; }
.here { border-left: 2px solid var(--accent); margin-left: -1px; }
.w { opacity: .5; }
.two { display: flex; gap: 2px; }
.hbar { height: 14px; border-radius: 4px; background: var(--lost); min-width: 2px; }
.hbar.l { background: color-mix(in srgb, var(--lost) 35%, var(--card)); }
details { margin-top: 10px; }
summary {
  cursor: pointer; padding: 9px 14px; background: var(--card); border: 1px solid var(--line); border-radius: 10px;
}
summary .chip { float: right; }
details[open] > summary { border-radius: 10px 10px 0 0; }
details .card { margin: 0; border-radius: 0 0 12px 12px; border-top: 0; }
footer { margin-top: 26px; font-size: 12.5px; color: var(--soft); }
"""
