"""Regular expressions that every text is matched against in linear time: I-Regexp (RFC 9485).

A pattern becomes a machine whose size is bounded, and the machine looks at each character of
a text once, in all its states at the same time. It never goes back, so that no pattern and no
text together can take long: there is nothing for an attacker to find.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pamctl.limits import PATTERN_STATES_MAX
from pamctl.named_tuples import NamedTuple

_QUANTIFIERS = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_ESCAPES = {**{char: char for char in "()*+-.?[\\]^{|}"}, "n": "\n", "r": "\r", "t": "\t"}
_SPECIAL = frozenset("()*+.?[\\]{|}")
# Of RFC 9485: the categories of Unicode, and the groups that they form.
_CATEGORIES = {
    "C": "cfon",
    "L": "lmotu",
    "M": "cen",
    "N": "dlo",
    "P": "cdefios",
    "S": "ckmo",
    "Z": "lps",
}
_ADVICE = {
    "d": "write [0-9] or \\p{Nd}",
    "w": "write [A-Za-z0-9_] or [\\p{L}\\p{N}]",
    "s": "write [ \\t\\n\\r] or \\p{Z}",
    "b": "there are no anchors: the pattern is of the whole text",
}
# States that were met together are remembered, so that most steps are one look-up.
_REMEMBERED = 1024

Accepts = Callable[[str], bool]


class PatternError(ValueError):
    """What is no I-Regexp, or too large. position: of the character, in the pattern."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


class _State(NamedTuple):
    """accepts: which characters lead from here to `after`; None where it is left at once, for
    each of `after`. The last state of a machine has none."""

    accepts: Accepts | None
    after: tuple[int, ...]


class Pattern:
    """A compiled I-Regexp. Raises PatternError for what is none, and for one that takes more
    than limits.PATTERN_STATES_MAX states."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._states = _Compiler(text).compile()
        self._last = len(self._states) - 1
        self._first = self._closed((0,))
        self._steps: dict[tuple[frozenset[int], str], frozenset[int]] = {}

    def matches(self, text: str) -> bool:
        """Whether the pattern is of the whole of `text`."""
        standing = self._first
        for character in text:
            standing = self._step(standing, character)
            if not standing:
                return False
        return self._last in standing

    def occurs_in(self, text: str) -> bool:
        """Whether the pattern is of any part of `text`."""
        standing = self._first
        for character in text:
            if self._last in standing:
                return True
            standing = self._step(standing, character) | self._first
        return self._last in standing

    def _step(self, standing: frozenset[int], character: str) -> frozenset[int]:
        met = (standing, character)
        known = self._steps.get(met)
        if known is None:
            if len(self._steps) >= _REMEMBERED:
                self._steps.clear()
            known = self._steps[met] = self._closed(
                after
                for state in standing
                if (accepts := self._states[state].accepts) is not None and accepts(character)
                for after in self._states[state].after
            )
        return known

    def _closed(self, states: Iterable[int]) -> frozenset[int]:
        """Some states, and all that are reached from them without a character."""
        reached: set[int] = set()
        waiting = list(states)
        while waiting:
            state = waiting.pop()
            if state not in reached:
                reached.add(state)
                if self._states[state].accepts is None:
                    waiting += self._states[state].after
        return frozenset(reached)


class _Compiler:
    """Recursive descent over a pattern, one method a rule of the grammar. A piece is compiled
    anew for each time that it may repeat, from its place in the pattern."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._nesting = 0
        self._states: list[_State] = []

    def compile(self) -> list[_State]:
        self._alternatives()
        if self._at < len(self._text):
            raise PatternError("there is a ) without its (", self._at)
        self._states.append(_State(None, ()))
        return self._states

    def _add(self, accepts: Accepts | None, *after: int) -> int:
        if len(self._states) >= PATTERN_STATES_MAX:
            raise PatternError(
                f"the pattern takes more than {PATTERN_STATES_MAX} states "
                "(limits.PATTERN_STATES_MAX)",
                self._at,
            )
        self._states.append(_State(accepts, after))
        return len(self._states) - 1

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _alternatives(self) -> None:
        """Branches between |, laid out one behind the other; each ends behind the last."""
        fork, leaves = self._add(None), []
        branches = [len(self._states)]
        self._branch()
        while self._peek() == "|":
            self._at += 1
            leaves.append(self._add(None))
            branches.append(len(self._states))
            self._branch()
        self._states[fork] = _State(None, tuple(branches))
        for leaf in leaves:
            self._states[leaf] = _State(None, (len(self._states),))

    def _branch(self) -> None:
        while self._peek() not in ("", "|", ")"):
            # A state of its own before each atom: where it may be left out, or begins anew.
            start, gate = self._at, self._add(None)
            self._states[gate] = _State(None, (gate + 1,))
            self._atom()
            self._repeat(start, gate, *self._quantifier())

    def _repeat(self, start: int, gate: int, least: int, most: int | None) -> None:
        """Lay out an atom, which stands once behind its gate, as often as it may repeat."""
        resume = self._at
        skips = [] if least else [gate]
        for done in range(1, least if most is None else most):
            gate = self._add(None)
            if done >= least:
                skips.append(gate)
            self._states[gate] = _State(None, (gate + 1,))
            self._atom_at(start)
        if most is None:
            back = self._add(None)
            self._states[back] = _State(None, (gate, back + 1))
        end = len(self._states)
        for skipped in skips:
            self._states[skipped] = _State(None, (skipped + 1, end))
        if most == 0:
            self._states[gate] = _State(None, (end,))
        self._at = resume

    def _atom_at(self, start: int) -> None:
        self._at = start
        self._atom()

    def _quantifier(self) -> tuple[int, int | None]:
        found = self._peek()
        if found in _QUANTIFIERS and found:
            self._at += 1
            return _QUANTIFIERS[found]
        if found != "{":
            return 1, 1
        opened, end = self._at, self._text.find("}", self._at)
        bounds = self._text[opened + 1 : end].split(",") if end > 0 else []
        if len(bounds) not in (1, 2) or not _is_number(bounds[0]):
            raise PatternError("a { begins {n}, {n,} or {n,m}", opened)
        least = int(bounds[0])
        most: int | None = least
        if len(bounds) == 2:
            if bounds[1] and not _is_number(bounds[1]):
                raise PatternError("a { begins {n}, {n,} or {n,m}", opened)
            most = int(bounds[1]) if bounds[1] else None
        if most is not None and most < least:
            raise PatternError("{n,m} repeats n to m times, and m is smaller", opened)
        self._at = end + 1
        return least, most

    def _atom(self) -> None:
        found, here = self._peek(), self._at
        self._at += 1
        if found == "(":
            self._nesting += 1
            if self._nesting > _NESTING_MAX:
                raise PatternError(f"groups nest deeper than {_NESTING_MAX}", here)
            self._alternatives()
            self._nesting -= 1
            if self._peek() != ")":
                raise PatternError("this ( is not closed", here)
            self._at += 1
            return
        if found == ".":
            accepts: Accepts = _any_but_line_ends
        elif found == "[":
            accepts = self._class(here)
        elif found == "\\":
            accepts = self._escape(here)
        elif found in _SPECIAL:
            raise PatternError(f"{found} stands for itself as \\{found} only", here)
        else:
            accepts = found.__eq__
        state = self._add(accepts)
        self._states[state] = _State(accepts, (state + 1,))

    def _escape(self, here: int) -> Accepts:
        found = self._peek()
        self._at += 1
        if found in ("p", "P"):
            return self._category(here, negated=found == "P")
        if found in _ESCAPES and found:
            return _ESCAPES[found].__eq__
        advice = f": {_ADVICE[found.lower()]}" if found.lower() in _ADVICE and found else ""
        raise PatternError(f"\\{found} is no escape of I-Regexp{advice}", here)

    def _category(self, here: int, *, negated: bool) -> Accepts:
        end = self._text.find("}", self._at)
        name = self._text[self._at + 1 : end] if self._peek() == "{" and end > 0 else ""
        group, kind = name[:1], name[1:]
        if group not in _CATEGORIES or not group or (kind and kind not in _CATEGORIES[group]):
            raise PatternError("\\p takes a category of Unicode, such as \\p{Lu} or \\p{N}", here)
        self._at = end + 1

        def accepts(character: str) -> bool:
            from unicodedata import category

            return category(character).startswith(name) != negated

        return accepts

    def _class(self, here: int) -> Accepts:
        negated = self._peek() == "^"
        self._at += negated
        parts: list[Accepts] = []
        while self._peek() != "]" or not parts:
            if self._peek() in ("", "]"):
                raise PatternError("this [ is not closed, or empty", here)
            parts.append(self._class_part(first=not parts))
        self._at += 1
        if negated:
            return lambda character: not any(accepts(character) for accepts in parts)
        return lambda character: any(accepts(character) for accepts in parts)

    def _class_part(self, *, first: bool) -> Accepts:
        """A character, a range, or a category, within brackets."""
        here = self._at
        if self._text[here : here + 2] in ("\\p", "\\P"):
            self._at += 1
            return self._escape(here)
        low = self._class_character(first=first)
        ranged = self._peek() == "-" and self._text[self._at + 1 : self._at + 2] not in ("]", "")
        if not ranged or (low == "-" and self._text[here] == "-"):
            return low.__eq__
        self._at += 1
        high = self._class_character(first=False)
        if high < low:
            raise PatternError("a range runs from the smaller character to the larger", here)
        return lambda character: low <= character <= high

    def _class_character(self, *, first: bool) -> str:
        here, found = self._at, self._peek()
        self._at += 1
        if found == "\\":
            escaped = self._peek()
            self._at += 1
            if escaped not in _ESCAPES or not escaped:
                raise PatternError(f"\\{escaped} is no escape within brackets", here)
            return _ESCAPES[escaped]
        if found == "-" and not first and self._peek() != "]":
            raise PatternError("a - within brackets stands first, last, or as \\-", here)
        if found == "[":
            raise PatternError("[ stands within brackets as \\[ only", here)
        return found


_NESTING_MAX = 32


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 6


def _any_but_line_ends(character: str) -> bool:
    return character not in "\n\r"
