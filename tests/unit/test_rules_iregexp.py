"""I-Regexp: what it matches, what it refuses, and that nothing makes it slow."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pamctl.limits import PATTERN_STATES_MAX
from pamctl.rules.iregexp import Pattern, PatternError

MATCHES = [
    ("", "", True),
    ("", "a", False),
    ("abc", "abc", True),
    ("abc", "xabc", False),
    ("a|b|", "", True),
    ("(ab|cd)+", "abcdab", True),
    ("a{2,3}", "aaaa", False),
    ("a{2,}", "aaaa", True),
    ("a{0}b", "b", True),
    ("a{0}b", "ab", False),
    (".*", "any thing", True),
    (".*", "two\nlines", False),
    ("[a-c]x", "bx", True),
    ("[^a-c]", "b", False),
    ("[^a-c]", "\n", True),
    ("[-a]+", "a-a", True),
    ("[a-]+", "a-a", True),
    ("[\\]\\\\]+", "]\\", True),
    ("\\p{Lu}\\p{Ll}+", "Émile", True),
    ("[\\p{L}\\p{Nd}]+", "Größe1", True),
    ("\\P{N}+", "abc", True),
    ("\\P{N}+", "ab1", False),
    ("\\n\\t", "\n\t", True),
    ("\\.\\*", ".*", True),
    ("日.", "日本", True),
    ("^a", "^a", True),
]
REFUSED = [
    ("(", 0, "not closed"),
    ("a)", 1, "without its"),
    ("*a", 0, "stands for itself"),
    ("a**", 2, "stands for itself"),
    ("[", 0, "not closed, or empty"),
    ("[]", 0, "not closed, or empty"),
    ("[a", 0, "not closed"),
    ("[b-a]", 1, "from the smaller"),
    ("[a-b-c]", 4, "first, last"),
    ("[[a]", 1, "within brackets"),
    ("a{2,1}", 1, "m is smaller"),
    ("a{", 1, "begins"),
    ("a{x}", 1, "begins"),
    ("\\d", 0, "[0-9]"),
    ("\\W", 0, "A-Za-z0-9_"),
    ("\\b", 0, "no anchors"),
    ("\\", 0, "no escape"),
    ("\\p{Xx}", 0, "category"),
    ("\\pL", 0, "category"),
    ("a{9999}", 1, "PATTERN_STATES_MAX"),
    ("(" * 40 + ")" * 40, 32, "nest"),
]


@pytest.mark.parametrize(("pattern", "text", "expected"), MATCHES)
def test_the_whole_text_is_matched(pattern: str, text: str, expected: bool) -> None:
    assert Pattern(pattern).matches(text) is expected


@pytest.mark.parametrize(("pattern", "position", "said"), REFUSED)
def test_what_is_no_pattern_says_where(pattern: str, position: int, said: str) -> None:
    with pytest.raises(PatternError, match=re.escape(said)) as refusal:
        Pattern(pattern)
    assert refusal.value.position == position


def test_any_part_may_match() -> None:
    assert Pattern("b+").occurs_in("abbc")
    assert Pattern("").occurs_in("x")
    assert not Pattern("d").occurs_in("abc")


def pieces(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    quantifiers = st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,}", "{0}", "{3}"])
    return (
        st.tuples(inner, inner).map("".join)
        | st.tuples(inner, inner).map(lambda two: f"({two[0]}|{two[1]})")
        | st.tuples(inner, quantifiers).map(lambda two: f"({two[0]}){two[1]}")
    )


patterns = st.recursive(
    st.sampled_from(["a", "b", ".", "[ab]", "[^a]", "\\.", "(|a)"]), pieces, max_leaves=8
)


@given(patterns, st.lists(st.text("ab.c", max_size=8), min_size=1, max_size=5))
def test_it_agrees_with_a_backtracking_engine(pattern: str, texts: list[str]) -> None:
    try:
        ours = Pattern(pattern)
    except PatternError as refusal:
        assert "PATTERN_STATES_MAX" in str(refusal)  # noqa: PT017 large ones are refused
        return
    theirs = re.compile(pattern)
    for text in texts:
        assert ours.matches(text) == (theirs.fullmatch(text) is not None)
        assert ours.occurs_in(text) == (theirs.search(text) is not None)


@pytest.mark.parametrize(
    "pattern",
    [
        "(a*)*b",
        "(a|a)*b",
        "(a|aa)+b",
        "([a-z]+)*1",
        "(.*.*.*.*)*=",
        "(a?){300}a{300}",
        "(" * 30 + "a" + ")*" * 30,
    ],
)
def test_what_makes_others_explode_is_over_at_once(pattern: str) -> None:
    begun = time.process_time()
    Pattern(pattern).matches("a" * 20_000 + "!")
    assert time.process_time() - begun < 5


def test_a_machine_has_a_bound() -> None:
    assert Pattern("a" * (PATTERN_STATES_MAX // 2 - 2)).matches("b") is False
    with pytest.raises(PatternError):
        Pattern("((((a{9}){9}){9}){9}){9}")
