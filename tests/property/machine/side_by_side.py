"""A store and a model of it, given the same operations, and their answers compared."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis.stateful import RuleBasedStateMachine

import pamctl
from tests.property.machine.requests import (
    FIRST,
    OWNER,
    POLICIES,
    SCOPES,
    WORDS,
    actor_object,
    content,
    document,
    founding,
    outcome,
)
from tests.property.model.scope import Scope
from tests.property.model.tables import DIMENSIONS, Event, Policy, Refused, Version


class SideBySide(RuleBasedStateMachine):
    """A store and its model, what they answer compared step by step."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="pamctl-machine-"))
        self.store = pamctl.init_store(self.folder / ".pam", default_scope=SCOPES[0])
        self.store.scope_create(scope_id=SCOPES[1])
        self.model = {scope_id: Scope() for scope_id in SCOPES}
        # What the service named: version ids by object and number, relationships by ours.
        self.version_ids: dict[tuple[str, str, int], str] = {}
        self.relationship_ids: dict[tuple[str, str], str] = {}
        self.delegation_ids: dict[tuple[str, str], str] = {}
        self.snapshots: list[tuple[str, str, Scope]] = []
        # Subscriptions that are open: scope, filter, and the last sequence delivered.
        self.subscriptions: dict[str, tuple[str, dict[str, Any], int]] = {}
        self.fresh = 0
        for scope_id in SCOPES:
            self.put_in_force(scope_id, POLICIES[0])
            for name, object_type in FIRST.items():
                states = ("active", "retained", "corroborated")
                self.make(scope_id, OWNER, name, object_type, WORDS[0], states, None)

    def put_in_force(self, scope_id: str, policy: Policy) -> None:
        self.store.perform(
            "scope_policy",
            {"scope_id": scope_id, "actor": actor_object(OWNER), "policy": document(policy)},
        )
        self.model[scope_id].policy = policy

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.folder)

    # Changes

    def change(
        self,
        scope_id: str,
        actor: str,
        operation: str,
        key: str | None,
        arguments: dict[str, Any],
        work: Callable[[Scope], Any],
        permit: Callable[[Scope], None],
    ) -> None:
        """Carry out an operation on both sides and compare what comes of it."""
        scope = self.model[scope_id]
        asked = {"scope_id": scope_id, "actor": actor_object(actor), **arguments}
        token = repr(sorted(arguments.items()))
        expected = outcome(
            lambda: scope.carry_out(
                actor, operation, key, token, lambda: work(scope), lambda: permit(scope)
            )
        )
        if key is not None:
            asked["idempotency_key"] = key
        kind, answer = outcome(lambda: self.store.perform(operation, asked))
        if expected[0] == "refused" or kind == "refused":
            assert (kind, answer) == expected, (operation, asked)
            return
        made = not scope.replayed
        assert answer["replayed"] is not made
        self.note(scope_id, answer, expected[1], made=made)

    def note(self, scope_id: str, answer: Any, expected: Any, *, made: bool) -> None:
        """Remember what the service named, or compare it with what it named before."""
        if isinstance(expected, str):  # a relationship
            known = self.relationship_ids.setdefault(
                (scope_id, expected), answer["relationship_id"]
            )
            assert known == answer["relationship_id"]
            return
        name, number = expected
        assert (answer["object_id"], answer["sequence"]) == (name, number)
        known = self.version_ids.setdefault((scope_id, name, number), answer["version_id"])
        assert known == answer["version_id"]
        if "source_object_id" in answer and made:
            source = answer["source_object_id"]
            newest = self.model[scope_id].histories[source][-1].number
            self.version_ids[scope_id, source, newest] = answer["source_version_id"]
            ours = f"promotion of {source} to {name}"
            self.relationship_ids[scope_id, ours] = answer["relationship_id"]
        version = self.model[scope_id].histories[name][number - 1]
        shown = self.model[scope_id].shows(name, version)
        self.compare(scope_id, name, version, shown, answer["envelope"])
        if made:
            self.look_back(scope_id, name)

    def look_back(self, scope_id: str, name: str) -> None:
        """All of an object's history, as its owner sees it, whom nothing is refused."""
        history = self.store.history(scope_id=scope_id, object_id=name, actor=actor_object(OWNER))[
            "items"
        ]
        expected = self.model[scope_id].history(OWNER, name)
        assert len(history) == len(expected)
        for envelope, (version, shown) in zip(history, expected, strict=True):
            self.compare(scope_id, name, version, shown, envelope)

    def compare(
        self, scope_id: str, name: str, version: Version, shown: str | None, envelope: Any
    ) -> None:
        """An envelope with a version of the model."""
        assert envelope["object_id"] == name
        assert envelope["scope_id"] == scope_id
        assert envelope["object_type"] == self.model[scope_id].types[name]
        assert envelope["sequence"] == version.number
        assert envelope["version_id"] == self.version_ids[scope_id, name, version.number]
        assert envelope["actor"]["actor_id"] == version.actor
        states = {dimension: envelope[f"{dimension}_state"] for dimension in DIMENSIONS}
        assert states == version.states
        if shown is None:
            assert envelope["canonical_content"] == {"tombstone": True}
        elif shown == "?":
            assert not any(word in str(envelope["canonical_content"]) for word in WORDS)
        else:
            assert envelope["canonical_content"] == content(envelope["object_type"], shown)

    def seen(self, scope_id: str, name: str, back: int | None) -> tuple[int | None, str]:
        """The version that a caller saw, some steps ago: its number and its id."""
        current = self.model[scope_id].current(name)
        if current is None or back is None or current.number <= back:
            return None, "ver:nothing"
        number = current.number - back
        return number, self.version_ids[scope_id, name, number]

    def on(self, scope_id: str, name: str, back: int | None) -> tuple[int | None, dict[str, Any]]:
        number, version_id = self.seen(scope_id, name, back)
        return number, {"object_id": name, "expected_version_id": version_id}

    def make(
        self,
        scope_id: str,
        actor: str,
        name: str,
        object_type: str,
        word: str,
        states: tuple[str, str, str],
        key: str | None,
    ) -> None:
        lifecycle, retention, validation = states
        born = {
            "lifecycle": lifecycle,
            "availability": "available",
            "retention": retention,
            "validation": validation,
        }
        arguments = founding(name, object_type, word, born)

        def permit(scope: Scope) -> None:
            if scope.policy.refuses(actor, "create", object_type):
                raise Refused("access_denied")

        self.change(
            scope_id,
            actor,
            "create",
            key,
            arguments,
            lambda scope: scope.create(actor, name, object_type, word, born),
            permit,
        )

    def look(
        self,
        scope_id: str,
        actor: str,
        operation: str,
        arguments: dict[str, Any],
        work: Callable[[Scope], Any],
    ) -> tuple[Any, Any] | None:
        """Both answers, where neither side refuses; None where both do, for the same reason."""
        scope = self.model[scope_id]
        expected = outcome(lambda: work(scope))
        if expected == ("refused", "access_denied"):
            scope.events.append(Event("access_denied"))
        asked = {"scope_id": scope_id, "actor": actor_object(actor), **arguments}
        kind, answer = outcome(lambda: self.store.perform(operation, asked))
        if expected[0] == "refused" or kind == "refused":
            assert (kind, answer) == expected, (operation, asked)
            return None
        return answer, expected[1]

    def told(self, scope_id: str, event: Any) -> tuple[str, str | None, int | None]:
        """An event in the model's words."""
        if event["event_type"].startswith("delegation_"):
            return self.told_of_lending(scope_id, event)
        if "relationship_id" in event:
            ours = {
                theirs: name
                for (scope, name), theirs in self.relationship_ids.items()
                if scope == scope_id
            }
            return event["event_type"], ours[event["relationship_id"]], 1
        named = event.get("object_id")
        if event["event_type"].startswith("subscription_"):
            named = None  # the subscription's own
        number = None
        if "version_id" in event:
            number = next(
                number
                for (scope, name, number), version_id in self.version_ids.items()
                if (scope, name, version_id) == (scope_id, named, event["version_id"])
            )
        return event["event_type"], named, number

    def told_of_lending(self, scope_id: str, event: Any) -> tuple[str, str | None, int | None]:
        ours = {
            theirs: name
            for (scope, name), theirs in self.delegation_ids.items()
            if scope == scope_id
        }
        numbers = {"delegation_granted": 1, "delegation_revoked": 2}
        return event["event_type"], ours[event["object_id"]], numbers.get(event["event_type"])

    def compare_found(
        self, scope_id: str, items: list[Any], expected: list[Any], *, in_order: bool
    ) -> None:
        """What a query found; the order of a text search is another matter."""
        if not in_order:
            ordered = {name: number for number, (name, _, _) in enumerate(expected)}
            items = sorted(items, key=lambda item: ordered.get(item["object_id"], -1))
        assert [item["object_id"] for item in items] == [name for name, _, _ in expected]
        for envelope, (name, version, shown) in zip(items, expected, strict=True):
            self.compare(scope_id, name, version, shown, envelope)
