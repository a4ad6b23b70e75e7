"""Operations of PAMSPEC §10 that change a scope."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.property.machine.requests import (
    NAMES,
    POLICIES,
    actors,
    any_name,
    content,
    keys,
    member,
    names,
    scopes,
    steps_back,
    types,
    words,
)
from tests.property.machine.side_by_side import SideBySide
from tests.property.model.scope import Scope
from tests.property.model.tables import ALLOWED, DIMENSIONS, STATES, Policy, Refused


class Changes(SideBySide):
    """Random changes, by several actors, under policies that change too."""

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
        partly=st.booleans(),
        erase=st.booleans(),
        key=keys,
    )
    def redact(
        self,
        scope_id: str,
        actor: str,
        name: str,
        back: int | None,
        partly: bool,
        erase: bool,
        key: str | None,
    ) -> None:
        number, on = self.on(scope_id, name, back)
        arguments: dict[str, Any] = {**on, "policy_basis": "policy:test", "erase": erase}
        if partly:
            arguments["paths"] = [f"/{member(self.model[scope_id].type_of(name))}"]
        self.change(
            scope_id,
            actor,
            "redact",
            key,
            arguments,
            lambda scope: scope.redact(actor, name, number, member=partly, erase=erase),
            lambda scope: scope.allow(actor, "redact", name),
        )

    @rule(
        scope_id=scopes,
        actor=actors,
        name=names,
        back=steps_back,
        erase=st.booleans(),
        key=keys,
    )
    def delete(
        self,
        scope_id: str,
        actor: str,
        name: str,
        back: int | None,
        erase: bool,
        key: str | None,
    ) -> None:
        number, on = self.on(scope_id, name, back)
        self.change(
            scope_id,
            actor,
            "delete",
            key,
            {**on, "policy_basis": "policy:test", "erase": erase},
            lambda scope: scope.delete(actor, name, number, erase=erase),
            lambda scope: scope.allow(actor, "delete", name),
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
        self.put_in_force(scope_id, policy)
