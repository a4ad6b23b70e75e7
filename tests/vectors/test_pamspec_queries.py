"""The query documents of the PAMSPEC authors, asked of a store: answered or refused as they say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pamctl.bindings.operations import perform
from pamctl.encoding.canonical import canonical
from pamctl.errors import PamError
from pamctl.service.store import Store
from tests.shared import shared_path

pytestmark = pytest.mark.shared

SCOPE = "workspace:example"
ACTOR = {"actor_id": "actor:local:tester", "actor_kind": "human"}


def document(*parts: str) -> Any:
    return json.loads(shared_path("vectors", "pamspec", *parts).read_text(encoding="utf-8"))


@pytest.fixture
def filled(store: Store) -> Store:
    """Trusted memories and others, not in the order of their identifiers."""
    for number, state in enumerate(("corroborated", "unverified", "corroborated", "disputed")):
        store.create(
            scope_id=SCOPE,
            actor=ACTOR,
            provenance={"activity": "noted"},
            object_id=f"mem:{9 - number}",
            object_type="claim",
            canonical_content={"text": f"persistent memory {number}"},
            validation_state=state,
        )
    return store


def test_the_structured_query_is_answered(filled: Store) -> None:
    asked = document("vectors", "valid", "structured-query.json")
    answer = perform(filled, "query", asked)
    # Its tie-break: the version's number, which they share, then the identifier.
    assert [item["object_id"] for item in answer["items"]] == ["mem:7", "mem:9"]
    assert canonical(perform(filled, "query", asked)) == canonical(answer)


@pytest.mark.parametrize("limit", [1, 2])
def test_its_pages_are_its_pieces(filled: Store, limit: int) -> None:
    asked = document("vectors", "valid", "structured-query.json")
    found, page = [], {"limit": limit}
    while True:
        answer = perform(filled, "query", {**asked, "pagination": page})
        found += [item["object_id"] for item in answer["items"]]
        if answer["next_cursor"] is None:
            break
        page = {"limit": limit, "cursor": answer["next_cursor"]}
    assert found == ["mem:7", "mem:9"]


@pytest.mark.parametrize(
    "parts",
    [
        ("vectors", "valid", "semantic-query-with-embedding-space.json"),
        ("examples", "semantic-query.json"),
    ],
)
def test_a_semantic_query_needs_the_space_that_it_names(
    filled: Store, parts: tuple[str, ...]
) -> None:
    with pytest.raises(PamError) as refusal:
        perform(filled, "query", document(*parts))
    assert refusal.value.code == "embedding_space_mismatch"


def test_the_four_kinds_of_the_published_schema_are_ours(filled: Store) -> None:
    published = document("schemas", "query.schema.json")
    kinds = published["properties"]["query"]["properties"]["kind"]["enum"]
    bases = published["properties"]["query"]["properties"]["temporal_basis"]["enum"]
    asked = document("vectors", "valid", "structured-query.json")
    assert set(kinds) == {"structured", "semantic", "hybrid", "temporal"}
    for basis in bases:
        temporal = {**asked["query"], "kind": "temporal", "temporal_basis": basis}
        answer = perform(filled, "query", {**asked, "query": temporal})
        assert len(answer["items"]) == 2
