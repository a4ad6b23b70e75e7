"""Random operations by several actors in several scopes, compared with a model of the draft.

Two thousand steps belong to the ordinary tests. For more:

    PAM_STATE_MACHINE_RUNS=1000 python -m pytest tests/property/test_state_machine.py

which is fifty steps a run, and looks for the shortest run that fails.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import pamctl
from pamctl.errors import PamError
from pamctl.rules.transitions import default_overrides
from tests.property.memory_model import (
    ALLOWED,
    DIMENSIONS,
    STATES,
    TRUSTED,
    Event,
    Policy,
    Refused,
    Scope,
    Version,
)

MORE = os.environ.get("PAM_STATE_MACHINE_RUNS")
RUNS = int(MORE or 40)
STEPS_OF_A_RUN = 50

# To make a failure short takes minutes, and hundreds of runs; ordinary tests only show it.
PHASES = (Phase.generate, Phase.shrink) if MORE else (Phase.generate,)

SCOPES = ("workspace:one", "workspace:two")
OWNER, WRITER, GUEST = "actor:human:owner", "actor:agent:writer", "actor:agent:guest"
TYPES = ("claim", "task", "working_memory", "com.example.note")
WORDS = ("apple", "birch", "cedar")
FIRST = {f"mem:{object_type}": object_type for object_type in TYPES}
"""Memories that are there from the start, one of each type."""

NAMES = (*FIRST, *(f"mem:{number}" for number in range(8)))
POLICIES = (
    Policy(),
    Policy(granting=False),
    Policy(GUEST),
    Policy(GUEST, frozenset({"update", "transition", "delete", "redact", "promote"})),
    Policy(GUEST, object_type="task"),
    Policy(WRITER, object_type="claim", granting=False),
)

scopes = st.sampled_from((*SCOPES, SCOPES[0]))
actors = st.sampled_from((OWNER, WRITER, OWNER, GUEST))
names = st.sampled_from((*FIRST, *NAMES))
any_name = st.sampled_from(NAMES)
words = st.sampled_from(WORDS)
types = st.sampled_from(TYPES)
keys = st.sampled_from((*[None] * 9, "key:1", "key:2", "key:3"))
steps_back = st.sampled_from((*[0] * 10, 1, None))
"""How many versions ago the caller looked; None for a version that never was."""


def actor_object(actor: str) -> dict[str, str]:
    return {"actor_id": actor, "actor_kind": actor.split(":")[1]}


def document(policy: Policy) -> dict[str, Any]:
    """A policy as scopes have it."""
    rules = []
    if policy.actor is not None:
        made: dict[str, Any] = {"rule_id": "rule:no", "effect": "deny", "actors": [policy.actor]}
        if policy.operations is not None:
            made["operations"] = sorted(policy.operations)
        if policy.object_type is not None:
            made["object_types"] = [policy.object_type]
        rules.append(made)
    return {
        "policy_version": 1,
        "default_effect": "allow",
        "rules": rules,
        "overrides": default_overrides() if policy.granting else [],
    }


def content(object_type: str | None, word: str) -> Any:
    if object_type == "working_memory":
        return {"task_ref": "task:1", "content": word}
    return {"word": word}


def outcome(work: Callable[[], Any]) -> Any:
    """What came of something: its result, or the code of its refusal."""
    try:
        return "done", work()
    except Refused as refused:
        return "refused", refused.code
    except PamError as error:
        return "refused", error.code


class Memory(RuleBasedStateMachine):
    """A store and its model, side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="pamctl-machine-"))
        self.store = pamctl.init_store(self.folder / ".pam", default_scope=SCOPES[0])
        self.store.scope_create(scope_id=SCOPES[1])
        self.model = {scope_id: Scope() for scope_id in SCOPES}
        # What the service named: version ids by object and number, relationships by ours.
        self.version_ids: dict[tuple[str, str, int], str] = {}
        self.relationship_ids: dict[tuple[str, str], str] = {}
        self.snapshots: list[tuple[str, str, Scope]] = []
        # Subscriptions that are open: scope, filter, and the last sequence delivered.
        self.subscriptions: dict[str, tuple[str, dict[str, Any], int]] = {}
        self.fresh = 0
        for scope_id in SCOPES:
            for name, object_type in FIRST.items():
                states = ("active", "retained", "corroborated")
                self.make(scope_id, OWNER, name, object_type, WORDS[0], states, None)

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
        before = len(scope.events)
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
        made = len(scope.events) > before
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

    @rule(
        scope_id=scopes,
        actor=actors,
        name=any_name,
        object_type=types,
        word=words,
        states=st.tuples(
            st.sampled_from(("active", "active", "scratch", "candidate", "deprecated")),
            st.sampled_from(("retained", "retained", "expired", "legal_hold")),
            st.sampled_from(("corroborated", "unverified", "disputed")),
        ),
        key=keys,
    )
    def create(self, **drawn: Any) -> None:
        self.make(**drawn)

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
        arguments: dict[str, Any] = {
            "object_id": name,
            "object_type": object_type,
            "canonical_content": content(object_type, word),
            "provenance": {"activity": "observed"},
            **{f"{dimension}_state": state for dimension, state in born.items()},
        }
        if object_type == "com.example.note":
            arguments["schema_id"] = "urn:example:note"

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

    @rule(scope_id=scopes, actor=actors, name=names, back=steps_back, word=words, key=keys)
    def update(
        self,
        scope_id: str,
        actor: str,
        name: str,
        back: int | None,
        word: str,
        key: str | None,
    ) -> None:
        number, on = self.on(scope_id, name, back)
        arguments = {
            **on,
            "canonical_content": content(self.model[scope_id].type_of(name), word),
            "provenance": {"activity": "observed"},
        }
        self.change(
            scope_id,
            actor,
            "update",
            key,
            arguments,
            lambda scope: scope.update(actor, name, number, word),
            lambda scope: scope.allow(actor, "update", name),
        )

    @rule(
        scope_id=scopes,
        actor=actors,
        name=names,
        back=steps_back,
        dimension=st.sampled_from(DIMENSIONS),
        place=st.integers(0, 6),
        lawful=st.sampled_from((True, True, True, False)),
        key=keys,
    )
    def transition(
        self,
        scope_id: str,
        actor: str,
        name: str,
        back: int | None,
        dimension: str,
        place: int,
        lawful: bool,
        key: str | None,
    ) -> None:
        number, on = self.on(scope_id, name, back)
        current = self.model[scope_id].current(name)
        ways = ALLOWED[current.states[dimension]] if lawful and current is not None else ()
        # Beyond the states of the dimension there is one of another.
        other = STATES["validation" if dimension != "validation" else "lifecycle"][1]
        anything = (*STATES[dimension], other)
        state = ways[place % len(ways)] if ways else anything[place % len(anything)]
        arguments = {
            **on,
            "dimension": dimension,
            "target_state": state,
            "policy_basis": "policy:test",
            "provenance": {"activity": "reviewed"},
        }
        self.change(
            scope_id,
            actor,
            "transition",
            key,
            arguments,
            lambda scope: scope.transition(actor, name, number, dimension, state),
            lambda scope: scope.allow(actor, "transition", name),
        )

    @rule(
        scope_id=scopes,
        actor=actors,
        name=names,
        back=steps_back,
        operation=st.sampled_from(("redact", "delete")),
        key=keys,
    )
    def hide(
        self,
        scope_id: str,
        actor: str,
        name: str,
        back: int | None,
        operation: str,
        key: str | None,
    ) -> None:
        number, on = self.on(scope_id, name, back)
        target = {"redact": "redacted", "delete": "deleted"}[operation]
        self.change(
            scope_id,
            actor,
            operation,
            key,
            {**on, "policy_basis": "policy:test"},
            lambda scope: scope.hide(actor, name, number, target),
            lambda scope: scope.allow(actor, operation, name),
        )

    @rule(
        scope_id=scopes,
        actor=actors,
        ends=st.lists(names, min_size=2, max_size=2, unique=True),
        kind=st.sampled_from(("supports", "com.example.likes")),
        key=keys,
    )
    def relate(
        self, scope_id: str, actor: str, ends: list[str], kind: str, key: str | None
    ) -> None:
        source, target = ends
        self.fresh += 1
        ours = f"relationship {self.fresh}"

        def permit(scope: Scope) -> None:
            if scope.policy.object_type is None and scope.policy.refuses(actor, "relate", None):
                raise Refused("access_denied")

        arguments = {
            "source_object_id": source,
            "target_object_id": target,
            "relationship_type": kind,
            "provenance": {"activity": "observed"},
        }
        self.change(
            scope_id,
            actor,
            "relate",
            key,
            arguments,
            lambda scope: scope.relate(actor, source, target, kind, ours),
            permit,
        )

    @rule(
        scope_id=scopes,
        actor=actors,
        source=st.sampled_from(("mem:working_memory", "mem:working_memory", *NAMES)),
        back=steps_back,
        name=any_name,
        object_type=st.sampled_from(("claim", "task")),
        word=words,
        key=keys,
    )
    def promote(
        self,
        scope_id: str,
        actor: str,
        source: str,
        back: int | None,
        name: str,
        object_type: str,
        word: str,
        key: str | None,
    ) -> None:
        number, version_id = self.seen(scope_id, source, back)
        arguments = {
            "source_object_id": source,
            "expected_version_id": version_id,
            "target_object_type": object_type,
            "target_canonical_content": content(object_type, word),
            "target_object_id": name,
            "provenance": {"activity": "concluded"},
        }

        def permit(scope: Scope) -> None:
            scope.allow(actor, "promote", source)

        def work(scope: Scope) -> Any:
            if scope.policy.refuses(actor, "promote", object_type):
                raise Refused("access_denied")
            return scope.promote(actor, source, number, name, object_type, word)

        self.change(scope_id, actor, "promote", key, arguments, work, permit)

    @rule(scope_id=scopes, policy=st.sampled_from(POLICIES))
    def govern(self, scope_id: str, policy: Policy) -> None:
        self.store.perform(
            "scope_policy",
            {"scope_id": scope_id, "actor": actor_object(OWNER), "policy": document(policy)},
        )
        self.model[scope_id].policy = policy

    # Looks

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

    @rule(
        scope_id=scopes,
        actor=actors,
        name=names,
        back=st.sampled_from((None, 0, 1, 2)),
        at=st.sampled_from((None, 0.2, 0.5, 1.0)),
    )
    def read(
        self, scope_id: str, actor: str, name: str, back: int | None, at: float | None
    ) -> None:
        arguments: dict[str, Any] = {"object_id": name}
        number = sequence = None
        if back is not None:
            number, arguments["version_id"] = self.seen(scope_id, name, back)
            number = number or 0
        elif at is not None:
            sequence = int(at * len(self.model[scope_id].events))
            arguments["at_sequence"] = sequence
        both = self.look(
            scope_id,
            actor,
            "read",
            arguments,
            lambda scope: scope.read(actor, name, number, sequence),
        )
        if both is not None:
            envelope, (version, shown) = both
            self.compare(scope_id, name, version, shown, envelope)

    @rule(scope_id=scopes, actor=actors, name=names)
    def history(self, scope_id: str, actor: str, name: str) -> None:
        both = self.look(
            scope_id,
            actor,
            "history",
            {"object_id": name},
            lambda scope: scope.history(actor, name),
        )
        if both is not None:
            answer, expected = both
            assert len(answer["items"]) == len(expected)
            for envelope, (version, shown) in zip(answer["items"], expected, strict=True):
                self.compare(scope_id, name, version, shown, envelope)

    @rule(scope_id=scopes, actor=actors)
    def log(self, scope_id: str, actor: str) -> None:
        both = self.look(scope_id, actor, "log", {}, lambda scope: scope.log(actor))
        if both is not None:
            answer, expected = both
            assert [self.told(scope_id, event) for event in answer["items"]] == [
                (event.kind, event.named, event.number) for event in expected
            ]
            sequences = [event["sequence"] for event in answer["items"]]
            assert sequences == sorted(set(sequences))

    def told(self, scope_id: str, event: Any) -> tuple[str, str | None, int | None]:
        """An event in the model's words."""
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

    @rule(
        scope_id=scopes,
        actor=actors,
        wanted=st.dictionaries(
            st.sampled_from(DIMENSIONS), st.integers(1, 3), min_size=0, max_size=2
        ),
        any_state=st.booleans(),
        object_type=st.sampled_from((None, None, *TYPES)),
        word=st.sampled_from((None, *WORDS)),
        at=st.sampled_from((None, None, 0.3, 0.8)),
    )
    def query(
        self,
        scope_id: str,
        actor: str,
        wanted: dict[str, int],
        any_state: bool,
        object_type: str | None,
        word: str | None,
        at: float | None,
    ) -> None:
        arguments: dict[str, Any] = {"any_state": any_state, "limit": 100}
        states: dict[str, tuple[str, ...]] = {}
        for dimension in DIMENSIONS:
            if dimension in wanted:
                states[dimension] = STATES[dimension][: wanted[dimension]]
                arguments[f"{dimension}_state"] = list(states[dimension])
            elif not any_state:
                states[dimension] = (TRUSTED[dimension],)
        if object_type is not None:
            arguments["object_type"] = [object_type]
        if word is not None:
            arguments["text"] = word
        sequence = None
        if at is not None:
            sequence = int(at * len(self.model[scope_id].events))
            arguments["as_of"] = sequence
        both = self.look(
            scope_id,
            actor,
            "query",
            arguments,
            lambda scope: scope.query(actor, states, object_type, word, sequence),
        )
        if both is not None:
            self.compare_found(scope_id, both[0]["items"], both[1], in_order=word is None)

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

    # Snapshots and subscriptions, as their owner uses them

    @rule(scope_id=scopes)
    def seal(self, scope_id: str) -> None:
        answer = self.store.perform(
            "snapshot_create", {"scope_id": scope_id, "actor": actor_object(OWNER)}
        )
        snapshot = answer["snapshot"]
        scope = self.model[scope_id]
        assert snapshot["ledger_sequence_high_watermark"] == len(scope.events)
        self.snapshots.append((scope_id, snapshot["snapshot_id"], scope.sealed()))

    @precondition(lambda self: self.snapshots)
    @rule(which=st.integers(0, 9), name=names)
    def read_through_a_snapshot(self, which: int, name: str) -> None:
        scope_id, snapshot_id, sealed = self.snapshots[which % len(self.snapshots)]
        both = self.look(
            scope_id,
            OWNER,
            "read",
            {"object_id": name, "snapshot_id": snapshot_id},
            lambda scope: sealed.read(OWNER, name, None, None),
        )
        if both is not None:
            envelope, (version, shown) = both
            self.compare(scope_id, name, version, shown, envelope)

    @precondition(lambda self: self.snapshots)
    @rule(which=st.integers(0, 9), word=st.sampled_from((None, *WORDS)))
    def query_through_a_snapshot(self, which: int, word: str | None) -> None:
        scope_id, snapshot_id, sealed = self.snapshots[which % len(self.snapshots)]
        arguments: dict[str, Any] = {"snapshot_id": snapshot_id, "any_state": True, "limit": 100}
        if word is not None:
            arguments["text"] = word
        both = self.look(
            scope_id,
            OWNER,
            "query",
            arguments,
            lambda scope: sealed.query(OWNER, {}, None, word, None),
        )
        assert both is not None
        self.compare_found(scope_id, both[0]["items"], both[1], in_order=word is None)

    @precondition(lambda self: len(self.subscriptions) < 3)
    @rule(
        scope_id=scopes,
        chosen=st.sampled_from(
            (
                {},
                {"event_classes": ["object_created", "object_deleted"]},
                {"object_id": "mem:claim"},
            )
        ),
        replayed=st.booleans(),
    )
    def subscribe(self, scope_id: str, chosen: dict[str, Any], replayed: bool) -> None:
        scope = self.model[scope_id]
        start = 0 if replayed else len(scope.events)
        answer = self.store.perform(
            "subscribe",
            {
                "scope_id": scope_id,
                "actor": actor_object(OWNER),
                "filter": chosen,
                "after_sequence": start,
            },
        )
        scope.events.append(Event("subscription_opened"))
        self.subscriptions[answer["subscription_id"]] = (scope_id, chosen, start)

    @precondition(lambda self: self.subscriptions)
    @rule(which=st.integers(0, 2), most=st.sampled_from((1, 3, 100)))
    def poll(self, which: int, most: int) -> None:
        names = sorted(self.subscriptions)
        subscription_id = names[which % len(names)]
        scope_id, chosen, cursor = self.subscriptions[subscription_id]
        events = self.model[scope_id].events
        wanted = [
            number
            for number, event in enumerate(events, start=1)
            if number > cursor
            and event.kind in chosen.get("event_classes", (event.kind,))
            and chosen.get("object_id", event.named) == event.named
        ][:most]
        answer = self.store.perform(
            "poll_subscription", {"subscription_id": subscription_id, "max_events": most}
        )
        assert [event["sequence"] for event in answer["events"]] == wanted
        assert [self.told(scope_id, event) for event in answer["events"]] == [
            (events[number - 1].kind, events[number - 1].named, events[number - 1].number)
            for number in wanted
        ]
        if wanted:
            self.subscriptions[subscription_id] = (scope_id, chosen, wanted[-1])

    @precondition(lambda self: self.subscriptions)
    @rule(which=st.integers(0, 2))
    def unsubscribe(self, which: int) -> None:
        names = sorted(self.subscriptions)
        subscription_id = names[which % len(names)]
        scope_id, _, _ = self.subscriptions.pop(subscription_id)
        self.store.perform("close_subscription", {"subscription_id": subscription_id})
        self.model[scope_id].events.append(Event("subscription_closed"))
        kind, _ = outcome(
            lambda: self.store.perform("poll_subscription", {"subscription_id": subscription_id})[
                "events"
            ][0]
        )
        assert kind != "done"

    # Interruptions

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = pamctl.open_store(self.folder / ".pam")

    @precondition(lambda self: any(scope.events for scope in self.model.values()))
    @rule()
    def lose_the_index(self) -> None:
        self.store.close()
        for file in (self.folder / ".pam" / "index").glob("*"):
            file.unlink()
        self.store = pamctl.open_store(self.folder / ".pam")

    @invariant()
    def the_ledgers_are_as_long_as_they_should_be(self) -> None:
        for scope_id, scope in self.model.items():
            assert self.store.head(scope_id)["sequence"] == len(scope.events)


Memory.TestCase.settings = settings(
    max_examples=RUNS,
    stateful_step_count=STEPS_OF_A_RUN,
    phases=PHASES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
TestMemory = Memory.TestCase
