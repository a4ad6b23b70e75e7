"""PAMSPEC §10.6 and §11: query and retrieval."""

from typing import Any

import pytest

import pamctl
from pamctl.bindings.operations import perform
from pamctl.encoding.canonical import canonical
from pamctl.errors import InvalidRequest
from tests.conformance.memories import AGENT, HUMAN, Memories

DAYS = [f"2026-01-0{day}T00:00:00Z" for day in range(1, 8)]


@pytest.fixture
def filled(memories: Memories) -> Memories:
    """Seven memories that differ in everything that can be filtered."""
    types = ("claim", "decision", "task", "entity", "summary", "artifact", "observation")
    for number, object_type in enumerate(types):
        memories.create(
            {"text": f"tea number {number}", "common": "leaf"},
            object_id=f"mem:{number}",
            object_type=object_type,
            lifecycle_state=("active", "candidate")[number % 2],
            retention_state=("retained", "expired", "legal_hold")[number % 3],
            validation_state=("unverified", "corroborated", "disputed", "rejected")[number % 4],
            schema_id=f"urn:schema:{number % 2}",
            observed_at=DAYS[number],
            asserted_at=DAYS[6 - number],
            valid_from=DAYS[number],
            actor=(HUMAN, AGENT)[number % 2],
            provenance={
                "provenance_id": f"prov:{number}",
                "activity": "observed",
                "source_ref": f"urn:source:{number % 3}",
            },
        )
    return memories


def numbers(items: list[dict[str, Any]]) -> list[int]:
    return sorted(int(item["object_id"][4:]) for item in items)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, [0, 1, 2, 3, 4, 5, 6]),
        ({"object_type": ["claim", "task"]}, [0, 2]),
        ({"lifecycle_state": ["candidate"]}, [1, 3, 5]),
        ({"availability_state": ["available"]}, [0, 1, 2, 3, 4, 5, 6]),
        ({"availability_state": ["deleted"]}, []),
        ({"retention_state": ["legal_hold", "expired"]}, [1, 2, 4, 5]),
        ({"validation_state": ["rejected"]}, [3]),
        ({"schema_id": ["urn:schema:1"]}, [1, 3, 5]),
        ({"provenance_id": ["prov:4"]}, [4]),
        ({"source_ref": ["urn:source:0"]}, [0, 3, 6]),
        ({"actor_id": [AGENT["actor_id"]]}, [1, 3, 5]),
        ({"actor_id": [AGENT["actor_id"]], "source_ref": ["urn:source:0"]}, [3]),
        ({"text": "number"}, [0, 1, 2, 3, 4, 5, 6]),
        ({"text": '"number 4"'}, [4]),
        ({"text": "tea", "object_type": ["entity"]}, [3]),
        ({"temporal": {"basis": "observed_at", "from": DAYS[1], "until": DAYS[3]}}, [1, 2, 3]),
        ({"temporal": {"basis": "asserted_at", "from": DAYS[5]}}, [0, 1]),
        ({"temporal": {"basis": "valid_time", "until": DAYS[2]}}, [0, 1, 2]),
        ({"temporal": {"basis": "sequence", "from": 6}}, [5, 6]),
        ({"as_of": 3}, [0, 1, 2]),
        ({"object_id": ["mem:2", "mem:5"]}, [2, 5]),
        ({"activity": ["observed"], "object_type": ["task"]}, [2]),
        ({"integrity_digest": ["none"]}, []),
        ({"where": ['actor.actor_kind = "agent"']}, [1, 3, 5]),
        ({"where": ['provenance.source_ref = "urn:source:1" and sequence = 1']}, [1, 4]),
        ({"where": [f'valid_from < instant("{DAYS[2]}")']}, [0, 1]),
        ({"where": ["integrity exists"]}, []),
        ({"where": ['content.text contains "4" or schema_id = "urn:schema:1"']}, [1, 3, 4, 5]),
    ],
)
def test_11_filters_over_authoritative_members(
    filled: Memories, filters: dict[str, Any], expected: list[int]
) -> None:
    assert numbers(filled.found(**filters)) == expected
    counted = filled.perform("query", any_state=True, count=True, limit=1, **filters)
    assert counted["total"] == len(expected)


def test_11_commit_and_record_time(filled: Memories) -> None:
    third = filled.read("mem:2")["committed_at"]
    for basis in ("committed_at", "recorded_at"):
        found = filled.found(temporal={"basis": basis, "from": third, "until": third})
        assert numbers(found) == [2]


def test_10_6_a_query_stays_in_its_scope(filled: Memories) -> None:
    other = Memories(filled.store, "project:other")
    secret = other.create({"text": "tea of others"}, validation_state="corroborated")
    assert numbers(filled.found(text="tea")) == list(range(7))
    assert secret not in filled.found()
    assert filled.found(text="others") == []
    assert other.found(text="tea") == [secret]


@pytest.mark.parametrize("operation", ["query", "log"])
@pytest.mark.parametrize(
    "scope", [{}, {"scope_id": "*"}, {"scope_id": "project:*"}, {"scope_id": ["project:other"]}]
)
def test_10_6_no_question_goes_over_all_scopes(
    memories: Memories, operation: str, scope: dict[str, Any]
) -> None:
    """Neither by leaving the scope out nor by a pattern in its place."""
    Memories(memories.store, "project:other").create("tea", validation_state="corroborated")
    with pytest.raises(InvalidRequest):
        perform(memories.store, operation, scope)


def test_11_default_retrieval_is_conservative(filled: Memories) -> None:
    trusted = filled.create("trusted", object_id="mem:8", validation_state="corroborated")
    assert filled.perform("query")["items"] == [trusted]


@pytest.mark.parametrize(
    "order",
    [[], ["observed_at"], ["observed_at:desc"], ["object_type"], ["sequence"], ["object_id:desc"]],
)
def test_11_order_is_total_and_pages_are_its_pieces(filled: Memories, order: list[str]) -> None:
    whole = filled.found(order_by=order)
    assert whole == filled.found(order_by=order)
    pieces: list[Any] = []
    cursor: dict[str, str] = {}
    while True:
        page = filled.perform("query", any_state=True, order_by=order, limit=2, **cursor)
        pieces += page["items"]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert pieces == whole


def test_11_ties_are_broken_by_ids(memories: Memories) -> None:
    """In an order that all share, documented: object id, then version id."""
    for name in ("c", "a", "b"):
        memories.create("same", object_id=f"mem:{name}", observed_at=DAYS[0])
    for order in (["observed_at"], ["observed_at:desc"], ["object_type"]):
        found = [item["object_id"] for item in memories.found(order_by=order)]
        assert found == ["mem:a", "mem:b", "mem:c"]


def test_11_a_page_does_not_move_while_others_write(filled: Memories) -> None:
    whole = filled.found()
    first = filled.perform("query", any_state=True, limit=3)
    filled.create("new", object_id="mem:9")
    filled.move(filled.read("mem:5"), "lifecycle", "archived")
    second = filled.perform("query", any_state=True, limit=100, cursor=first["next_cursor"])
    assert first["items"] + second["items"] == whole


def test_11_a_cursor_is_of_its_query(filled: Memories) -> None:
    cursor = filled.perform("query", any_state=True, limit=2)["next_cursor"]
    for other in ({"object_type": ["claim"]}, {"order_by": ["object_id"]}):
        with pytest.raises(InvalidRequest):
            filled.perform("query", any_state=True, limit=2, cursor=cursor, **other)
    with pytest.raises(InvalidRequest):
        filled.perform("query", any_state=True, limit=2, cursor=cursor[:-2] + "xx")


def test_11_an_envelope_is_the_same_however_often_it_is_asked_for(filled: Memories) -> None:
    """From every operation that answers it, in this process and in another."""
    made = filled.read("mem:3")
    anew = Memories(pamctl.open_store(filled.store.path))
    for each in (filled, anew):
        for _ in range(3):
            answers = [
                each.read("mem:3"),
                each.read("mem:3", version_id=made["version_id"]),
                each.versions(made)[0],
                each.found(object_type=["entity"])[0],
            ]
            assert {canonical(answer) for answer in answers} == {canonical(made)}


def test_11_an_envelope_holds_nothing_of_the_call(filled: Memories) -> None:
    """Whoever asks, under whatever name for the operation, gets the same members."""
    asked = [
        {"operation_id": "op:one", "actor": HUMAN},
        {"operation_id": "op:two", "actor": AGENT},
        {},
    ]
    assert len({canonical(filled.read("mem:3", **more)) for more in asked}) == 1
    assert len({canonical(filled.found(**more)) for more in asked}) == 1


@pytest.mark.parametrize(
    "query",
    [
        {"any_state": True},
        {"any_state": True, "text": "tea leaf"},
        {"any_state": True, "order_by": ["observed_at:desc"], "limit": 3, "count": True},
        {"any_state": True, "text": "number", "explain": True},
        {"validation_state": ["disputed"]},
        {"any_state": True, "as_of": 4},
    ],
)
def test_11_a_result_set_is_the_same_bytes_every_time(
    filled: Memories, query: dict[str, Any]
) -> None:
    answers = {canonical(filled.perform("query", **query)) for _ in range(3)}
    anew = Memories(pamctl.open_store(filled.store.path))
    answers.add(canonical(anew.perform("query", **query)))
    assert len(answers) == 1
    # That an index was rebuilt is an event, so the ledger has one more; the items are the same.
    items = anew.perform("query", **query)["items"]
    anew.store.rebuild_index(scope_id=anew.scope_id)
    assert canonical(anew.perform("query", **query)["items"]) == canonical(items)


def test_12_an_answer_says_from_which_index_it_came(filled: Memories) -> None:
    answer = filled.perform("query")
    assert answer["index"]["fresh"] is True
    assert answer["index"]["ledger_sequence"] == answer["ledger_sequence"] == 7
    assert answer["index"]["index_id"]
