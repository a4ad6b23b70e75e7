"""Delegations: granted, passed on, exercised, checked and revoked. PAMSPEC §18.2."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from tests.property.machine.requests import (
    GUEST,
    OWNER,
    TYPES,
    WRITER,
    actor_object,
    any_name,
    content,
    founding,
    names,
    outcome,
    scopes,
    words,
)
from tests.property.machine.side_by_side import SideBySide
from tests.property.model.tables import TRUSTED, Delegation, Refused

MOST = 6
everyone = st.sampled_from((OWNER, WRITER, GUEST))
lent = st.sets(st.sampled_from(("read", "update", "create")), min_size=1, max_size=3)


class Lending(SideBySide):
    """Authority that goes from hand to hand, and never grows."""

    def lent_in(self, scope_id: str, which: int) -> str | None:
        """One of the delegations of a scope, in the model's words."""
        found = sorted(self.model[scope_id].delegations)
        return found[which % len(found)] if found else None

    def one_of(self, which: int) -> tuple[str, str, Delegation]:
        """One of all delegations, with its scope and its name."""
        scope_id, name = sorted(self.delegation_ids)[which % len(self.delegation_ids)]
        return scope_id, name, self.model[scope_id].delegations[name]

    @precondition(lambda self: len(self.delegation_ids) < MOST)
    @rule(
        scope_id=scopes,
        grantor=everyone,
        delegate=everyone,
        operations=lent,
        object_ids=st.one_of(st.none(), st.sets(names, min_size=1, max_size=3)),
        limit=st.sampled_from((None, None, 1, 2)),
        revocable=st.sampled_from((True, True, False)),
        passed_on=st.sampled_from((None, None, 0, 1)),
    )
    def grant(
        self,
        scope_id: str,
        grantor: str,
        delegate: str,
        operations: set[str],
        object_ids: set[str] | None,
        limit: int | None,
        revocable: bool,
        passed_on: int | None,
    ) -> None:
        parent = None if passed_on is None else self.lent_in(scope_id, passed_on)
        made = Delegation(
            grantor,
            delegate,
            frozenset(operations),
            None if object_ids is None else frozenset(object_ids),
            limit,
            revocable,
            parent,
        )
        self.fresh += 1
        ours, scope = f"delegation {self.fresh}", self.model[scope_id]
        granting: dict[str, Any] = dict(actor_object(grantor))
        if parent is not None:
            granting["delegation_id"] = self.delegation_ids[scope_id, parent]
        request: dict[str, Any] = {
            "scope_id": scope_id,
            "granting_actor": granting,
            "delegated_actor": actor_object(delegate),
            "granted_operations": sorted(operations),
            "policy_basis": "policy:test",
            "not_before": "2020-01-01T00:00:00Z",
            "not_after": "2100-01-01T00:00:00Z",
            "revocable": revocable,
        }
        if object_ids is not None:
            request["granted_object_ids"] = sorted(object_ids)
        if limit is not None:
            request["usage_limit"] = limit

        def permit() -> None:
            if scope.policy.refuses(grantor, "grant_delegation", ""):
                raise Refused("access_denied")

        expected = outcome(
            lambda: scope.carry_out(
                grantor, "grant", None, None, lambda: scope.grant(ours, made), permit
            )
        )
        kind, answer = outcome(lambda: self.store.perform("grant_delegation", request))
        if expected[0] == "refused" or kind == "refused":
            assert (kind, answer) == expected, request
            return
        self.delegation_ids[scope_id, ours] = answer["delegation_id"]

    def under(self, scope_id: str, actor: str, name: str) -> dict[str, Any]:
        delegation_id = self.delegation_ids[scope_id, name]
        return {
            "scope_id": scope_id,
            "actor": {**actor_object(actor), "delegation_id": delegation_id},
        }

    @precondition(lambda self: self.delegation_ids)
    @rule(
        which=st.integers(0, MOST),
        as_somebody_else=st.sampled_from((None, None, None, WRITER, GUEST)),
        name=any_name,
        word=words,
        operation=st.sampled_from(("update", "update", "create")),
        object_type=st.sampled_from(TYPES),
    )
    def write_under(
        self,
        which: int,
        as_somebody_else: str | None,
        name: str,
        word: str,
        operation: str,
        object_type: str,
    ) -> None:
        scope_id, delegation, link = self.one_of(which)
        scope, operations = self.model[scope_id], link.operations
        actor = as_somebody_else or link.delegate
        if operation not in operations and len(operations) == 1:
            operation = "create" if "create" in operations else "update"
        number, on = self.on(scope_id, name, 0)
        if operation == "update":
            kind = scope.type_of(name)
            arguments = {**on, "canonical_content": content(kind, word), "provenance": {}}
        else:
            kind = object_type
            arguments = founding(name, object_type, word, TRUSTED)

        def work() -> Any:
            if operation == "create":
                return scope.create(actor, name, object_type, word, TRUSTED)
            return scope.update(actor, name, number, word)

        expected = outcome(
            lambda: scope.act_under(actor, operation, delegation, (name, kind), work)
        )
        request = {**self.under(scope_id, actor, delegation), **arguments}
        request["provenance"] = {"activity": "observed"}
        done, answer = outcome(lambda: self.store.perform(operation, request))
        if expected[0] == "refused" or done == "refused":
            assert (done, answer) == expected, (operation, request)
            return
        made_name, made_number = expected[1]
        self.version_ids[scope_id, made_name, made_number] = answer["version_id"]
        version = scope.histories[made_name][-1]
        # Who may only write under it is not shown what it wrote over.
        chain = [link.operations for _, link in scope.chain(delegation)]
        readable = operation == "create" or all("read" in link for link in chain)
        shown = version.word if readable and "read" in operations | {operation} else None
        if operation == "create":
            shown = version.word
        self.compare(scope_id, name, version, shown, answer["envelope"])
        provenance = answer["envelope"]["provenance"]
        assert provenance["actor"]["delegation_id"] == request["actor"]["delegation_id"]

    @precondition(lambda self: self.delegation_ids)
    @rule(which=st.integers(0, MOST), name=names, own=st.sampled_from((True, True, False)))
    def read_under(self, which: int, name: str, own: bool) -> None:
        scope_id, delegation, link = self.one_of(which)
        scope = self.model[scope_id]
        actor = link.delegate if own else GUEST
        grantor = scope.chain(delegation)[-1][1].grantor
        expected = outcome(
            lambda: scope.act_under(
                actor,
                "read",
                delegation,
                (name, scope.type_of(name)),
                lambda: scope.read(grantor, name, None, None),
            )
        )
        request = {**self.under(scope_id, actor, delegation), "object_id": name}
        done, answer = outcome(lambda: self.store.perform("read", request))
        if expected[0] == "refused" or done == "refused":
            assert (done, answer) == expected, request
            return
        version, shown = expected[1]
        self.compare(scope_id, name, version, shown, answer)

    @precondition(lambda self: self.delegation_ids)
    @rule(
        which=st.integers(0, MOST),
        operation=st.sampled_from(("read", "update", "delete")),
        name=names,
        own=st.sampled_from((True, True, False)),
    )
    def check(self, which: int, operation: str, name: str, own: bool) -> None:
        scope_id, delegation, link = self.one_of(which)
        scope = self.model[scope_id]
        delegate = link.delegate if own else GUEST
        request = {
            "scope_id": scope_id,
            "delegation_id": self.delegation_ids[scope_id, delegation],
            "delegated_actor_id": delegate,
            "operation": operation,
            "object_id": name,
        }
        expected = outcome(lambda: scope.check(delegate, operation, delegation, name))
        done, answer = outcome(lambda: self.store.perform("check_delegation", request))
        assert done == expected[0], request
        if done == "refused":
            assert answer == expected[1], request

    @precondition(lambda self: self.delegation_ids)
    @rule(which=st.integers(0, MOST), actor=everyone, own=st.booleans())
    def revoke(self, which: int, actor: str, own: bool) -> None:
        scope_id, delegation, link = self.one_of(which)
        scope = self.model[scope_id]
        by = link.grantor if own else actor
        request = {
            "scope_id": scope_id,
            "delegation_id": self.delegation_ids[scope_id, delegation],
            "actor": actor_object(by),
        }
        expected = outcome(lambda: scope.revoke(by, delegation))
        done, answer = outcome(lambda: self.store.perform("revoke_delegation", request))
        assert done == expected[0], (request, answer, expected)
        if done == "refused":
            assert answer == expected[1], request
