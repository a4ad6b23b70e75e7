"""What a person types, as an FTS5 expression that is never a syntax error.

Plain words are alternatives: words that stand side by side form a group of which any may
match, in any of its forms (`word_forms`); function words count only where there are no others.
In capitals, AND, OR and NOT join groups; NOT binds tightest, then AND, then OR; parentheses
group. A `"quoted phrase"` is matched as it stands, `prefix*` by its beginning. `a NEAR b`,
`a NEAR/5 b` and `NEAR(a b, 5)` ask for terms, as they stand, that few words part, 10 if no
number says otherwise.

    cats dogs                   cats or dogs, cat or dog
    cats dogs NOT birds         cats or dogs, and no birds
    "new york" AND hotel*       both
    budget NEAR/3 travel        close to each other

Text that is no such expression, because an operator has nothing to join or a parenthesis
stands alone, is read as plain words: people also write in capitals.
"""

from __future__ import annotations

import re
from functools import lru_cache

from pamctl.errors import InvalidRequest
from pamctl.index.word_forms import FUNCTION_WORDS, folded, forms, is_unspaced, spaced
from pamctl.limits import TEXT_CHARS_MAX
from pamctl.named_tuples import NamedTuple

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
_SPELLED = r'"(?P<words>[^"]*)"(?P<star>\*?)'
_RUN = re.compile(r"[^\W_]+")
_LETTERS = re.compile(r"[^\W_]+")
_OPENING = re.compile(r"(?:^|[.?!:])[\s\"(]*\Z")
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")
_POSSESSIVES = ("'s", "\u2019s")
_CALL = r"(?s)(?P<terms>.*?)(?:,\s*(?P<distance>\d{1,6})\s*)?\Z"


class _Token(NamedTuple):
    """kind: `term`, `near`, `AND`, `OR`, `NOT`, `(` or `)`.

    text: of a term, its FTS5 spelling; of `near`, the distance.
    exact: of a term, how it is spelled beside others, where alternatives have no place.
    plain: the tokens that it stands for where the text is read as plain words.
    idle: whether it is a function word.
    """

    kind: str
    text: str
    exact: str = ""
    plain: tuple[_Token, ...] = ()
    idle: bool = False


class Sought(NamedTuple):
    """A word or a phrase that a text is looked through for.

    words: folded as FTS5 folds them. prefix: whether the last is only the beginning of one.
    unspaced: whether it is one run of a script without spaces, to be found within words.
    """

    words: tuple[str, ...]
    prefix: bool
    unspaced: bool


class _NotAnExpression(Exception):
    pass


# Each page of a query asks for the same text, and so does whoever asks again.
@lru_cache(maxsize=64)
def fts_expression(text: str) -> str | None:
    """The FTS5 expression that asks for `text`; None when there is no word in it.

    Raises InvalidRequest for text longer than limits.TEXT_CHARS_MAX, and for nothing else.
    """
    if len(text) > TEXT_CHARS_MAX:
        raise InvalidRequest(
            f"the text to search for is longer than {TEXT_CHARS_MAX} characters "
            "(limits.TEXT_CHARS_MAX)"
        )
    tokens = _tokens(_readable(text))
    try:
        return _Reader(tokens).read()
    except _NotAnExpression:
        return _any_of(_as_words(tokens))


def sought(text: str) -> list[Sought]:
    """What to point out where a text was found: all that it asks for, and nothing that it
    rules out."""
    found: dict[Sought, None] = {}
    tokens = _tokens(_readable(text))
    try:
        _Reader(tokens).read()
    except _NotAnExpression:
        tokens = _as_words(tokens)
    ruled_out = {place + 1 for place, token in enumerate(tokens) if token.kind == "NOT"}
    asked = [
        token
        for place, token in enumerate(tokens)
        if token.kind == "term" and place not in ruled_out
    ]
    for token in [token for token in asked if not token.idle] or asked:
        for match in re.finditer(_SPELLED, token.text):
            run = match["words"].replace(" ", "")
            if is_unspaced(run):
                found[Sought((run,), False, unspaced=True)] = None
                continue
            parts = tuple(_RUN.findall(folded(match["words"])))
            if parts:
                found[Sought(parts, bool(match["star"]), unspaced=False)] = None
    return list(found)


def _readable(text: str) -> str:
    """SQLite ends an expression at U+0000 and cannot be given half a surrogate pair."""
    return text.replace("\x00", " ").encode("utf-8", "replace").decode()


def _tokens(text: str) -> list[_Token]:
    tokens = []
    for match in _TOKEN.finditer(text):
        kind, found = match.lastgroup, match.group()
        if kind in ("phrase", "star"):
            tokens += _phrase(match["phrase"], match["star"])
        elif kind == "word":
            tokens += _word(found, opening=_OPENING.search(text, 0, match.start()) is not None)
        elif kind == "call":
            tokens += _call(match["call"])
        elif kind == "near":
            tokens.append(_Token("near", _distance(match["distance"]), plain=_spoken("NEAR")))
        elif kind == "operator":
            tokens.append(_Token(found, found, plain=_spoken(found)))
        elif kind == "bracket":
            tokens.append(_Token(found, found))
    return tokens


def _phrase(words: str, star: str) -> list[_Token]:
    """The term for `words`, which FTS5 takes apart itself; none for bare punctuation."""
    if not any(character.isalnum() for character in words):
        return []
    spelled = f'"{" ".join(spaced(words.rstrip("*")).split())}"{star}'
    return [_Token("term", spelled, spelled)]


def _word(word: str, *, opening: bool) -> list[_Token]:
    """The term for a word: for any of its forms where it is plain, without what stands around
    it. What has punctuation within is a phrase, as a date is. A function word with a capital
    that does not open a sentence is a name."""
    if word.endswith("*"):
        return _phrase(word, "*")
    bare = _EDGES.sub("", word)
    if bare.endswith(_POSSESSIVES):
        bare = bare[:-2]
    if _LETTERS.fullmatch(bare) is None or spaced(bare) != bare:
        return _phrase(word, "")
    small = bare.islower() or bare == "I" or opening
    idle = small and bare.lower() in FUNCTION_WORDS
    exact = f'"{bare.lower()}"'
    return [_Token("term", exact if idle else " OR ".join(forms(bare)), exact, idle=idle)]


def _spoken(word: str) -> tuple[_Token, ...]:
    """An operator's name where it is none."""
    return tuple(_word(word.lower(), opening=False))


def _call(inside: str) -> list[_Token]:
    """NEAR(…) as one term."""
    match = re.match(_CALL, inside)
    assert match is not None  # the expression matches any text
    found = _tokens(match["terms"])
    plain = (*_spoken("NEAR"), *(term for token in found for term in token.plain or (token,)))
    if not found:
        return []
    if any(token.kind != "term" for token in found):
        return [_Token("?", "", plain=plain)]
    terms = " ".join(token.exact for token in found)
    spelled = f"NEAR({terms}, {_distance(match['distance'])})" if len(found) > 1 else terms
    return [_Token("term", spelled, spelled, plain)]


def _distance(digits: str | None) -> str:
    return str(min(int(digits), _NEAR_WORDS_MAX) if digits else _NEAR_WORDS)


def _as_words(tokens: list[_Token]) -> list[_Token]:
    """Tokens that are no expression, each as what it would be among plain words."""
    return [term for token in tokens for term in token.plain or (token,)]


def _any_of(terms: list[_Token]) -> str | None:
    """Any of some terms; of function words only where there is nothing else."""
    terms = [term for term in terms if term.text and term.kind == "term"]
    asked = [term for term in terms if not term.idle] or terms
    return " OR ".join(dict.fromkeys(term.text for term in asked)) or None


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
        expression = _any_of(members)
        if expression is None:
            raise _NotAnExpression
        return expression

    def _member(self) -> _Token:
        if self._kind() == "(":
            return _Token("term", self._nested())
        terms, distance = [self._take()], 0
        while self._kind() == "near":
            distance = max(distance, int(self._take().text))
            if self._kind() != "term":
                raise _NotAnExpression
            terms.append(self._take())
        if len(terms) == 1:
            return terms[0]
        if any(term.exact.startswith("NEAR(") for term in terms):
            raise _NotAnExpression
        joined = " ".join(term.exact for term in terms)
        return _Token("term", f"NEAR({joined}, {distance})")

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
