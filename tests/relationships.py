"""A scope in which tests make objects and relate them, in few words."""

from __future__ import annotations

from typing import Any

from pamctl.rules.authorization import default_policy
from pamctl.service.store import Store

HERE, THERE = "workspace:default", "workspace:there"
HUMAN = {"actor_id": "actor:local:tester", "actor_kind": "human"}
AGENT = {"actor_id": "actor:agent:helper", "actor_kind": "agent"}
COMMON = {"actor": HUMAN, "provenance": {"activity": "noted"}}


class Scope:
    """One scope of a store, seen by HUMAN unless an actor is given."""

    def __init__(self, store: Store, scope_id: str = HERE) -> None:
        self.store = store
        self.scope_id = scope_id

    def create(self, object_id: str, **more: Any) -> dict[str, Any]:
        given = {**COMMON, "object_id": object_id, "object_type": "claim", "canonical_content": 1}
        return self.store.create(**{**given, "scope_id": self.scope_id, **more})

    def relate(self, source: str, target: str, **more: Any) -> dict[str, Any]:
        given = {
            **COMMON,
            "source_object_id": source,
            "target_object_id": target,
            "relationship_type": "supports",
            "directionality": "directed",
        }
        return self.store.relate(**{**given, "scope_id": self.scope_id, **more})

    def update(self, made: dict[str, Any], **more: Any) -> dict[str, Any]:
        """The next version of a relationship, from the answer that made the last."""
        return self.store.relate(**{**COMMON, **self.at(made), **more})

    def at(self, made: dict[str, Any]) -> dict[str, Any]:
        """The members that address the version which an answer is about."""
        member = "relationship_id" if "relationship_id" in made["envelope"] else "object_id"
        return {
            "scope_id": self.scope_id,
            "actor": HUMAN,
            member: made[member],
            "expected_version_id": made["version_id"],
        }

    def delete(self, made: dict[str, Any]) -> dict[str, Any]:
        return self.store.delete(**self.at(made))

    def read(self, object_id: str, **more: Any) -> dict[str, Any]:
        return self.store.read(
            **{"scope_id": self.scope_id, "object_id": object_id, "actor": HUMAN, **more}
        )

    def found(self, **query: Any) -> list[str]:
        """The ids of what a query in any state finds."""
        asked = {"scope_id": self.scope_id, "actor": HUMAN, "any_state": True, **query}
        items = self.store.query(**asked)["items"]
        return [item.get("object_id") or item["relationship_id"] for item in items]

    def near(self, object_id: str, *, depth: int = 16, **query: Any) -> list[str]:
        """The ids of what relationships lead to from an object."""
        return self.found(related_to={"object_id": object_id, "depth": depth}, **query)

    def events(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self.store.log(scope_id=self.scope_id)["items"]
        return items

    def versions(self, object_id: str) -> list[dict[str, Any]]:
        history = self.store.history(scope_id=self.scope_id, object_id=object_id)
        items: list[dict[str, Any]] = history["items"]
        return items

    def govern(self, *rules: dict[str, Any], **members: Any) -> None:
        """Put a policy in force: what is usual, with rules before it and other members."""
        policy = {**default_policy(), "rules": list(rules), **members}
        self.store.scope_policy(scope_id=self.scope_id, actor=HUMAN, policy=policy)


def grant(direction: str, scope_id: str) -> dict[str, Any]:
    """A rule of `cross_scope` that lets relationships through."""
    return {
        "rule_id": f"rule:{direction}",
        "direction": direction,
        "scopes": [scope_id],
        "operations": ["relate"],
    }


def keep_agents_from(*operations: str, **more: Any) -> dict[str, Any]:
    """A rule that keeps agents from some operations."""
    return {
        "rule_id": "rule:kept",
        "effect": "deny",
        "actors": ["actor:agent:*"],
        "operations": list(operations),
        **more,
    }
