"""Whatever stands in a ledger and in versions, the report is a page, and the same one again."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pamctl.audit.audited import Audit
from pamctl.audit.inventory import Inventory
from pamctl.audit.report import render
from tests.pages import Page

MEMBERS = (
    "kind",
    "body",
    "actor",
    "actor_id",
    "actor_kind",
    "delegation_id",
    "event_type",
    "event_id",
    "object_id",
    "recorded_at",
    "payload",
    "dimension",
    "from",
    "to",
    "condition",
    "erased_versions",
    "policy",
    "rules",
    "overrides",
    "rule_id",
    "actors",
    "retention",
    "snapshot",
    "version_id",
    "sequence",
    "canonical_content",
    "availability_state",
    "object_type",
)
WORDS = st.sampled_from(
    ("event", "policy", "scope", "erasure", "snapshot", "object_redacted", "legal_hold", "<b>", "")
)
LEAVES = st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | WORDS | st.text(max_size=9)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(MEMBERS) | st.text(max_size=4), inner, max_size=6)
    ),
    max_leaves=14,
)
OBJECTS = st.dictionaries(st.sampled_from(MEMBERS), VALUES, max_size=8)


def entries(body: dict[str, Any]) -> list[dict[str, Any]]:
    """A body under every kind that the report looks into."""
    kinds = ("event", "policy", "scope", "erasure", "snapshot")
    return [{"kind": kind, "body": body} for kind in kinds]


@given(st.lists(OBJECTS, max_size=4), st.lists(OBJECTS, max_size=3), OBJECTS)
@settings(max_examples=60)
def test_a_page_comes_of_anything(
    ledger: list[dict[str, Any]], versions: list[dict[str, Any]], body: dict[str, Any]
) -> None:
    scope = Inventory("workspace:default")
    for value in (*ledger, *entries(body)):
        scope.ledger(value)
    for envelope in versions:
        scope.version({"sequence": 1, "object_id": "mem:1", **envelope})
    scope.settle()
    made = Audit("x", "export", True, [], {}, [], [scope])
    page = Page(render(made).decode())
    assert page.faults == []
    assert len(page.named("main")) == 1
    assert not {name for name, _ in page.elements} & {"script", "img", "iframe"}
    assert render(made) == render(made)
