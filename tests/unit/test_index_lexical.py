"""What people type becomes FTS5 that asks for what they meant."""

from __future__ import annotations

import pytest

from pamctl.errors import InvalidRequest
from pamctl.index.content_text import content_text
from pamctl.index.lexical import fts_expression
from pamctl.index.structured_query import StructuredQuery
from pamctl.limits import TEXT_CHARS_MAX
from tests.hand_made_ledger import HandMadeLedger

EXPRESSIONS = [
    ("cats dogs", '"cats" OR "cat" OR "dogs" OR "dog"'),
    ("cats cats", '"cats" OR "cat"'),
    ("cats lions NOT birds", '("cats" OR "cat" OR "lion"*) NOT ("bird"*)'),
    ("a NOT b NOT c x", '("a") NOT ("b" OR "c" OR "x")'),
    ("a AND b OR c", '("a") AND ("b") OR "c"'),
    ("a OR b AND c", '"a" OR ("b") AND ("c")'),
    ("(a OR b) AND c", '(("a" OR "b")) AND ("c")'),
    ('"new york" hotel*', '"new york" OR "hotel"*'),
    ('"new yo"*', '"new yo"*'),
    # Words in their forms, short ones in two of them; function words where there is no other.
    ("painted classes", '"paint"* OR "class"*'),
    ("planning", '"plan"*'),
    ("running bus", '"running" OR "run" OR "runs" OR "bus"'),
    ("Caroline's plan", '"carolin"* OR "plan"*'),
    ("Caroline\u2019s", '"carolin"*'),
    ("what is the plan", '"plan"*'),
    ("What is it?", '"what" OR "is" OR "it"'),
    ("the AND plan", '("the") AND ("plan"*)'),
    ("what did Will say", '"will"* OR "say" OR "says"'),
    ("Is it? Will it be I?", '"is" OR "it" OR "will" OR "be" OR "i"'),
    ("naïve Cafés", '"naïve" OR "cafés"'),
    # What has punctuation within is a phrase; so is what is written without spaces.
    ("2026-07-01 well-known", '"2026-07-01" OR "well-known"'),
    ("東京タワー", '"東 京 タ ワ ー"'),
    ("a NEAR b", 'NEAR("a" "b", 10)'),
    ("painted NEAR classes", 'NEAR("painted" "classes", 10)'),
    ("a NEAR/3 b NEAR/5 c x", 'NEAR("a" "b" "c", 5) OR "x"'),
    ('NEAR("a b" c*, 4)', 'NEAR("a b" "c"*, 4)'),
    ("NEAR(a b)", 'NEAR("a" "b", 10)'),
    ("NEAR(a b, 999999)", 'NEAR("a" "b", 1000)'),
    ("NEAR(a)", '"a"'),
    ("NEAR(...)", None),
    # What FTS5 would take for its own is text like any other.
    ("column:word", '"column:word"'),
    ("don't", '"don\'t"'),
    ("^start -minus +plus", '"start"* OR "minus"* OR "plus"*'),
    ("{x b}: c", '"x" OR "b" OR "c"'),
    ("and or not near", '"near"*'),
    ("what? ever!", '"ever"*'),
    # What is no expression is words.
    ("AND", '"and"'),
    ("AND fool", '"fool"*'),
    ("fool AND", '"fool"*'),
    ("NOT fool", '"fool"*'),
    ("fool AND OR bear", '"fool"* OR "bear"*'),
    ("fool AND ...", '"fool"*'),
    ("(fool", '"fool"*'),
    ("fool) bear", '"fool"* OR "bear"*'),
    ("() fool", '"fool"*'),
    ("b NEAR", '"b" OR "near"*'),
    ("c NEAR (b)", '"c" OR "near"* OR "b"'),
    ("NEAR(c AND b)", '"near"* OR "c" OR "b"'),
    ("x NEAR NEAR(c b)", '"x" OR "near"* OR "c" OR "b"'),
    ("((((((((( a )))))))))", '"a"'),
    ('say "hello', '"say" OR "says" OR "hello"*'),
    ('x"b"c', '"x" OR "b" OR "c"'),
    ("c\x00b", '"c" OR "b"'),
    ("x \ud800 b\udfffc", '"x" OR "b?c"'),
    # No word, no question.
    ("", None),
    ("  \t\n", None),
    ("...!?-- *", None),
    ('"" "..." ()', None),
    ("\u0301", None),
]


@pytest.mark.parametrize(("text", "expression"), EXPRESSIONS)
def test_text_and_its_expression(text: str, expression: str | None) -> None:
    assert fts_expression(text) == expression


@pytest.mark.parametrize(("text", "expression"), EXPRESSIONS)
def test_sqlite_accepts_every_expression(text: str, expression: str | None) -> None:
    ledger = HandMadeLedger()
    ledger.create("mem:a", "a b c")
    page = ledger.index().search(StructuredQuery(text=text, count=True))
    assert len(page.rows) == page.total
    if expression is None:
        assert page.rows == []


def test_text_has_a_bound() -> None:
    assert fts_expression("a" * TEXT_CHARS_MAX) is not None
    with pytest.raises(InvalidRequest, match="TEXT_CHARS_MAX"):
        fts_expression("a" * (TEXT_CHARS_MAX + 1))


CONTENTS = {
    "mem:ny": {"city": "New York", "plan": "a cheap hotel near the river"},
    "mem:york": {"city": "York", "plan": "a new hostel"},
    "mem:cafe": "Le café Müller est fermé",
    "mem:ru": ["Привет, мир", {"note": "東京 タワー"}],
    "mem:long": "budget " + "word " * 8 + "travel",
    "mem:named": {"hotel": "Ritz", "nested": {"rooms": 12, "open": True}},
}
HITS = [
    ("york", {"mem:ny", "mem:york"}),
    ('"new york"', {"mem:ny"}),
    ("new AND york", {"mem:ny", "mem:york"}),
    ("york NOT hostel", {"mem:ny"}),
    ("hot*", {"mem:ny", "mem:named"}),
    ("hos* cheap", {"mem:ny", "mem:york"}),
    ("CAFE muller", {"mem:cafe"}),
    ("fermé", {"mem:cafe"}),
    ("привет", {"mem:ru"}),
    ("東京", {"mem:ru"}),
    ("京", {"mem:ru"}),
    ("ワー", {"mem:ru"}),
    ("京東", set()),
    ("hotels", {"mem:ny", "mem:named"}),
    ('"hotels"', set()),
    ("travelling budgets", {"mem:long"}),
    ("budget NEAR travel", {"mem:long"}),
    ("budget NEAR/7 travel", set()),
    ("NEAR(budget travel, 8)", {"mem:long"}),
    ("rooms", {"mem:named"}),
    ("12", set()),
    ("(york OR café) AND (cheap OR müller)", {"mem:ny", "mem:cafe"}),
    ("nothing", set()),
]


@pytest.mark.parametrize(("text", "objects"), HITS)
def test_what_is_found(text: str, objects: set[str]) -> None:
    ledger = HandMadeLedger()
    for object_id, content in CONTENTS.items():
        ledger.create(object_id, content)
    page = ledger.index().search(StructuredQuery(text=text))
    assert {row.object_id for row in page.rows} == objects


def test_a_value_says_more_than_a_name() -> None:
    ledger = HandMadeLedger()
    for number in range(20):
        ledger.create(f"mem:other:{number}", {"plan": "something else"})
    ledger.create("mem:name", {"hotel": "the Ritz"})
    ledger.create("mem:value", {"place": "the hotel"})
    page = ledger.index().search(StructuredQuery(text="hotel"))
    assert [row.object_id for row in page.rows] == ["mem:value", "mem:name"]
    assert page.relevance[0] > page.relevance[1] > 0


def test_the_text_of_content() -> None:
    assert content_text("just words") == ("just words", "")
    assert content_text({"a": "x", "b": "y"}) == ("x\ny", "a\nb")
    assert content_text({"a": {"b": ["x", 1, None, "y"]}, "c": True}) == ("x\ny", "a\nb\nc")
    assert content_text(["x", {"n": "y"}, [["z"]]]) == ("x\ny\nz", "n")
    for nothing in (None, 1, 1.5, True, [], {}, [[]]):
        assert content_text(nothing) == ("", "")
