"""What holds of every ledger: it reads as it was committed, and no change to it goes unseen."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pamctl.encoding.canonical import canonical
from pamctl.errors import StoreDamaged
from pamctl.store.commit import NewEntry, NewVersion
from pamctl.store.layout import ScopeLayout
from pamctl.store.ledger import Ledger
from pamctl.store.records import START, Transaction
from pamctl.store.versions import Versions
from tests.scope_ledgers import commit, end, event, new_scope, transactions

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
contents = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e9, 1e9) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
# A commit is a list of transactions, a transaction a list of entries: the content of a version
# that an event commits, or None for an entry without one.
transaction_plans = st.lists(st.none() | contents, min_size=1, max_size=3)
commit_plans = st.lists(st.lists(transaction_plans, min_size=1, max_size=3), max_size=4)


@contextlib.contextmanager
def scope() -> Iterator[ScopeLayout]:
    with tempfile.TemporaryDirectory() as folder:
        yield new_scope(Path(folder) / ".pam")


def build(layout: ScopeLayout, plan: list[list[list[Any]]]) -> list[Transaction]:
    """Carry a plan out; what each commit said that it committed."""
    sequence, serial = 0, 0
    committed: list[Transaction] = []
    for group in plan:
        new = []
        for contents_of_one in group:
            entries = []
            for content in contents_of_one:
                serial += 1
                if content is None:
                    entries.append(NewEntry("policy", {"policy": {"serial": serial}}))
                    continue
                sequence += 1
                salt = serial.to_bytes(16, "big")
                sealed = NewVersion.seal({"canonical_content": content}, salt)
                entries.append(event(sequence, sealed))
            new.append(entries)
        committed += commit(layout, *new)
    return committed


@settings(max_examples=25)
@given(commit_plans)
def test_a_reader_finds_what_was_committed(plan: list[list[list[Any]]]) -> None:
    with scope() as layout:
        committed = build(layout, plan)
        found = transactions(layout)
        assert found[1:] == committed
        versions = Versions(layout)
        contents_found = []
        for transaction in found:
            for stored in transaction.versions.values():
                assert stored.envelope is not None
                contents_found.append(stored.envelope["canonical_content"])
                assert versions.read(stored).startswith(b'{"envelope":{"canonical_content":')
        planned = [c for group in plan for one in group for c in one if c is not None]
        assert sorted(map(canonical, contents_found)) == sorted(map(canonical, planned))


@settings(max_examples=25)
@given(commit_plans.filter(bool), st.data())
def test_no_changed_byte_goes_unseen_but_in_the_last_line(
    plan: list[list[list[Any]]], data: Any
) -> None:
    """What is yielded before the damage is seen is what was committed; the last line read is
    vouched for by the line behind it alone, and by whoever pins the head."""
    with scope() as layout:
        build(layout, plan)
        whole, original = transactions(layout), layout.ledger.read_bytes()
        last = end(layout)
        place = data.draw(st.integers(0, last.offset - last.head_bytes - 1))
        changed = bytearray(original)
        changed[place] ^= data.draw(st.integers(1, 255))
        layout.ledger.write_bytes(changed)
        found: list[Transaction] = []
        seen = False
        try:
            found.extend(Ledger(layout).transactions(START))
        except StoreDamaged:
            seen = True
        # A byte that becomes NUL may pass for a power cut: then the rest is not read at all.
        assert seen or (changed[place] == 0 and len(found) < len(whole))
        untouched = [one for one in whole if one.after.offset <= place]
        assert found[: len(untouched)] == untouched
        assert len(found) <= len(untouched) + 1


@settings(max_examples=25)
@given(commit_plans.filter(bool), st.data())
def test_any_tail_of_bytes_yields_the_transactions_before_it(
    plan: list[list[list[Any]]], data: Any
) -> None:
    with scope() as layout:
        build(layout, plan)
        whole, original = transactions(layout), layout.ledger.read_bytes()
        cut = data.draw(st.integers(0, len(original)))
        tail = data.draw(st.binary(max_size=30))
        layout.ledger.write_bytes(original[:cut] + tail)
        before = [one for one in whole if one.after.offset <= cut]
        found: list[Transaction] = []
        with contextlib.suppress(StoreDamaged):
            found.extend(Ledger(layout).transactions(START))
        assert found[: len(before)] == before
        # The tail may happen to complete what was cut; it cannot make up anything else.
        assert found == whole[: len(found)]
