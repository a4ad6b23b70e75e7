"""A plot of cost against size as SVG, without a library: lines on two logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

_WIDTH, _HEIGHT = 860, 460
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 240, 40, 50
_COLOURS = ("#1b6ca8", "#c8553d", "#588b4a", "#8d5a97", "#b8860b", "#444444")

Points = Sequence[tuple[float, float]]


def svg(title: str, horizontal: str, vertical: str, lines: Mapping[str, Points]) -> str:
    """The document. Each line is its name and its points, all of them above zero."""
    across = _Axis([x for points in lines.values() for x, _ in points], _LEFT, _WIDTH - _RIGHT)
    up = _Axis([y for points in lines.values() for _, y in points], _HEIGHT - _BOTTOM, _TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        _text(_LEFT, 22, title, 'font-size="15"'),
        _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 12, horizontal, 'text-anchor="middle"'),
        _text(_LEFT - 62, _TOP - 12, vertical),
    ]
    for value in across.decades():
        x = across.place(value)
        parts.append(_line(x, _TOP, x, _HEIGHT - _BOTTOM))
        parts.append(_text(x, _HEIGHT - _BOTTOM + 18, f"{value:,.0f}", 'text-anchor="middle"'))
    for value in up.decades():
        y = up.place(value)
        parts.append(_line(_LEFT, y, _WIDTH - _RIGHT, y))
        parts.append(_text(_LEFT - 8, y + 4, f"{value:,g}", 'text-anchor="end"'))
    for number, (name, points) in enumerate(lines.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        places = [(across.place(x), up.place(y)) for x, y in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        legend = _TOP + 14 + 20 * number
        parts.append(_text(_WIDTH - _RIGHT + 16, legend, name, f'fill="{colour}"'))
    return "\n".join([*parts, "</svg>"]) + "\n"


class _Axis:
    """Places values between two ends, tenfold steps apart alike."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        self._low = math.floor(math.log10(min(values)))
        self._high = max(self._low + 1, math.ceil(math.log10(max(values))))
        self._start, self._end = start, end

    def place(self, value: float) -> float:
        part = (math.log10(value) - self._low) / (self._high - self._low)
        return self._start + part * (self._end - self._start)

    def decades(self) -> list[float]:
        return [10.0**power for power in range(self._low, self._high + 1)]


def _line(x: float, y: float, to_x: float, to_y: float) -> str:
    return f'<path d="M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}" stroke="#dddddd"/>'


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(text)}</text>'
