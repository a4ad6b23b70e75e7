"""A scope as the conformance tests handle it: operations with what does not matter filled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pamctl.service.store import Store

SCOPE = "workspace:default"
HUMAN: Mapping[str, Any] = {"actor_id": "actor:human:ada", "actor_kind": "human"}
AGENT: Mapping[str, Any] = {"actor_id": "actor:agent:bot", "actor_kind": "agent"}
SEEN: Mapping[str, Any] = {"activity": "observed", "source_ref": "urn:source:1"}

DIMENSIONS = ("lifecycle", "availability", "retention", "validation")

Json = dict[str, Any]


class Memories:
    """Operations on one scope by one actor.

    Where an operation is about a version, it takes the envelope of that version, which is
    what most of them answer.
    """

    def __init__(
        self, store: Store, scope_id: str = SCOPE, actor: Mapping[str, Any] = HUMAN
    ) -> None:
        self.store = store
        self.scope_id = scope_id
        self.actor = actor

    def perform(self, operation: str, **arguments: Any) -> Any:
        """Any operation of this actor in this scope, whole answer."""
        asked = {"scope_id": self.scope_id, "actor": self.actor, **arguments}
        return self.store.perform(operation, asked)

    def create(self, content: Any = "tea", **more: Any) -> Json:
        given = {"object_type": "claim", "canonical_content": content, "provenance": SEEN, **more}
        envelope: Json = self.perform("create", **given)["envelope"]
        return envelope

    def update(self, on: Mapping[str, Any], **more: Any) -> Json:
        envelope: Json = self.perform("update", **_of(on), provenance=SEEN, **more)["envelope"]
        return envelope

    def move(self, on: Mapping[str, Any], dimension: str, target: str, **more: Any) -> Json:
        """Transition. PAMSPEC §10.4."""
        envelope: Json = self.perform(
            "transition",
            **{"policy_basis": "policy:test", **_of(on), **more},
            dimension=dimension,
            target_state=target,
        )["envelope"]
        return envelope

    def delete(self, on: Mapping[str, Any], **more: Any) -> Json:
        envelope: Json = self.perform(
            "delete", **{"policy_basis": "policy:test", **_of(on), **more}
        )["envelope"]
        return envelope

    def read(self, of: Mapping[str, Any] | str, **more: Any) -> Json:
        object_id = of if isinstance(of, str) else of["object_id"]
        envelope: Json = self.perform("read", object_id=object_id, **more)
        return envelope

    def versions(self, of: Mapping[str, Any], **more: Any) -> list[Json]:
        items: list[Json] = self.perform("history", object_id=of["object_id"], **more)["items"]
        return items

    def events(self, **more: Any) -> list[Json]:
        items: list[Json] = self.perform("log", **more)["items"]
        return items

    def found(self, **filters: Any) -> list[Json]:
        """What a query finds, by default in any state."""
        states = {} if "any_state" in filters else {"any_state": True}
        items: list[Json] = self.perform("query", **states, **filters)["items"]
        return items

    def head(self) -> Json:
        return self.store.head(self.scope_id)


def _of(envelope: Mapping[str, Any]) -> Json:
    return {
        "object_id": envelope["object_id"],
        "expected_version_id": envelope["version_id"],
    }


def states(envelope: Mapping[str, Any]) -> dict[str, str]:
    """The four states of a version."""
    return {dimension: envelope[f"{dimension}_state"] for dimension in DIMENSIONS}
