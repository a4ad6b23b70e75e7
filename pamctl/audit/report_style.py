"""How the report looks: one style sheet, two palettes, and the pairs of colours that text is
set in, which a test holds to the contrast of WCAG 2.2 AA."""

from __future__ import annotations

LIGHT = {
    "paper": "#fbfaf7",
    "card": "#ffffff",
    "ink": "#1d2327",
    "soft": "#566069",
    "line": "#d9d6cd",
    "band": "#f1eee6",
    "accent": "#0b5d66",
    "bar": "#3f8b93",
    "good": "#1c6b3c",
    "good-band": "#e5f2e8",
    "bad": "#a3231f",
    "bad-band": "#fbe9e6",
    "warn": "#7d4f00",
    "warn-band": "#fbf0d9",
}
DARK = {
    "paper": "#14181b",
    "card": "#1b2125",
    "ink": "#e6e4de",
    "soft": "#a4adb3",
    "line": "#363f45",
    "band": "#232a2f",
    "accent": "#7cc7cf",
    "bar": "#4f9ba4",
    "good": "#84d3a0",
    "good-band": "#17301f",
    "bad": "#ff9d92",
    "bad-band": "#3a1c1a",
    "warn": "#eebf6a",
    "warn-band": "#332712",
}

TEXT_PAIRS: tuple[tuple[str, str], ...] = (
    ("ink", "paper"),
    ("ink", "card"),
    ("ink", "band"),
    ("soft", "paper"),
    ("soft", "card"),
    ("soft", "band"),
    ("accent", "paper"),
    ("accent", "card"),
    ("accent", "band"),
    ("good", "good-band"),
    ("bad", "bad-band"),
    ("warn", "warn-band"),
    ("ink", "good-band"),
    ("ink", "bad-band"),
    ("ink", "warn-band"),
)
"""Text and what is behind it: 4.5 to 1 at least."""

GRAPHIC_PAIRS: tuple[tuple[str, str], ...] = (("bar", "card"), ("accent", "paper"))
"""What is drawn or focused and what is behind it: 3 to 1 at least."""


def _palette(colours: dict[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in colours.items())


STYLE = (
    f"""
:root {{ color-scheme: light dark; {_palette(LIGHT)} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_palette(DARK)} }} }}
"""
    + """
* { box-sizing: border-box; }
html { background: var(--paper); color: var(--ink); -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; max-width: 74rem; padding: 2.5rem 1.5rem 5rem;
  font: 1rem/1.55 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
.skip { position: absolute; left: -200vw; }
.skip:focus { left: 1rem; top: 1rem; background: var(--card); padding: .5rem 1rem; z-index: 2; }
a { color: var(--accent); text-underline-offset: .2em; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 2px; }
h1, h2, h3 { line-height: 1.2; text-wrap: balance; }
h1 { font-size: 2.1rem; letter-spacing: -.02em; margin: 0 0 .25rem; }
h2 { font-size: 1.45rem; letter-spacing: -.01em; margin: 3.25rem 0 .75rem; padding-top: 1rem;
  border-top: 2px solid var(--ink); overflow-wrap: anywhere; }
h3 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
p { margin: .4rem 0 .8rem; max-width: 46rem; }
.kicker { color: var(--soft); font-size: .8rem; font-weight: 600; letter-spacing: .08em;
  text-transform: uppercase; margin: 0 0 .35rem; }
.lead { color: var(--soft); font-size: 1.05rem; overflow-wrap: anywhere; }
.note { color: var(--soft); font-size: .9rem; }
code { font: .86em ui-monospace, "Cascadia Mono", "SF Mono", Menlo, Consolas, monospace;
  overflow-wrap: anywhere; }
.finding { border-left: 4px solid; border-radius: 4px; padding: .7rem 1rem; margin: .6rem 0; }
.verdict { border-left: 6px solid; border-radius: 4px; padding: 1rem 1.25rem; margin: 1.5rem 0; }
.verdict p { margin: .15rem 0; color: var(--ink); }
.verdict .word { font-size: 1.35rem; font-weight: 700; letter-spacing: -.01em; }
.good { background: var(--good-band); border-color: var(--good); }
.good .word, .badge.good { color: var(--good); }
.bad { background: var(--bad-band); border-color: var(--bad); }
.bad .word, .badge.bad { color: var(--bad); }
.warn { background: var(--warn-band); border-color: var(--warn); }
.warn .word, .badge.warn { color: var(--warn); }
.badge { display: inline-block; border-radius: 3px; padding: .05rem .5rem; font-size: .82rem;
  font-weight: 650; white-space: nowrap; }
.badge.plain { background: var(--band); color: var(--soft); }
.tiles { display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: .75rem;
  margin: 1.5rem 0; padding: 0; list-style: none; }
.tiles li { background: var(--card); border: 1px solid var(--line); border-radius: 6px;
  padding: .8rem 1rem; }
.tiles b { display: block; font-size: 1.7rem; font-weight: 650; letter-spacing: -.02em;
  line-height: 1.15; font-variant-numeric: tabular-nums; }
.tiles span { color: var(--soft); font-size: .86rem; }
nav ol { display: flex; flex-wrap: wrap; gap: .35rem 1.75rem; list-style: none; padding: 0;
  margin: 1.25rem 0 0; }
nav li { overflow-wrap: anywhere; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px;
  background: var(--card); margin: .5rem 0 1.25rem; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
caption { text-align: left; padding: .6rem .8rem; color: var(--soft); font-size: .86rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .8rem;
  border-top: 1px solid var(--line); overflow-wrap: break-word; min-width: 5.5rem; }
thead th { background: var(--band); font-size: .8rem; color: var(--soft); font-weight: 650; }
tbody th { font-weight: 600; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap;
  min-width: 3.5rem; }
td.t { white-space: nowrap; font-variant-numeric: tabular-nums; }
td.wide { min-width: 15rem; }
td.id, th.id { min-width: 11.5rem; }
td.bar { min-width: 8rem; width: 30%; vertical-align: middle; }
svg { display: block; width: 100%; }
svg.row { height: .7rem; }
svg rect { fill: var(--bar); }
figure { margin: .5rem 0 1.25rem; background: var(--card); border: 1px solid var(--line);
  border-radius: 6px; padding: 1rem; }
figure svg { height: 9rem; }
figcaption { color: var(--soft); font-size: .86rem; margin-top: .6rem; }
.ends { display: flex; justify-content: space-between; color: var(--soft); font-size: .8rem;
  font-variant-numeric: tabular-nums; border-top: 1px solid var(--line); padding-top: .3rem; }
dl { display: grid; grid-template-columns: minmax(8rem, max-content) 1fr; gap: .3rem 1.25rem;
  margin: .75rem 0 1.25rem; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
.finding p { margin: .2rem 0; color: var(--ink); max-width: none; overflow-wrap: anywhere; }
footer { margin-top: 4rem; border-top: 1px solid var(--line); padding-top: 1rem; }
@media (max-width: 40rem) {
  body { padding: 1.25rem 1rem 3rem; }
  h1 { font-size: 1.6rem; }
  .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: .6rem; }
}
@media print {
  :root { color-scheme: light; """
    + _palette({**LIGHT, "paper": "#ffffff"})
    + """ }
  @page { margin: 16mm 14mm; }
  body { max-width: none; padding: 0; font-size: 9.5pt; }
  nav, .skip { display: none; }
  .scroll { overflow: visible; }
  table { font-size: 8.5pt; }
  th, td { min-width: 0; padding: 3pt 5pt; }
  td.wide, td.bar { min-width: 0; }
  td.id, th.id { min-width: 5.5rem; }
  h2 { break-after: avoid; margin-top: 22pt; }
  h3, caption { break-after: avoid; }
  tr, .finding, .verdict, figure, .tiles li { break-inside: avoid; }
  thead { display: table-header-group; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""
)
