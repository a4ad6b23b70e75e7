"""Lexical search takes any text, finds what holds its words, and pages stay put."""

from __future__ import annotations

import dataclasses
import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pamctl.index import best_matches
from pamctl.index.lexical import fts_expression
from pamctl.index.scope_index import ScopeIndex
from pamctl.index.structured_query import StructuredQuery
from tests.hand_made_ledger import HandMadeLedger, bring_up_to_date

WORDS = ["apple", "pear", "plum", "Äpfel", "and", "near", "x1"]
PIECES = [
    *WORDS, "AND", "OR", "NOT", "NEAR", "NEAR/2", "NEAR(", "(", ")", '"', "*", "+", "-", "^",
    ":", "{", "}", ",", "5", "\\", "'", ";", "--", "\x00", "\ud800", "\u0301", "é", "日本", " ",
]  # fmt: skip

contents = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)


def three_objects() -> ScopeIndex:
    ledger = HandMadeLedger()
    ledger.create("mem:a", {"apple": "pear plum", "n": ["Äpfel", "x1 near"]})
    ledger.create("mem:b", "apple and pear")
    ledger.create("mem:c", "日本 é")
    return ledger.index()


INDEX = three_objects()


@given(st.text(st.characters(), max_size=80) | st.lists(st.sampled_from(PIECES)).map("".join)
       | st.lists(st.sampled_from(PIECES)).map(" ".join))  # fmt: skip
def test_no_text_is_an_error(text: str) -> None:
    page = INDEX.search(StructuredQuery(text=text[:4000], count=True))
    assert len(page.rows) == page.total
    if fts_expression(text[:4000]) is None:
        assert not any(character.isalnum() for character in text[:4000])


@given(
    stored=st.lists(contents, min_size=1, max_size=8),
    asked=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3),
)
def test_plain_words_are_alternatives(stored: list[str], asked: list[str]) -> None:
    ledger = HandMadeLedger()
    for number, content in enumerate(stored):
        ledger.create(f"mem:{number}", {"t": content})
    page = ledger.index().search(StructuredQuery(text=" ".join(asked)))
    # A function word counts only where there is no other.
    meant = set(asked) - {"and"} or {"and"}
    holding = {
        f"mem:{number}" for number, content in enumerate(stored) if set(content.split()) & meant
    }
    assert {row.object_id for row in page.rows} == holding
    assert page.relevance == sorted(page.relevance, reverse=True)


@given(
    stored=st.lists(contents, min_size=1, max_size=8),
    later=st.lists(st.tuples(st.integers(0, 9), contents), max_size=6),
    text=st.lists(st.sampled_from([*WORDS, "app*", "NOT", "AND"]), min_size=1, max_size=4),
    limit=st.integers(1, 3),
)
def test_pages_stay_while_others_write(
    stored: list[str], later: list[tuple[int, str]], text: list[str], limit: int
) -> None:
    ledger = HandMadeLedger()
    for number, content in enumerate(stored):
        ledger.create(f"mem:{number}", content)
    index = ledger.index()
    query = StructuredQuery(text=" ".join(text), as_of=ledger.sequence, limit=limit)
    whole = index.search(dataclasses.replace(query, limit=1000))
    rows, relevance = [], []
    key, writes = None, iter(later)
    while True:
        page = index.search(dataclasses.replace(query, after_key=key))
        rows += [row.version_id for row in page.rows]
        relevance += page.relevance
        key = page.next_key
        if key is None:
            break
        for number, content in itertools.islice(writes, 2):
            if f"mem:{number}" in ledger.envelopes:
                ledger.revise(f"mem:{number}", canonical_content=content)
            else:
                ledger.create(f"mem:{number}", content)
        bring_up_to_date(index, ledger)
    assert rows == [row.version_id for row in whole.rows]
    assert relevance == whole.relevance


@given(
    stored=st.lists(st.tuples(contents, st.booleans()), min_size=1, max_size=12),
    text=st.lists(st.sampled_from(WORDS), min_size=1, max_size=2),
    limit=st.integers(1, 3),
    order_by=st.sampled_from(
        [[], ["relevance", "object_id:desc"], ["relevance", "observed_at:desc", "valid_from"]]
    ),
)
def test_which_way_the_best_are_found_changes_no_page(
    stored: list[tuple[str, bool]], text: list[str], limit: int, order_by: list[str]
) -> None:
    ledger = HandMadeLedger()
    for number, (content, asked_for) in enumerate(stored):
        observed = {"observed_at": f"2026-01-0{number % 3 + 1}T00:00:00Z"} if number % 2 else {}
        kind = "task" if asked_for else "claim"
        ledger.create(f"mem:{number}", content, object_type=kind, **observed)
    index = ledger.index()
    query = StructuredQuery(
        text=" ".join(text), object_type=["task"], limit=limit, order_by=order_by
    )

    def pages(**way: int) -> list[tuple[list[str], list[int]]]:
        found, key = [], None
        with pytest.MonkeyPatch.context() as patched:
            for name, number in way.items():
                patched.setattr(best_matches, name, number)
            while True:
                page = index.search(dataclasses.replace(query, after_key=key))
                found.append(([row.version_id for row in page.rows], page.relevance))
                key = page.next_key
                if key is None:
                    return found

    gathered = pages(_FIRST=1000)
    assert gathered == pages(_FIRST=1, _FAR_APART=0, _GATHERED_MAX=1000)
    assert gathered == pages(_FIRST=1, _FAR_APART=0, _GATHERED_MAX=1, _BEST_PER_ITEM=1)
    assert gathered == pages(_FIRST=1, _FAR_APART=1000, _BEST_PER_ITEM=1)
    assert gathered == pages(_FIRST=1, _FAR_APART=1000, _BEST_PER_ITEM=100)
    # Without a filter there are others.
    query = dataclasses.replace(query, object_type=None)
    ranked = pages()
    assert ranked == pages(_BEST_PER_ITEM=1, _BEST_MAX_PER_ITEM=1)
    assert ranked == pages(_BEST_PER_ITEM=1, _BEST_MAX_PER_ITEM=2)
    query = dataclasses.replace(query, object_type=["task", "claim"])
    assert ranked == pages(_FIRST=1000)


@given(st.text(max_size=60), st.text(max_size=60))
def test_every_word_of_a_text_finds_it(before: str, after: str) -> None:
    ledger = HandMadeLedger()
    ledger.create("mem:a", {"text": f"{before} needle {after}"})
    index = ledger.index()
    for word in ("needle", *re.findall(r"[A-Za-z0-9]+", f"{before} {after}")):
        # Next to a letter of another script, a run of ASCII letters is not a word.
        if re.search(rf"(?<![^\s]){word}(?![^\s])", f"{before} needle {after}"):
            assert len(index.search(StructuredQuery(text=f'"{word}"')).rows) == 1
