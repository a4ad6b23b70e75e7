"""What a person types, as an FTS5 expression that is never a syntax error.

Plain words are alternatives: words that stand side by side form a group of which any may
match. In capitals, AND, OR and NOT join groups; NOT binds tightest, then AND, then OR;
parentheses group. A `"quoted phrase"` is matched as it stands, `prefix*` by its beginning.
`a NEAR b`, `a NEAR/5 b` and `NEAR(a b, 5)` ask for terms that few words part, 10 if no
number says otherwise.

    cats dogs                   cats or dogs
    cats dogs NOT birds         cats or dogs, and no birds
    "new york" AND hotel*       both
    budget NEAR/3 travel        close to each other

Text that is no such expression, because an operator has nothing to join or a parenthesis
stands alone, is read as plain words: people also write in capitals.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pamctl.errors import InvalidRequest
from pamctl.limits import TEXT_CHARS_MAX

_NEAR_WORDS, _NEAR_WORDS_MAX = 10, 1000
# Nobody nests deeper by hand, and FTS5's own parser runs out of stack before long.
_NESTING_MAX = 8
_TOKEN = re.compile(
    r"""
      "(?P<phrase>[^"]*)"(?P<star>\*?)
    | NEAR\((?P<call>(?:"[^"]*"|[^"()])*)\)
    | NEAR(?:/(?P<distance>\d{1,6}))?(?=\s)(?P<near>)
    | (?P<operator>AND|OR|NOT)(?=[\s()]|\Z)
    | (?P<bracket>[()])
    | (?P<word>[^\s"()]+)
    | [\s"]
    """,
    re.VERBOSE,
)
_CALL = re.compile(r"(?P<terms>.*?)(?:,\s*(?P<distance>\d{1,6})\s*)?\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Token:
    """kind: `term`, `near`, `AND`, `OR`, `NOT`, `(` or `)`.

    text: of a term, its FTS5 spelling; of `near`, the distance.
    plain: the FTS5 terms that it stands for where the text is read as plain words.
    """

    kind: str
    text: str
    plain: tuple[str, ...]


class _NotAnExpression(Exception):
    pass


def fts_expression(text: str) -> str | None:
    """The FTS5 expression that asks for `text`; None when there is no word in it.

    Raises InvalidRequest for text longer than limits.TEXT_CHARS_MAX, and for nothing else.
    """
    if len(text) > TEXT_CHARS_MAX:
        raise InvalidRequest(
            f"the text to search for is longer than {TEXT_CHARS_MAX} characters "
            "(limits.TEXT_CHARS_MAX)"
        )
    # SQLite ends an expression at U+0000 and cannot be given half a surrogate pair.
    readable = text.replace("\x00", " ").encode("utf-8", "replace").decode()
    tokens = _tokens(readable)
    try:
        return _Reader(tokens).read()
    except _NotAnExpression:
        return _any_of([term for token in tokens for term in token.plain])


def _tokens(text: str) -> list[_Token]:
    tokens = []
    for match in _TOKEN.finditer(text):
        kind, found = match.lastgroup, match.group()
        if kind in ("phrase", "star"):
            tokens += _terms(match["phrase"], match["star"])
        elif kind == "word":
            tokens += _terms(found, "*" if found.endswith("*") else "")
        elif kind == "call":
            tokens += _call(match["call"])
        elif kind == "near":
            tokens.append(_Token("near", _distance(match["distance"]), ('"NEAR"',)))
        elif kind == "operator":
            tokens.append(_Token(found, found, (f'"{found}"',)))
        elif kind == "bracket":
            tokens.append(_Token(found, found, ()))
    return tokens


def _terms(words: str, star: str) -> list[_Token]:
    """The term for `words`, which FTS5 takes apart itself; none for bare punctuation."""
    if not any(character.isalnum() for character in words):
        return []
    spelled = f'"{words.rstrip("*")}"{star}'
    return [_Token("term", spelled, (spelled,))]


def _call(inside: str) -> list[_Token]:
    """NEAR(…) as one term."""
    match = _CALL.match(inside)
    assert match is not None  # the expression matches any text
    found = _tokens(match["terms"])
    plain = tuple(term for token in found for term in token.plain)
    if not plain:
        return []
    if any(token.kind != "term" for token in found):
        return [_Token("?", "", ('"NEAR"', *plain))]
    spelled = f"NEAR({' '.join(plain)}, {_distance(match['distance'])})"
    return [_Token("term", spelled if len(plain) > 1 else plain[0], ('"NEAR"', *plain))]


def _distance(digits: str | None) -> str:
    return str(min(int(digits), _NEAR_WORDS_MAX) if digits else _NEAR_WORDS)


def _any_of(terms: list[str]) -> str | None:
    return " OR ".join(dict.fromkeys(terms)) or None


class _Reader:
    """Recursive descent over tokens, one method a level of the grammar; each returns FTS5."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._next = 0
        self._nesting = 0

    def read(self) -> str | None:
        if not self._tokens:
            return None
        expression = self._alternatives()
        if self._next < len(self._tokens):
            raise _NotAnExpression
        return expression

    def _kind(self) -> str:
        return self._tokens[self._next].kind if self._next < len(self._tokens) else ""

    def _take(self) -> _Token:
        token = self._tokens[self._next]
        self._next += 1
        return token

    def _alternatives(self) -> str:
        operands = [self._conjunction()]
        while self._kind() == "OR":
            self._take()
            operands.append(self._conjunction())
        return " OR ".join(operands)

    def _conjunction(self) -> str:
        operands = [self._exclusion()]
        while self._kind() == "AND":
            self._take()
            operands.append(self._exclusion())
        if len(operands) == 1:
            return operands[0]
        return " AND ".join(f"({operand})" for operand in operands)

    def _exclusion(self) -> str:
        wanted, unwanted = self._group(), []
        while self._kind() == "NOT":
            self._take()
            unwanted.append(self._group())
        if not unwanted:
            return wanted
        return f"({wanted}) NOT ({' OR '.join(unwanted)})"

    def _group(self) -> str:
        members = []
        while self._kind() in ("term", "("):
            members.append(self._member())
        if not members:
            raise _NotAnExpression
        return " OR ".join(dict.fromkeys(members))

    def _member(self) -> str:
        if self._kind() == "(":
            return self._nested()
        terms, distance = [self._take().text], 0
        while self._kind() == "near":
            distance = max(distance, int(self._take().text))
            if self._kind() != "term":
                raise _NotAnExpression
            terms.append(self._take().text)
        if len(terms) == 1:
            return terms[0]
        if any(term.startswith("NEAR(") for term in terms):
            raise _NotAnExpression
        return f"NEAR({' '.join(terms)}, {distance})"

    def _nested(self) -> str:
        self._nesting += 1
        if self._nesting > _NESTING_MAX:
            raise _NotAnExpression
        self._take()
        expression = self._alternatives()
        if self._kind() != ")":
            raise _NotAnExpression
        self._take()
        self._nesting -= 1
        return f"({expression})"
