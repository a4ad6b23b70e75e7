"""Whatever the candidates and the limits, each candidate ends in exactly one place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from pamctl.errors import PolicyDenied
from pamctl.projection import held
from pamctl.projection.choice import DELIVERED, Candidate, Limits, Quota, choose
from pamctl.projection.source import OpenedSource, SourceRefused
from tests.projections import UNVERIFIED, native

REFUSED = st.sampled_from(["authentication_failed", "schema_invalid"]).map(
    lambda reason: SourceRefused(reason, "as it came")  # type: ignore[arg-type]
)
OPENED = st.tuples(st.integers(0, 40), st.sampled_from([{}, UNVERIFIED])).map(
    lambda made: OpenedSource(native(b"", **made[1]), b"x" * made[0])
)
BOUND = st.none() | st.integers(0, 6)


@st.composite
def scenes(draw: st.DrawFn) -> tuple[list[Candidate], list[str], list[str], Limits]:
    results = draw(st.lists(REFUSED | OPENED, max_size=12))
    items = [Candidate(f"c{number}", b"", result) for number, result in enumerate(results)]
    names = [item.name for item in items]
    found = draw(st.permutations(names))[: draw(st.integers(0, len(names)))]
    unwanted = draw(st.lists(st.sampled_from(names), max_size=4)) if names else []
    quotas = draw(
        st.lists(
            st.builds(
                lambda objects, size: Quota(
                    "derived_trust",
                    lambda _, opened: opened.native["derived_trust"],
                    objects=objects,
                    bytes=size,
                ),
                BOUND,
                st.none() | st.integers(0, 100),
            ),
            max_size=2,
        )
    )
    limits = Limits(
        objects=draw(st.integers(0, 12)),
        bytes=draw(st.integers(0, 200)),
        tokens=draw(st.none() | st.integers(0, 200)),
        count_tokens=len,
        quotas=tuple(quotas),
        at_limit=draw(st.sampled_from(["skip", "stop", "refuse"])),
    )
    return items, list(found), unwanted, limits


class Passing:
    """Candidates that are not held."""

    def __init__(self, items: Sequence[Candidate]) -> None:
        self._items = items

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self._items)

    def again(self, names: Sequence[str]) -> Iterator[Candidate]:
        return (item for item in self._items if item.name in names)


@given(scenes())
def test_each_candidate_ends_in_one_place(scene: Any) -> None:
    items, found, unwanted, limits = scene

    def chosen(candidates: Any = items) -> Any:
        return choose(
            candidates,
            found,
            limits,
            facts=lambda one: {},
            unmet=lambda one, opened: "unwanted" if one.name in unwanted else None,
            unfound=lambda one, opened: None,
        )

    try:
        choice = chosen()
    except PolicyDenied:
        assert limits.at_limit == "refuse"
        return
    delivered = [candidate.name for candidate, _ in choice.chosen]
    assert len(delivered) + sum(choice.excluded.values()) == len(items)
    assert sorted(fate.name for fate in choice.fates) == sorted(i.name for i in items)
    assert [f.name for f in choice.fates if f.place == DELIVERED] == delivered
    # Delivered is what was found and wanted, in that order, within every bound.
    assert delivered == [name for name in found if name in delivered]
    assert not set(delivered) & set(unwanted)
    size = sum(len(opened.fragment) for _, opened in choice.chosen)
    assert len(delivered) <= limits.objects
    assert size <= limits.bytes
    assert limits.tokens is None or size <= limits.tokens
    for quota in limits.quotas:
        for level in ("trusted", "unverified"):
            group = [o for _, o in choice.chosen if o.native["derived_trust"] == level]
            assert quota.objects is None or len(group) <= quota.objects
            assert quota.bytes is None or sum(len(o.fragment) for o in group) <= quota.bytes
    # Whoever was refused by its source profile is counted there, wanted and found or not.
    for reason in ("authentication_failed", "schema_invalid"):
        refused = [
            item
            for item in items
            if isinstance(item.result, SourceRefused) and item.result.reason == reason
        ]
        assert choice.excluded[reason] == len(refused)
    again = chosen()
    assert (again.fates, again.excluded) == (choice.fates, choice.excluded)
    # And so it is where next to nothing is held.
    with mock.patch.object(held, "HELD_BYTES_MAX", 2100):
        assert chosen(Passing(items)) == choice
