"""How the page of a frontier looks, in the colours of the report: light, dark, narrow and printed."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --page: #f4f7fa; --edge: #d9e0e8; --soft: #eef2f6; --ink: #22303f;
  --faint: #586878; --good: #1b7757; --good-soft: #e6f4ee; --bad: #b3253c; --bad-soft: #fbe9ec; --m0: #2f7fd6;
  --m1: #e08a1e; --m2: #2a9d76; --m3: #c8509b; --m4: #7a62d3; --m5: #d1495b }
@media (prefers-color-scheme: dark) { :root { --paper: #1a212c; --page: #11161e; --edge: #2f3a49; --soft: #222b38;
  --ink: #e6edf5; --faint: #9aa8b8; --good: #63cfa5; --good-soft: #17322b; --bad: #ff8094; --bad-soft: #3a1d26;
  --m0: #5a9fe8; --m1: #eda24a; --m2: #46b892; --m3: #dd76b6; --m4: #9a86e6; --m5: #e8707f } }
* { box-sizing: border-box }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif }
main { max-width: 960px; margin: 0 auto; padding: 40px 24px 64px }
h1, h2 { line-height: 1.25; margin: 0; font-weight: 650; letter-spacing: -0.01em; overflow-wrap: anywhere }
h1 { font-size: 27px }
h2 { font-size: 21px; margin-bottom: 6px }
p { margin: 0 0 10px; max-width: 68ch; overflow-wrap: anywhere }
section { margin-top: 44px }
.eyebrow { color: var(--faint); font-size: 13px; letter-spacing: 0.06em; text-transform: uppercase; margin: 0 0 12px }
.eyebrow span + span::before { content: "·"; margin: 0 8px }
.verdict { background: var(--good-soft); border-left: 5px solid var(--good); border-radius: 10px; padding: 26px 28px }
.verdict.bad { background: var(--bad-soft); border-color: var(--bad) }
.verdict p { margin: 10px 0 0 }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); gap: 12px; margin: 16px 0 0 }
.facts div { background: var(--paper); border: 1px solid var(--edge); border-radius: 10px; padding: 14px 16px }
.facts dt { color: var(--faint); font-size: 13px }
.facts dd { margin: 2px 0 0; font-size: 24px; font-weight: 650; font-variant-numeric: tabular-nums }
.card { background: var(--paper); border: 1px solid var(--edge); border-radius: 10px; padding: 18px 20px;
  margin: 14px 0 0 }
.rows { display: grid; grid-template-columns: minmax(110px, 170px) 1fr; gap: 9px 20px; margin: 0 }
.rows dt { color: var(--faint); font-size: 14px; padding-top: 1px }
.rows dd { margin: 0 }
figcaption { color: var(--faint); font-size: 14px; margin-top: 8px }
svg.scatter { display: block; width: 100%; max-width: 760px; height: auto; margin: 0 auto }
.grid { stroke: var(--edge); stroke-width: 1 }
.tick, .axis, .label { font: 11px system-ui, "Liberation Sans", sans-serif; fill: var(--faint) }
.axis { font-size: 12px }
.label { fill: var(--ink) }
.frontier { fill: none; stroke: var(--faint); stroke-width: 1.4; stroke-dasharray: 4 3 }
.ring { fill: none; stroke: var(--bad); stroke-width: 2.2; pointer-events: none }
.point circle, .point polygon { stroke: var(--paper); stroke-width: 0.8 }
.point.dim { opacity: 0.45 }
.point.weak circle, .point.weak polygon { fill: none; stroke: var(--faint) }
.m0 { fill: var(--m0) } .m1 { fill: var(--m1) } .m2 { fill: var(--m2) } .m3 { fill: var(--m3) } .m4 { fill: var(--m4) }
.m5 { fill: var(--m5) }
.key { display: flex; flex-wrap: wrap; gap: 2px 18px; list-style: none; margin: 8px 0; padding: 0; color: var(--ink) }
.key svg { vertical-align: -2px }
.wide { overflow-x: auto }
table { border-collapse: collapse; width: 100%; font-size: 14.5px; font-variant-numeric: tabular-nums }
thead th { color: var(--faint); font-size: 13px; font-weight: 500; border-bottom: 1px solid var(--edge) }
th, td { padding: 6px 10px; text-align: right; white-space: nowrap }
th:first-child, td:first-child, th:last-child, td:last-child { text-align: left }
td:last-child { white-space: normal; color: var(--faint) }
tbody tr + tr > * { border-top: 1px solid var(--soft) }
tr.front td { background: var(--soft) }
tr.best td { background: var(--good-soft); font-weight: 650 }
code { font: 0.93em/1.4 ui-monospace, "SFMono-Regular", Menlo, Consolas, "Liberation Mono", monospace }
pre { margin: 0 0 12px; white-space: pre-wrap; overflow-wrap: anywhere; background: var(--soft); border-radius: 8px;
  padding: 10px 12px; font: 13px/1.5 ui-monospace, "SFMono-Regular", Menlo, Consolas, "Liberation Mono", monospace }
ul { padding-left: 20px; margin: 0 }
li { overflow-wrap: anywhere }
@media (max-width: 560px) { main { padding: 24px 14px 40px } .verdict { padding: 18px } .card { padding: 14px 12px }
  .rows { grid-template-columns: 1fr; gap: 2px } .rows dd { margin-bottom: 8px }
  .tick, .label { font-size: 14px } .axis { font-size: 15px } th, td { padding: 6px 7px } }
@media print { :root { color-scheme: light; --paper: #fff; --page: #fff; --edge: #bbb; --soft: #f2f2f2; --ink: #000;
  --faint: #444; --good: #1b7757; --good-soft: #f2f7f4; --bad: #b3253c; --bad-soft: #fff }
  body { font-size: 11pt; print-color-adjust: exact } main { max-width: none; padding: 0 } section { margin-top: 20pt }
  figure, tr, pre, .verdict { break-inside: avoid } h2 { break-after: avoid } .wide { overflow: visible }
  table { font-size: 9pt } th, td { padding: 3pt 4pt } }
"""
