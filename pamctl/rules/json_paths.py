"""JSONPath (RFC 9535) as it stands on the left of a condition: where a value is looked for.

A path that names one place, `$.lifecycle_state` or `content.price[0]`, is read and walked
here. Any other, with a wildcard, a slice, a filter or `..`, is a library's to read, which is
imported only then. Paths begin at the envelope; the `$.` may be left out, and `content` is
short for `canonical_content`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pamctl.encoding.strict_json import parse
from pamctl.errors import InvalidRequest
from pamctl.limits import DEPTH_MAX, INTEGER_MAX
from pamctl.named_tuples import NamedTuple

if TYPE_CHECKING:
    from jsonpath import JSONPath

# All that is no letter of ASCII and no underscore, and after the first also no digit, ends a
# name. Said by what it takes, up to U+10FFFF, the expression takes 7 ms to compile.
_NAME = re.compile(r"[^\x00-@\[-^`{-\x7f][^\x00-/:-@\[-^`{-\x7f]*")
_INDEX = re.compile(r"(?:0|-?[1-9][0-9]{0,15})\Z")
_CONTENT = "canonical_content"
# One of each, so that the work grows at most with the square of a document: both may look at
# all of it for each of the values that they find.
_FILTERS_MAX, _DESCENTS_MAX = 1, 1


class PathError(ValueError):
    """What is no path. position: of the character, in the text that it was read from."""

    def __init__(self, message: str, position: int, hint: str | None = None) -> None:
        super().__init__(message)
        self.position = position
        self.hint = hint


class Path(NamedTuple):
    """Where values are looked for.

    text: the path in full, with `$`.
    steps: member names and places in arrays, of a path to one place; None for any other.
    """

    text: str
    steps: tuple[str | int, ...] | None

    def find(self, value: Any) -> list[Any]:
        """The values at the path, none where there are none; null is a value."""
        if self.steps is None:
            found: list[Any] = _compiled(self.text).findall(value)
            return found
        for step in self.steps:
            if isinstance(step, str):
                if not isinstance(value, dict) or step not in value:
                    return []
                value = value[step]
            else:
                if not isinstance(value, list) or not -len(value) <= step < len(value):
                    return []
                value = value[step]
        return [value]


def read_path(text: str, start: int) -> tuple[Path, int]:
    """The path that begins at a character of `text`, and where it ends. Raises PathError."""
    reader = _Reader(text, start)
    reader.read()
    if reader.steps is not None:
        return Path("$" + reader.spelled, tuple(reader.steps)), reader.at
    if reader.descents > _DESCENTS_MAX or reader.filters > _FILTERS_MAX:
        raise PathError("a path may have one .. and one filter", start)
    _checked("$" + reader.spelled, start, len("$" + reader.spelled) - (reader.at - start))
    return Path("$" + reader.spelled, None), reader.at


class _Reader:
    """Finds the segments of a path, and where it ends.

    spelled: the segments in full. steps: as in Path, None once there is more than one place.
    """

    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self._start = start
        self.at = start
        self.spelled = ""
        self.steps: list[str | int] | None = []
        self.filters = self.descents = 0

    def read(self) -> None:
        if self._text[self.at : self.at + 1] == "$":
            self.at += 1
        else:
            self._member(self._name())
        while self.at < len(self._text):
            if self._text.startswith("..", self.at):
                self.at += 2
                self.descents += 1
                self._many("..")
                if self._text[self.at : self.at + 1] != "[":
                    self._many(self._name_or_star())
            elif self._text[self.at] == ".":
                self.at += 1
                if self._text[self.at : self.at + 1] == "*":
                    self._many("." + self._name_or_star())
                else:
                    self._member(self._name())
            elif self._text[self.at] == "[":
                self._bracket()
            else:
                break

    def _name(self) -> str:
        match = _NAME.match(self._text, self.at)
        if match is None:
            raise PathError("a name of a member is missing", self.at)
        self.at = match.end()
        return match.group()

    def _name_or_star(self) -> str:
        if self._text[self.at : self.at + 1] == "*":
            self.at += 1
            return "*"
        return self._name()

    def _member(self, name: str) -> None:
        if not self.spelled and name == "content":
            name = _CONTENT
        self.spelled += "." + name
        if self.steps is not None:
            self.steps.append(name)

    def _many(self, spelled: str) -> None:
        self.spelled += spelled
        self.steps = None

    def _bracket(self) -> None:
        opened, quote, depth = self.at, "", 0
        place = opened
        while True:
            character = self._text[place : place + 1]
            if not character:
                raise PathError("this [ is not closed", opened)
            if quote:
                if character == "\\":
                    place += 1
                elif character == quote:
                    quote = ""
            elif character in "'\"":
                quote = character
            elif character == "?":
                self.filters += 1
            elif character == "[":
                depth += 1
            elif character == "]":
                depth -= 1
                if not depth:
                    break
            elif self._text.startswith("..", place):
                self.descents += 1
                place += 1
            place += 1
        self.at = place + 1
        self._selector(self._text[opened + 1 : place].strip(" \t\n\r"), opened)

    def _selector(self, inside: str, opened: int) -> None:
        whole = self._text[opened : self.at]
        if _INDEX.match(inside) and abs(int(inside)) <= INTEGER_MAX:
            self._one(whole, int(inside))
        elif _is_one_string(inside):
            name = string_of(inside, opened + 1)
            self._one(whole, _CONTENT if not self.spelled and name == "content" else name)
        else:
            self._many(whole)

    def _one(self, spelled: str, step: str | int) -> None:
        if step == _CONTENT and not self.spelled:
            spelled = "." + _CONTENT
        self.spelled += spelled
        if self.steps is not None:
            self.steps.append(step)


def _is_one_string(inside: str) -> bool:
    return len(inside) > 1 and inside[0] in "'\"" and string_end(inside, 0) == len(inside)


def string_end(text: str, start: int) -> int | None:
    """Where the string literal that begins at a quote ends; None where it does not."""
    quote, place = text[start], start + 1
    while place < len(text):
        if text[place] == "\\":
            place += 1
        elif text[place] == quote:
            return place + 1
        place += 1
    return None


def string_of(literal: str, position: int) -> str:
    """The string that a literal in either kind of quotes stands for. Raises PathError."""
    if literal[0] == "'":
        inside = re.sub(r"\\(.)|\"", _requoted, literal[1:-1], flags=re.DOTALL)
        literal = f'"{inside}"'
    try:
        found = parse(literal, what="the string")
    except InvalidRequest as cause:
        raise PathError(f"this is no string of JSON: {cause.message}", position) from cause
    return str(found)


def _requoted(match: re.Match[str]) -> str:
    """A piece of a string in single quotes, as it stands in double quotes."""
    if match.group() == '"':
        return '\\"'
    return "'" if match[1] == "'" else match.group()


def _checked(path: str, start: int, longer: int) -> None:
    """Raises PathError for what the library does not read. longer: by how much the path in
    full is longer than as it was written."""
    from jsonpath import JSONPathError

    try:
        _compiled(path)
    except JSONPathError as cause:
        token = cause.token
        index = max(getattr(token, "index", 0) - longer, 0)
        raise PathError(f"this is no JSONPath: {cause.message}", start + index) from cause
    except RecursionError as cause:
        raise PathError("the path nests too deep", start) from cause
    except (ValueError, OverflowError) as cause:
        # The library's own slips, at numbers that are no places.
        raise PathError("this is no JSONPath", start) from cause


@lru_cache(maxsize=64)
def _compiled(path: str) -> JSONPath:
    return _environment()(path)  # type: ignore[return-value]


@lru_cache(maxsize=1)
def _environment() -> Callable[[str], object]:
    """The library, held to RFC 9535, with patterns that are matched in linear time."""
    from jsonpath import JSONPathEnvironment
    from jsonpath.function_extensions import ExpressionType, FilterFunction

    from pamctl.rules.iregexp import Pattern, PatternError

    @lru_cache(maxsize=64)
    def pattern(text: str) -> Pattern | None:
        try:
            return Pattern(text)
        except PatternError:
            return None

    class Matching(FilterFunction):
        arg_types = [ExpressionType.VALUE, ExpressionType.VALUE]  # noqa: RUF012
        return_type = ExpressionType.LOGICAL

        def __init__(self, judge: Callable[[Pattern, str], bool]) -> None:
            self._judge = judge

        def __call__(self, value: object, text: object) -> bool:
            if not isinstance(value, str) or not isinstance(text, str):
                return False
            compiled = pattern(text)
            return compiled is not None and self._judge(compiled, value)

    environment = JSONPathEnvironment(strict=True)
    # Content may be as deep as that, and stands a little deeper in its envelope.
    environment.max_recursion_depth = DEPTH_MAX + 8
    environment.function_extensions["match"] = Matching(Pattern.matches)
    environment.function_extensions["search"] = Matching(Pattern.occurs_in)
    return environment.compile
