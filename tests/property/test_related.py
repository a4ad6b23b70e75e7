"""A walk along relationships against a plain walk over a plain graph, and against the same
graph without what the actor may not see."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

import pamctl
from pamctl.rules.authorization import default_policy
from pamctl.service.store import Store

SCOPE = "workspace:default"
HUMAN = {"actor_id": "actor:local:tester", "actor_kind": "human"}
AGENT = {"actor_id": "actor:agent:helper", "actor_kind": "agent"}
COMMON = {"scope_id": SCOPE, "actor": HUMAN, "provenance": {"activity": "noted"}}
NAMES = tuple(f"mem:{n}" for n in range(7))
HIDDEN_TYPE = "decision"


class Edge(NamedTuple):
    source: str
    target: str
    kind: str
    directionality: str
    validation: str


class Graph(NamedTuple):
    """types and validations: by object, of NAMES."""

    types: tuple[str, ...]
    validations: tuple[str, ...]
    edges: tuple[Edge, ...]


class Walk(NamedTuple):
    start: str
    depth: int
    direction: str
    kinds: tuple[str, ...] | None
    validations: tuple[str, ...]


validations = st.sampled_from(("unverified", "corroborated"))
edges = st.builds(
    Edge,
    st.sampled_from(NAMES),
    st.sampled_from(NAMES),
    st.sampled_from(("supports", "refutes")),
    st.sampled_from(("directed", "directed", "bidirectional", "undirected")),
    validations,
)
graphs = st.builds(
    Graph,
    st.tuples(*(st.sampled_from(("claim", "claim", HIDDEN_TYPE)) for _ in NAMES)),
    st.tuples(*(validations for _ in NAMES)),
    st.lists(edges, max_size=12, unique_by=lambda edge: (frozenset(edge[:2]), edge.kind)).map(
        tuple
    ),
)
walks = st.builds(
    Walk,
    st.sampled_from(NAMES),
    st.integers(1, 4),
    st.sampled_from(("out", "in", "both")),
    st.sampled_from((None, ("supports",), ("supports", "refutes"))),
    st.sampled_from((("corroborated",), ("corroborated", "unverified"))),
)


def built(folder: str, graph: Graph, names: tuple[str, ...]) -> Store:
    """A store with the objects of these names, and what relates them to one another."""
    store = pamctl.init_store(Path(folder) / ".pam")
    with store.group() as group:
        for name, object_type, validation in zip(
            NAMES, graph.types, graph.validations, strict=True
        ):
            if name in names:
                group.perform(
                    "create",
                    {
                        **COMMON,
                        "object_id": name,
                        "object_type": object_type,
                        "canonical_content": name,
                        "validation_state": validation,
                    },
                )
        for n, edge in enumerate(graph.edges):
            if edge.source in names and edge.target in names:
                group.perform(
                    "relate",
                    {
                        **COMMON,
                        "relationship_id": f"rel:{n}",
                        "source_object_id": edge.source,
                        "target_object_id": edge.target,
                        "relationship_type": edge.kind,
                        "directionality": edge.directionality,
                        "validation_state": edge.validation,
                    },
                )
    return store


def asked(store: Store, walk: Walk, actor: dict[str, str], **more: Any) -> dict[str, Any]:
    related_to: dict[str, Any] = {
        "object_id": walk.start,
        "depth": walk.depth,
        "direction": walk.direction,
    }
    if walk.kinds is not None:
        related_to["relationship_types"] = list(walk.kinds)
    return store.query(
        scope_id=SCOPE,
        actor=actor,
        validation_state=list(walk.validations),
        related_to=related_to,
        count=True,
        **more,
    )


def shown(answer: dict[str, Any]) -> tuple[set[str], int]:
    items = answer["items"]
    found = {item.get("object_id") or item["relationship_id"] for item in items}
    assert len(found) == len(items)
    return found, answer["total"]


def walked(graph: Graph, walk: Walk) -> tuple[set[str], set[str]]:
    """What is reached, and what is walked along, by the simplest of means."""
    good = {
        name
        for name, validation in zip(NAMES, graph.validations, strict=True)
        if validation in walk.validations
    }
    reached, frontier, along = {walk.start}, {walk.start}, set()
    for _ in range(walk.depth):
        following = set()
        for n, edge in enumerate(graph.edges):
            if edge.validation not in walk.validations:
                continue
            if walk.kinds is not None and edge.kind not in walk.kinds:
                continue
            ways = {(edge.source, edge.target)} if walk.direction != "in" else set()
            if walk.direction != "out":
                ways.add((edge.target, edge.source))
            if edge.directionality != "directed":
                ways = {(edge.source, edge.target), (edge.target, edge.source)}
            for start, end in ways:
                if start in frontier:
                    along.add(f"rel:{n}")
                    following.add(end)
        frontier = (following & good) - reached
        reached |= frontier
    return reached - {walk.start}, along


@settings(max_examples=60)
@given(graph=graphs, walk=walks)
def test_a_walk_reaches_what_a_plain_walk_reaches(graph: Graph, walk: Walk) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = built(folder, graph, NAMES)
        reached, along = walked(graph, walk)
        assert shown(asked(store, walk, HUMAN)) == (reached, len(reached))
        assert shown(asked(store, walk, HUMAN, relationships=True)) == (along, len(along))
        store.close()


@settings(max_examples=60)
@given(graph=graphs, walk=walks)
def test_what_may_not_be_seen_might_as_well_not_be_there(graph: Graph, walk: Walk) -> None:
    visible = tuple(
        name for name, kind in zip(NAMES, graph.types, strict=True) if kind != HIDDEN_TYPE
    )
    if walk.start not in visible:
        return
    rule = {
        "rule_id": "rule:kept",
        "effect": "deny",
        "actors": ["actor:agent:*"],
        "operations": ["query"],
        "object_types": [HIDDEN_TYPE],
    }
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        whole, part = built(one, graph, NAMES), built(other, graph, visible)
        whole.scope_policy(
            scope_id=SCOPE, actor=HUMAN, policy={**default_policy(), "rules": [rule]}
        )
        for more in ({}, {"relationships": True}, {"relationship_type": ["supports"]}):
            expected = shown(asked(part, walk, HUMAN, **more))
            assert shown(asked(whole, walk, AGENT, **more)) == expected
        whole.close()
        part.close()
