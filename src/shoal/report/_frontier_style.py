"""How the page of a frontier looks: light, dark, narrow and printed."""

from __future__ import annotations

STYLE = """
:root { --paper: #ffffff; --card: #f4f7fa; --edge: #d9e0e8; --ink: #22303f; --faint: #5f6d7c; --accent: #c2334a;
  --m0: #2f7fd6; --m1: #e08a1e; --m2: #2a9d76; --m3: #c8509b; --m4: #7a62d3; --m5: #d1495b; color-scheme: light dark }
@media (prefers-color-scheme: dark) { :root { --paper: #151b24; --card: #1d2530; --edge: #34404f; --ink: #e6edf5;
  --faint: #9aa8b8; --accent: #ff8094; --m0: #5a9fe8; --m1: #eda24a; --m2: #46b892; --m3: #dd76b6; --m4: #9a86e6;
  --m5: #e8707f } }
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif }
main { max-width: 800px; margin: 0 auto; padding: 28px 18px 48px }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 4px }
h2 { font-size: 1.15rem; margin: 28px 0 8px }
p { margin: 6px 0 }
.faint, figcaption { color: var(--faint); font-size: .92rem }
.card { background: var(--card); border: 1px solid var(--edge); border-left: 4px solid var(--m2); border-radius: 8px;
  padding: 14px 18px; margin: 18px 0 }
.card.none { border-left-color: var(--accent) }
.card h2 { margin: 0 0 4px; font-size: 1.35rem }
.figures span { margin-right: 22px; white-space: nowrap }
.figures b { font-size: 1.25rem }
figure { margin: 20px 0 }
svg.scatter { display: block; width: 100%; height: auto }
.grid { stroke: var(--edge); stroke-width: 1 }
.tick, .axis, .label { font: 11px system-ui, sans-serif; fill: var(--faint) }
.axis { font-size: 12px }
.label { fill: var(--ink) }
.frontier { fill: none; stroke: var(--faint); stroke-width: 1.4; stroke-dasharray: 4 3 }
.ring { fill: none; stroke: var(--accent); stroke-width: 2.2; pointer-events: none }
.point circle, .point polygon { stroke: var(--paper); stroke-width: .8 }
.point.dim { opacity: .45 }
.point.weak circle, .point.weak polygon { fill: none; stroke: var(--faint) }
.m0 { fill: var(--m0) } .m1 { fill: var(--m1) } .m2 { fill: var(--m2) } .m3 { fill: var(--m3) } .m4 { fill: var(--m4) }
.m5 { fill: var(--m5) }
.legend { display: flex; flex-wrap: wrap; gap: 2px 18px; list-style: none; margin: 6px 0; padding: 0;
  color: var(--ink) }
.legend svg { vertical-align: -2px }
dt { font-weight: 600 }
dd { margin: 0 0 8px }
.wide { overflow-x: auto }
table { border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums }
th, td { padding: 4px 8px; text-align: right; border-bottom: 1px solid var(--edge); white-space: nowrap }
th:first-child, td:first-child, th:last-child, td:last-child { text-align: left }
td:last-child { white-space: normal; color: var(--faint) }
tr.front td { background: var(--card) }
tr.best td { background: var(--card); font-weight: 700 }
pre { background: var(--card); border: 1px solid var(--edge); border-radius: 6px; padding: 10px 12px; overflow-x: auto;
  font: 13px/1.45 ui-monospace, monospace }
ul { padding-left: 20px }
@media (max-width: 500px) { .tick, .label { font-size: 13px } .axis { font-size: 14px } main { padding: 18px 12px } }
@media print { :root { --paper: #fff; --card: #fff; --edge: #bbb; --ink: #000; --faint: #444; --accent: #a00 }
  body { font-size: 11pt } main { max-width: none; padding: 0 } figure, tr, pre, .card { break-inside: avoid }
  pre { white-space: pre-wrap } .wide { overflow: visible } }
"""
