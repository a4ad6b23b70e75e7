"""Relationships from one scope into another. PAMSPEC §7.5, §15.7."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.property.machine.requests import SCOPES, actors, names, scopes
from tests.property.machine.side_by_side import SideBySide
from tests.property.model.scope import Scope
from tests.property.model.tables import Refused


class Crossing(SideBySide):
    """Links that both policies have to let pass, and that open nothing."""

    @rule(
        scope_id=scopes,
        actor=actors,
        source=names,
        end=names,
        kind=st.sampled_from(("supports", "com.example.likes")),
    )
    def relate_across(self, scope_id: str, actor: str, source: str, end: str, kind: str) -> None:
        (there_id,) = (other for other in SCOPES if other != scope_id)
        there = self.model[there_id]
        self.fresh += 1
        ours = f"relationship {self.fresh}"

        def permit(scope: Scope) -> None:
            if scope.policy.object_type is None and scope.policy.refuses(actor, "relate", None):
                raise Refused("access_denied")

        arguments = {
            "source_object_id": source,
            "target_object_id": end,
            "target_scope_id": there_id,
            "relationship_type": kind,
            "policy_basis": "policy:test",
            "provenance": {"activity": "observed"},
        }
        self.change(
            scope_id,
            actor,
            "relate",
            None,
            arguments,
            lambda scope: scope.relate_across(actor, source, there, end, kind, ours),
            permit,
        )
