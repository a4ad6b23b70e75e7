"""The language of `--where`: what holds, what is refused and where, and its bounds."""

from __future__ import annotations

from typing import Any

import pytest

from pamctl import limits
from pamctl.errors import InvalidRequest
from pamctl.rules.where import holds
from pamctl.rules.where_grammar import parsed

ENVELOPE: dict[str, Any] = {
    "object_id": "mem:a",
    "object_type": "claim",
    "lifecycle_state": "active",
    "sequence": 3,
    "observed_at": "2026-07-29T17:00:00.500Z",
    "provenance": {"source_ref": "chat:17", "evidence_refs": ["doc:1", "doc:2"]},
    "canonical_content": {
        "amount": 120,
        "share": 0.5,
        "open": True,
        "none": None,
        "title": "Größe",
        "x y": [[1, 2], [3]],
        "it's": "quoted",
        "content": "inner",
        "items": [{"price": 5, "name": "tea"}, {"price": 20, "name": "cup"}],
        "tags": ["tea", 7, True],
        "when": "2026-07-29T19:00:00+02:00",
    },
}
TRUE = [
    "content.amount = 120",
    "content.amount == 120.0",
    "content.amount >= 120 and content.amount <= 120",
    "content.amount ≠ 3",
    "canonical_content.amount in (1, 120)",
    "$.canonical_content.amount > 100",
    "$.content.amount > 100",
    "$['canonical_content']['amount'] > 100",
    "content['amount'] > 1e1",
    'content["x y"][0][1] = 2',
    'content["x y"][-1][0] = 3',
    "content['it\\'s'] = \"quoted\"",
    'content.content = "inner"',
    "content.none exists",
    "content.none = null",
    "content.open = true",
    "content.open != false",
    "not content.absent exists",
    "not content.absent = 1",
    "not content.absent != 1",
    "NOT content.amount < 1 AND sequence = 3",
    'content.title starts with "Grö"',
    'content.title contains "ß"',
    'content.tags contains "tea"',
    "content.tags contains 7",
    "content.tags contains true",
    'content.title matches "G.*e"',
    'content.title matches "\\\\p{Lu}\\\\p{Ll}{4}"',
    'object_type = "task" or content.amount > 1 and lifecycle_state = "active"',
    '(object_type = "task" or content.amount > 1) and lifecycle_state = "active"',
    'observed_at = instant("2026-07-29T17:00:00.5Z")',
    'observed_at < instant("2026-07-29T17:00:01+00:00")',
    'content.when = instant("2026-07-29T17:00:00Z")',
    'content.when in (instant("2026-07-29T17:00:00Z"), 4)',
    'observed_at starts with "2026-07"',
    'provenance.evidence_refs[*] = "doc:2"',
    'provenance.evidence_refs contains "doc:1"',
    "content.items[*].price > 10",
    "content.items[0:1].price = 5",
    "content.items[?@.price > 10].name = 'cup'",
    "content.items[?match(@.name, 'c.p')] exists",
    "content.items[?search(@.name, 'ea')] exists",
    "content..price = 20",
    "$..source_ref = 'chat:17'",
    "content.* = 120",
    "content['title','amount'] = 120",
    "  content.amount\n=\t120  ",
]
FALSE = [
    'content.amount = "120"',
    'content.amount > "100"',
    'content.amount contains "1"',
    "content.open = 1",
    "content.none = 0",
    "content.absent exists",
    "content.absent != 1",
    "content.absent.deeper = 1",
    "content.amount[0] = 1",
    "content[0] = 1",
    'content["x y"][2] exists',
    "content.tags contains 1",
    'content.title matches "G"',
    'content.title starts with "grö"',
    'content.title > "H"',
    'content.amount = instant("2026-07-29T17:00:00Z")',
    'object_type < instant("2026-07-29T17:00:00Z")',
    "content.items[*].price > 100",
    "content.items[?@.price > 100] exists",
    'not (object_type = "claim" or sequence = 9)',
    "content = 1",
]
REFUSED = [
    ("", 0, "expected a condition"),
    ("   ", 3, "expected a condition"),
    ("content.amount >", 16, "expected a value"),
    ("content.amount > foo", 17, "'foo' is no value"),
    ("content.amount", 14, "expected a comparison"),
    ("content.first-name = 1", 13, "expected a comparison"),
    ("content.amount = 1 content.b = 2", 19, "expected 'and', 'or', or the end"),
    ("(content.amount = 1", 0, "not closed"),
    ("content.amount = 1)", 18, "expected 'and'"),
    ('content.a = "open', 12, "not closed"),
    ("content[ = 1", 7, "not closed"),
    ("content. = 1", 8, "a name of a member is missing"),
    ("content.a in 1", 13, "expected ( after 'in'"),
    ("content.a in (1", 15, "expected , or )"),
    ("content.a in ()", 14, "expected a value"),
    ("content.a starts 'x'", 17, "expected 'with'"),
    ("content.a starts with 1", 22, "takes a string"),
    ("content.a matches 1", 18, "takes a string"),
    ("content.a matches '\\\\d+'", 18, "[0-9]"),
    ("content.a matches '^a'", 18, "without ^ and $"),
    ("content.a matches 'a$'", 18, "without ^ and $"),
    ("content.a < null", 12, "orders numbers"),
    ("content.a = 1e999", 12, "out of range"),
    ("content.a = instant(1)", 20, "a time in quotes"),
    ("content.a = instant('x')", 20, "not an RFC 3339"),
    ("content.a = instant('2026-07-29T17:00:00')", 20, "not an RFC 3339"),
    ('content.a = "\\ud800"', 12, "surrogate"),
    ("content.a = 'a\\q'", 12, "no string of JSON"),
    ("contnt.a = 1", 0, "no envelope has a member 'contnt'"),
    ("$.id = 1", 0, "no envelope has a member 'id'"),
    ("not", 3, "expected a condition"),
    ("= 1", 0, "a name of a member is missing"),
    ("content.items[?@.price >] exists", 24, "no JSONPath"),
    ("content.items[?@.price in [1]] exists", 23, "no JSONPath"),
    ("content..a[?@..b] exists", 0, "one .. and one filter"),
    ("content[?@.a][?@.b] exists", 0, "one .. and one filter"),
]


@pytest.mark.parametrize("text", TRUE)
def test_what_holds(text: str) -> None:
    assert holds(parsed([text]), ENVELOPE)


@pytest.mark.parametrize("text", FALSE)
def test_what_does_not_hold(text: str) -> None:
    assert not holds(parsed([text]), ENVELOPE)


@pytest.mark.parametrize(("text", "position", "said"), REFUSED)
def test_a_refusal_says_where(text: str, position: int, said: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        parsed(["sequence = 3", text])
    assert said in refusal.value.message
    assert refusal.value.details["position"] == position
    assert refusal.value.details["pointer"] == "/where/1"
    shown, caret = refusal.value.message.split("\n")[1:]
    assert caret.strip() == "^"
    place = caret.index("^")
    assert shown[place : place + 1] == text.replace("\n", " ")[position : position + 1]


def test_a_caret_stays_under_its_character_in_a_long_expression() -> None:
    text = " or ".join(f"content.field{number} = {number}" for number in range(60)) + " or !"
    with pytest.raises(InvalidRequest) as refusal:
        parsed([text])
    shown, caret = refusal.value.message.split("\n")[1:]
    assert shown[caret.index("^")] == "!"
    assert len(shown) < 80


def test_a_slip_of_the_pen_gets_a_suggestion() -> None:
    with pytest.raises(InvalidRequest) as refusal:
        parsed(["lifecyle_state = 'active'"])
    assert refusal.value.details["hint"] == "did you mean 'lifecycle_state'?"


def test_relationships_have_members_of_their_own() -> None:
    link = parsed(["relationship_type = 'supports'"], "relationship")
    assert holds(link, {"relationship_type": "supports"})
    with pytest.raises(InvalidRequest, match="no envelope has a member"):
        parsed(["object_type = 'claim'"], "relationship")


@pytest.mark.parametrize(
    ("texts", "bound"),
    [
        (["content.a = '" + "x" * limits.WHERE_CHARS_MAX + "'"], "WHERE_CHARS_MAX"),
        (["content.a in (" + ",".join("1" * limits.WHERE_TERMS_MAX) + ")"], "WHERE_TERMS_MAX"),
        (["content.a = 1"] * (limits.WHERE_TERMS_MAX // 2 + 1), "WHERE_TERMS_MAX"),
        (["(" * 40 + "content.a = 1" + ")" * 40], "WHERE_NESTING_MAX"),
        (["not " * 3000 + "content.a = 1"], "WHERE_NESTING_MAX"),
        (["content.a matches '(a{99}){99}'"], "PATTERN_STATES_MAX"),
    ],
)
def test_expressions_have_bounds(texts: list[str], bound: str) -> None:
    with pytest.raises(InvalidRequest, match=bound):
        parsed(texts)


@pytest.mark.parametrize(
    "text", ["content..z = 5", "$..[?@ == 5] exists", "content[?@..z] exists", "$..z = 5"]
)
def test_the_deepest_content_is_looked_through(text: str) -> None:
    value: Any = {"z": 5}
    for level in range(limits.DEPTH_MAX - 1):
        value = [value] if level % 2 else {"a": value}
    assert holds(parsed([text]), {"canonical_content": value})


def test_a_path_to_one_place_needs_no_library() -> None:
    import subprocess
    import sys

    script = (
        "import sys; from pamctl.rules.where_grammar import parsed\n"
        "from pamctl.rules.where import holds\n"
        "assert holds(parsed(['content[\"x y\"][0].z = 1']), {'canonical_content': "
        "{'x y': [{'z': 1}]}})\n"
        "assert 'jsonpath' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
