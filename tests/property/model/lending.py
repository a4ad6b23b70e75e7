"""Delegations of the model: what is lent, passed on, exercised and taken back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.property.model.memories import Memories
from tests.property.model.tables import Delegation, Event, Refused


@dataclass
class Lending(Memories):
    """A scope in which actors lend one another what they may do."""

    delegations: dict[str, Delegation] = field(default_factory=dict)

    def chain(self, name: str | None) -> list[tuple[str, Delegation]]:
        """A delegation with those that it rests on."""
        found = []
        while name is not None:
            found.append((name, self.delegations[name]))
            name = found[-1][1].parent
        return found

    def holds(self, actor: str, operation: str, object_ids: frozenset[str] | None) -> bool:
        """Whether an actor may do something by its own authority, to all of these."""
        if not self.policy.restricts(actor, operation):
            return True
        if self.policy.object_type is None or object_ids is None:
            return False
        types = [self.type_of(name) for name in object_ids]
        return not any(one in (None, self.policy.object_type) for one in types)

    def grant(self, name: str, made: Delegation) -> str:
        """Lend what one holds; under another delegation, no more than that one gives."""
        holder = made.grantor
        if made.parent is not None:
            links = [link for _, link in self.chain(made.parent)]
            wider = not made.operations <= links[0].operations or (
                links[0].object_ids is not None
                and (made.object_ids is None or not made.object_ids <= links[0].object_ids)
            )
            spent = any(
                link.revoked or (link.limit is not None and link.used >= link.limit)
                for link in links
            )
            if links[0].delegate != made.grantor or wider or spent:
                raise Refused("access_denied")
            holder = links[-1].grantor
        if not all(self.holds(holder, one, made.object_ids) for one in made.operations):
            raise Refused("access_denied")
        self.delegations[name] = made
        self.events.append(Event("delegation_granted", name, 1))
        return name

    def lends(self, actor: str, operation: str, name: str, target: str, kind: str | None) -> bool:
        """Whether a delegation lets an actor do something to a memory of a type, now."""
        user, links = actor, self.chain(name)
        for _, link in links:
            if (
                link.delegate != user
                or link.revoked
                or (link.limit is not None and link.used >= link.limit)
                or operation not in link.operations
                or (link.object_ids is not None and target not in link.object_ids)
            ):
                return False
            user = link.grantor
        return not self.policy.refuses(links[-1][1].grantor, operation, kind)

    def exercise(self, name: str) -> None:
        """Put a use of a delegation on record, and of all that it rests on."""
        for used, link in self.chain(name):
            link.used += 1
            self.events.append(Event("delegation_exercised", used))

    def act_under(
        self,
        actor: str,
        operation: str,
        name: str,
        on: tuple[str, str | None],
        work: Callable[[], Any],
    ) -> Any:
        """Something that is done under a delegation. on: the memory and its type.

        Whoever names a delegation is bound by it. A change is a use when it succeeds, a look
        as soon as it is let in.
        """
        if not self.lends(actor, operation, name, *on):
            self.events.append(Event("access_denied"))
            raise Refused("access_denied")
        looks = operation == "read"
        if looks:
            self.exercise(name)
        outcome = work()
        if not looks:
            self.exercise(name)
        return outcome

    def check(self, delegate: str, operation: str, name: str, target: str) -> None:
        if not self.lends(delegate, operation, name, target, self.type_of(target)):
            self.events.append(Event("access_denied"))
            raise Refused("access_denied")
        self.exercise(name)

    def revoke(self, actor: str, name: str) -> None:
        link = self.delegations[name]
        if actor != link.grantor and self.policy.refuses(actor, "revoke_delegation", ""):
            self.events.append(Event("access_denied"))
            raise Refused("access_denied")
        if link.revoked:
            raise Refused("invalid_state_transition")
        if not link.revocable:
            raise Refused("policy_denied")
        link.revoked = True
        self.events.append(Event("delegation_revoked", name, 2))
