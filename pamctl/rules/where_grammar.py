"""The language of `--where`: conditions over a whole envelope, its content included.

    content.amount >= 100 and not provenance.source_ref starts with "chat:"

    expression = term { "or" term }        term = factor { "and" factor }
    factor     = "not" factor | "(" expression ")" | path relation
    relation   = ("=" | "!=" | "<" | "<=" | ">" | ">=") value | "in" "(" value { "," value } ")"
               | "exists" | "contains" value | "starts with" string | "matches" string
    value      = string | number | "true" | "false" | "null" | "instant" "(" string ")"

A path is a JSONPath (see `json_paths`). `matches` takes an I-Regexp (RFC 9485) that is of the
whole string. What it all means, `where` tells.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from pamctl.encoding.timestamps import instant
from pamctl.errors import InvalidRequest
from pamctl.limits import WHERE_CHARS_MAX, WHERE_NESTING_MAX, WHERE_TERMS_MAX
from pamctl.rules.iregexp import Pattern, PatternError
from pamctl.rules.json_paths import Path, PathError, read_path, string_end, string_of
from pamctl.rules.where import MEMBERS, ORDERS, Every, Expression, Instant, Not, Some, Test, Value

_SPACE = re.compile(r"[ \t\n\r]*")
_SIGN = re.compile(r"[<>]=?|!=|==?|≠|≤|≥")
_WORD = re.compile(r"[A-Za-z]+")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_LITERALS = {"true": True, "false": False, "null": None}
_RELATIONS = "= != < <= > >= in exists contains 'starts with' matches"
_SHOWN_CHARS = 60


def parsed(texts: Sequence[str], family: str = "object") -> Expression:
    """Expressions over versions of a family that must all hold, as one.

    Raises InvalidRequest that shows the place for what is no expression, and for what is
    beyond limits.WHERE_CHARS_MAX, WHERE_TERMS_MAX or WHERE_NESTING_MAX.
    """
    terms = [0]
    members = MEMBERS[family]
    parsers = (_Parser(text, number, terms, members) for number, text in enumerate(texts))
    parts = tuple(parser.parse() for parser in parsers)
    return parts[0] if len(parts) == 1 else Every(parts)


class _Parser:
    """Recursive descent, one method a rule of the grammar.

    number: which of the request's expressions this is. terms: a count of conditions and
    values that all of them share. members: the names that an envelope may have.
    """

    def __init__(self, text: str, number: int, terms: list[int], members: frozenset[str]) -> None:
        self._text = text
        self._number = number
        self._terms = terms
        self._members = members
        self._at = 0
        self._nesting = 0

    def parse(self) -> Expression:
        if len(self._text) > WHERE_CHARS_MAX:
            raise InvalidRequest(
                f"the expression is longer than {WHERE_CHARS_MAX} characters "
                "(limits.WHERE_CHARS_MAX)",
                pointer=f"/where/{self._number}",
            )
        expression = self._alternatives()
        if self._at < len(self._text):
            raise self._wrong("expected 'and', 'or', or the end", self._at)
        return expression

    def _alternatives(self) -> Expression:
        parts = [self._conjunction()]
        while self._took_word("or"):
            parts.append(self._conjunction())
        return parts[0] if len(parts) == 1 else Some(tuple(parts))

    def _conjunction(self) -> Expression:
        parts = [self._factor()]
        while self._took_word("and"):
            parts.append(self._factor())
        return parts[0] if len(parts) == 1 else Every(tuple(parts))

    def _factor(self) -> Expression:
        self._skip()
        here = self._at
        if self._took_word("not"):
            with_not = self._nested(here, self._factor)
            return Not(with_not)
        if not self._took("("):
            return self._test()
        inside = self._nested(here, self._alternatives)
        if not self._took(")"):
            raise self._wrong("this ( is not closed", here)
        return inside

    def _nested(self, here: int, rule: Callable[[], Expression]) -> Expression:
        self._nesting += 1
        if self._nesting > WHERE_NESTING_MAX:
            raise self._wrong(
                f"more than {WHERE_NESTING_MAX} levels within one another "
                "(limits.WHERE_NESTING_MAX)",
                here,
            )
        expression = rule()
        self._nesting -= 1
        return expression

    def _test(self) -> Test:
        start = self._at
        path = self._path()
        self._count(start)
        relation, here = self._relation()
        values: tuple[Value, ...] = ()
        pattern = None
        if relation == "in":
            values = self._list()
        elif relation != "exists":
            self._skip()
            here = self._at
            values = (self._value(),)
            self._require_type(relation, values[0], here)
            if relation == "matches":
                pattern = self._pattern(str(values[0]), here)
        return Test(path, relation, values, self._text[start : self._at], pattern)

    def _path(self) -> Path:
        start = self._at
        if start == len(self._text):
            raise self._wrong("expected a condition", start, "such as content.amount > 100")
        try:
            path, self._at = read_path(self._text, start)
        except PathError as cause:
            hint = cause.hint
            if cause.position == start:
                hint = "a condition begins with a path, such as content.amount or $.object_type"
            raise self._wrong(str(cause), cause.position, hint) from cause
        first = path.steps[0] if path.steps else None
        if isinstance(first, str) and first not in self._members:
            from difflib import get_close_matches

            nearest = get_close_matches(first, ("content", *self._members), n=1)
            hint = f"did you mean '{nearest[0]}'?" if nearest else "content.NAME is in the content"
            raise self._wrong(f"no envelope has a member '{first[:_SHOWN_CHARS]}'", start, hint)
        return path

    def _relation(self) -> tuple[str, int]:
        self._skip()
        here = self._at
        sign = _SIGN.match(self._text, here)
        if sign is not None:
            self._at = sign.end()
            spelled = {"==": "=", "≠": "!=", "≤": "<=", "≥": ">="}
            return spelled.get(sign.group(), sign.group()), here
        for word in ("in", "exists", "contains", "matches"):
            if self._took_word(word):
                return word, here
        if self._took_word("starts"):
            if self._took_word("with"):
                return "starts with", here
            raise self._wrong("expected 'with' after 'starts'", self._at)
        hint = f"a path is followed by one of {_RELATIONS}"
        if self._text[here : here + 1] == "-":
            hint = 'a name with a hyphen is written ["in-quotes"]'
        raise self._wrong("expected a comparison", here, hint)

    def _list(self) -> tuple[Value, ...]:
        if not self._took("("):
            raise self._wrong("expected ( after 'in'", self._at, "such as in (1, 2)")
        values = [self._value()]
        while self._took(","):
            values.append(self._value())
        if not self._took(")"):
            raise self._wrong("expected , or )", self._at)
        return tuple(values)

    def _value(self) -> Value:
        self._skip()
        here = self._at
        self._count(here)
        if self._text[here : here + 1] in ("'", '"'):
            return self._string()
        number = _NUMBER.match(self._text, here)
        if number is not None:
            self._at = number.end()
            return self._number_of(number.group(), here)
        word = _WORD.match(self._text, here)
        if word is None:
            raise self._wrong("expected a value", here, "a string is written in quotes")
        self._at = word.end()
        if word.group() in _LITERALS:
            return _LITERALS[word.group()]
        if word.group() == "instant" and self._took("("):
            return self._moment()
        raise self._wrong(
            f"'{word.group()[:_SHOWN_CHARS]}' is no value", here, "a string is written in quotes"
        )

    def _string(self) -> str:
        here = self._at
        end = string_end(self._text, here)
        if end is None:
            raise self._wrong("this string is not closed", here)
        self._at = end
        try:
            return string_of(self._text[here:end], here)
        except PathError as cause:
            raise self._wrong(str(cause), here) from cause

    def _number_of(self, spelled: str, here: int) -> int | float:
        if spelled.lstrip("-").isdigit() and len(spelled) <= 20:
            return int(spelled)
        number = float(spelled)
        if not math.isfinite(number):
            raise self._wrong("the number is out of range", here)
        return number

    def _moment(self) -> Instant:
        self._skip()
        here = self._at
        if self._text[here : here + 1] not in ("'", '"'):
            raise self._wrong(
                "expected a time in quotes", here, 'such as instant("2026-07-29T17:00:00Z")'
            )
        text = self._string()
        try:
            key = instant(text)
        except ValueError as cause:
            raise self._wrong(f"this is {cause}", here) from cause
        if not self._took(")"):
            raise self._wrong("expected )", self._at)
        return Instant(key)

    def _require_type(self, relation: str, value: Value, here: int) -> None:
        if relation in ORDERS and (value is None or isinstance(value, bool)):
            raise self._wrong(f"{relation} orders numbers, strings and instants", here)
        if relation in ("starts with", "matches") and not isinstance(value, str):
            raise self._wrong(f"'{relation}' takes a string", here)

    def _pattern(self, text: str, here: int) -> Pattern:
        if text.startswith("^") or text.endswith("$"):
            raise self._wrong(
                "the pattern is of the whole string, without ^ and $",
                here,
                "to find a ^ or a $ itself, write \\^ or [$]",
            )
        try:
            return Pattern(text)
        except PatternError as cause:
            raise self._wrong(
                f"in the pattern, at its character {cause.position + 1}: {cause}", here
            ) from cause

    def _count(self, here: int) -> None:
        self._terms[0] += 1
        if self._terms[0] > WHERE_TERMS_MAX:
            raise self._wrong(
                f"more than {WHERE_TERMS_MAX} conditions and values (limits.WHERE_TERMS_MAX)", here
            )

    def _skip(self) -> None:
        match = _SPACE.match(self._text, self._at)
        self._at = self._at if match is None else match.end()

    def _took(self, character: str) -> bool:
        self._skip()
        taken = self._text.startswith(character, self._at)
        self._at += len(character) if taken else 0
        return taken

    def _took_word(self, word: str) -> bool:
        self._skip()
        found = _WORD.match(self._text, self._at)
        if found is None or found.group().lower() != word:
            return False
        if self._text[found.end() : found.end() + 1] in ("_", ".", "["):
            return False  # the beginning of a path
        self._at = found.end()
        self._skip()
        return True

    def _wrong(self, message: str, position: int, hint: str | None = None) -> InvalidRequest:
        """A refusal that shows where: the piece of the expression, and a caret under it."""
        first = max(position - _SHOWN_CHARS // 2, 0)
        shown = self._text[first : first + _SHOWN_CHARS]
        line = "".join(char if char.isprintable() else " " for char in shown)
        before = "…" if first else ""
        indent = " " * _columns(before + line[: position - first])
        place = f"\n  {before}{line}\n  {indent}^"
        return InvalidRequest(
            f"where: {message}, at character {position + 1}:{place}",
            hint=hint,
            pointer=f"/where/{self._number}",
            position=position,
        )


def _columns(text: str) -> int:
    """How many columns of a terminal a text takes."""
    from unicodedata import combining, east_asian_width

    return sum(
        0 if combining(character) else 2 if east_asian_width(character) in "WF" else 1
        for character in text
    )
