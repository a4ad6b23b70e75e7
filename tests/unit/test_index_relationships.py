"""What the index knows of relationships: which objects they join, now and as of a sequence."""

from __future__ import annotations

from typing import Any

import pytest

from pamctl.index.relationships import Link, Node
from pamctl.index.structured_query import StructuredQuery
from tests.hand_made_ledger import HandMadeLedger, table_rows

ALL = StructuredQuery(family="relationship")


@pytest.fixture
def ledger() -> HandMadeLedger:
    ledger = HandMadeLedger()
    for name in "abc":
        ledger.create(f"mem:{name}")
    return ledger


def relate(ledger: HandMadeLedger, name: str, source: str, target: str, **more: Any) -> None:
    ledger.commit_version(
        {
            "relationship_id": name,
            "scope_id": "workspace:here",
            "relationship_type": "supports",
            "source_object_id": source,
            "target_object_id": target,
            "directionality": "directed",
            "canonical_content": {},
        },
        "relationship_created",
        **more,
    )


def link(name: str, source: str, target: str, **more: Any) -> Link:
    plain = Link(name, source, target, None, "directed", deleted=False)
    return plain._replace(**more)


def test_links_are_found_by_either_end(ledger: HandMadeLedger) -> None:
    relate(ledger, "rel:ab", "mem:a", "mem:b")
    relate(ledger, "rel:bc", "mem:b", "mem:c", directionality="undirected")
    relate(ledger, "rel:bb", "mem:b", "mem:b")
    index = ledger.index()
    ab = link("rel:ab", "mem:a", "mem:b")
    bc = link("rel:bc", "mem:b", "mem:c", directionality="undirected")
    bb = link("rel:bb", "mem:b", "mem:b")
    assert index.links(ALL, touching=["mem:a"]) == [ab]
    assert sorted(index.links(ALL, touching=["mem:b"])) == [ab, bb, bc]
    assert sorted(index.links(ALL, touching=["mem:a", "mem:c"])) == [ab, bc]
    assert index.links(ALL, touching=[]) == []
    assert sorted(index.links(ALL)) == [ab, bb, bc]


def test_links_meet_the_filters_of_the_query(ledger: HandMadeLedger) -> None:
    relate(ledger, "rel:1", "mem:a", "mem:b")
    relate(ledger, "rel:2", "mem:a", "mem:b", relationship_type="refutes")
    relate(ledger, "rel:3", "mem:a", "mem:b", validation_state="rejected")

    def found(**filters: Any) -> list[str]:
        query = StructuredQuery(family="relationship", **filters)
        return sorted(each.relationship_id for each in ledger.index().links(query))

    assert found(object_type=["refutes"]) == ["rel:2"]
    assert found(validation_state=["corroborated"]) == ["rel:1", "rel:2"]


def test_only_the_version_of_the_time_counts(ledger: HandMadeLedger) -> None:
    relate(ledger, "rel:ab", "mem:a", "mem:b")
    then = ledger.sequence
    ledger.revise("rel:ab", "object_deleted", availability_state="deleted")
    index = ledger.index()
    assert index.links(ALL) == [link("rel:ab", "mem:a", "mem:b", deleted=True)]
    as_of = StructuredQuery(family="relationship", as_of=then)
    assert index.links(as_of) == [link("rel:ab", "mem:a", "mem:b")]
    assert index.links(StructuredQuery(family="relationship", as_of=then - 1)) == []


def test_a_target_in_another_scope_is_no_object_of_this(ledger: HandMadeLedger) -> None:
    relate(ledger, "rel:ab", "mem:a", "mem:b", target_scope_id="workspace:there")
    relate(ledger, "rel:ac", "mem:a", "mem:c", target_scope_id="workspace:here")
    index = ledger.index()
    across = link("rel:ab", "mem:a", "mem:b", target_scope_id="workspace:there")
    assert index.links(ALL, touching=["mem:b"]) == []
    assert index.links(ALL, touching=["mem:c"]) == [link("rel:ac", "mem:a", "mem:c")]
    assert across in index.links(ALL, touching=["mem:a"])
    assert index.links_between("mem:a", "mem:b", "supports") == [across]


def test_links_between_two_objects_either_way(ledger: HandMadeLedger) -> None:
    relate(ledger, "rel:ab", "mem:a", "mem:b")
    relate(ledger, "rel:ba", "mem:b", "mem:a")
    relate(ledger, "rel:ac", "mem:a", "mem:c")
    ledger.revise("rel:ab", "relationship_updated")
    index = ledger.index()
    names = [each.relationship_id for each in index.links_between("mem:a", "mem:b", "supports")]
    assert sorted(names) == ["rel:ab", "rel:ba"]
    assert index.links_between("mem:b", "mem:c", "supports") == []
    assert index.links_between("mem:a", "mem:b", "refutes") == []


def test_a_relationship_of_which_nothing_is_left_joins_nothing(ledger: HandMadeLedger) -> None:
    relate(ledger, "rel:ab", "mem:a", "mem:b", gone=True)
    index = ledger.index()
    assert index.current("rel:ab") is not None
    assert index.links(ALL) == []


def test_nodes_are_the_objects_that_meet_the_filters(ledger: HandMadeLedger) -> None:
    ledger.revise("mem:b", "object_deleted", availability_state="deleted")
    relate(ledger, "rel:ab", "mem:a", "mem:b")
    index = ledger.index()
    among = ["mem:a", "mem:b", "rel:ab", "mem:nowhere"]
    assert index.nodes(StructuredQuery(among=among)) == {
        "mem:a": Node("claim", deleted=False),
        "mem:b": Node("claim", deleted=True),
    }
    trusted = StructuredQuery(among=among, availability_state=["available"])
    assert set(index.nodes(trusted)) == {"mem:a"}


def test_a_search_may_be_kept_to_any_number_of_objects(ledger: HandMadeLedger) -> None:
    index = ledger.index()
    among = {"mem:a", "mem:c", *(f"mem:other:{n}" for n in range(50_000))}
    page = index.search(StructuredQuery(among=among, count=True))
    assert ([row.object_id for row in page.rows], page.total) == (["mem:a", "mem:c"], 2)
    assert index.search(StructuredQuery(among=[], count=True)).total == 0


def test_a_promotion_concerns_both_objects(ledger: HandMadeLedger) -> None:
    ledger.event(
        "working_memory_promoted",
        object_id="mem:a",
        payload={"source_object_id": "mem:a", "target_object_id": "mem:b"},
    )
    index = ledger.index()
    for name in ("mem:a", "mem:b"):
        assert [place.sequence for place in index.events(object_id=name)][-1] == ledger.sequence
    assert len(index.events(object_id="mem:c")) == 1


def test_an_index_made_anew_holds_the_same_links(ledger: HandMadeLedger) -> None:
    relate(ledger, "rel:ab", "mem:a", "mem:b")
    index = ledger.index()
    ledger.revise("rel:ab", "relationship_updated", directionality="bidirectional")
    relate(ledger, "rel:bc", "mem:b", "mem:c", target_scope_id="workspace:there")
    from tests.hand_made_ledger import bring_up_to_date

    bring_up_to_date(index, ledger)
    assert table_rows(index)["relationship"] == table_rows(ledger.index())["relationship"]
    assert len(table_rows(index)["relationship"]) == 3
