"""The passage of a content that a text was found in, for people to read."""

from __future__ import annotations

import re
from typing import Any

from pamctl.index.content_text import content_text
from pamctl.index.lexical import Sought, sought
from pamctl.index.word_forms import folded, is_unspaced
from pamctl.limits import SNIPPET_CHARS

_WORD = re.compile(r"[^\W_]+")
_BREAK = re.compile(r"\s+")
# A text is looked through from its beginning, and no further than this many words.
_WORDS_MAX = 20_000


def snippet(text: str, content: Any) -> dict[str, Any]:
    """Where `text` was found in `content`: a passage of at most limits.SNIPPET_CHARS
    characters in one line, with as many different matches as there are near each other, and
    their places in it, each `[start, end]` in characters.

    An empty passage without matches where only names of members match.
    """
    strings, _ = content_text(content)
    terms = sought(text)
    found = _matches(strings, terms)
    if not found:
        return {"text": "", "matches": []}
    first, last = _densest(found)
    start, end = _widened(strings, found[first][0], found[last][1])
    within = [(begin, stop) for begin, stop, _ in found if start <= begin and stop <= end]
    return _in_one_line(strings, start, end, within)


def _matches(strings: str, terms: list[Sought]) -> list[tuple[int, int, int]]:
    """(start, end, number of the term) of every match, in the order of the text."""
    words = []
    for number, word in enumerate(_WORD.finditer(strings)):
        if number == _WORDS_MAX:
            break
        words.append((word.start(), word.end(), folded(word.group())))
    found = []
    for number, term in enumerate(terms):
        if term.unspaced:
            found += [
                (at.start(), at.end(), number)
                for at in re.finditer(re.escape(term.words[0]), strings)
            ]
            continue
        length = len(term.words)
        for place in range(len(words) - length + 1):
            if _is_met(term, [word for _, _, word in words[place : place + length]]):
                found.append((words[place][0], words[place + length - 1][1], number))
    found.sort()
    kept: list[tuple[int, int, int]] = []
    for match in found:
        if not kept or match[0] >= kept[-1][1]:
            kept.append(match)
    return kept


def _is_met(term: Sought, words: list[str]) -> bool:
    *firsts, last = term.words
    if words[:-1] != firsts:
        return False
    return words[-1].startswith(last) if term.prefix else words[-1] == last


def _densest(found: list[tuple[int, int, int]]) -> tuple[int, int]:
    """The first and the last match of the passage that holds most terms, then most matches."""
    best, chosen, last = (0, 0), (0, 0), 0
    for first, (start, _, _) in enumerate(found):
        last = max(last, first)
        while last + 1 < len(found) and found[last + 1][1] - start <= SNIPPET_CHARS:
            last += 1
        inside = found[first : last + 1]
        score = (len({number for _, _, number in inside}), len(inside))
        if score > best:
            best, chosen = score, (first, last)
    return chosen


def _widened(strings: str, start: int, end: int) -> tuple[int, int]:
    """A passage with some of what stands around it, to whole words."""
    room = max(SNIPPET_CHARS - (end - start), 0)
    first = max(start - room // 3, 0)
    last = min(end + room - (start - first), len(strings))
    if first:
        space = _BREAK.search(strings, first, start)
        first = start if space is None else space.end()
    if last < len(strings):
        spaces = [space.start() for space in _BREAK.finditer(strings, end, last)]
        last = last if is_unspaced(strings[end:last]) else (spaces[-1] if spaces else end)
    return first, last


def _in_one_line(
    strings: str, start: int, end: int, matches: list[tuple[int, int]]
) -> dict[str, Any]:
    """The passage with every run of blanks as one, and the matches where they are then."""
    line, places, at = "…" if start else "", [], start
    for begin, stop in matches:
        line += _BREAK.sub(" ", strings[at:begin])
        matched = _BREAK.sub(" ", strings[begin:stop])
        places.append([len(line), len(line) + len(matched)])
        line += matched
        at = stop
    line += _BREAK.sub(" ", strings[at:end]) + ("…" if end < len(strings) else "")
    return {"text": line, "matches": places}
