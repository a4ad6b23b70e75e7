"""Who may do what in a scope: the scope's policy document, evaluated. PAMSPEC §7.5, §15.3.

The first rule that matches decides; where none does, the policy's default effect does. The
answer names the rule, so that a denial can be explained without showing anything else.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from pamctl.errors import AccessDenied
from pamctl.named_tuples import NamedTuple

DEFAULT_RULE = "rule:default"
DEFAULT_POLICY_BASIS = "policy:default"


class Action(NamedTuple):
    """What an actor asks for, as far as a policy can see it.

    object_type: None for what is no Memory Object; rules that name types say nothing of it.
    """

    actor_id: str
    operation: str
    object_type: str | None = None
    dimension: str | None = None
    target_state: str | None = None
    actor_kind: str | None = None


class Decision(NamedTuple):
    """Whether an action may happen, and the rule that said so."""

    allowed: bool
    rule_id: str


class Sight(NamedTuple):
    """On objects of which types an action may happen.

    by_type: the decision for each type that a rule names.
    others: for every other type, and for what has none.
    rule_id: the first rule of the policy that refuses some type; where none does, the rule
        that allows the others. A refusal that depends on what is there is explained by this
        rule whatever is there, or the rule would tell the type.
    """

    by_type: Mapping[str, bool]
    others: bool
    rule_id: str

    @property
    def everything(self) -> bool:
        """Whether no type is refused."""
        return self.others and all(self.by_type.values())

    @property
    def nothing(self) -> bool:
        """Whether every type is refused."""
        return not self.others and not any(self.by_type.values())

    def covers(self, object_type: str | None) -> bool:
        """Whether the action may happen on an object of this type."""
        return self.others if object_type is None else self.by_type.get(object_type, self.others)

    def and_also(self, other: Sight) -> Sight:
        """What both allow; of two refusals, this one's rule explains."""
        types = {*self.by_type, *other.by_type}
        return Sight(
            {name: self.covers(name) and other.covers(name) for name in types},
            self.others and other.others,
            other.rule_id if self.everything else self.rule_id,
        )


def default_policy() -> dict[str, Any]:
    """The policy of a new scope: whoever can use the files may do everything the draft allows.

    A tool over files cannot hold back a person who may write those files, and does not
    pretend to; a scope that several actors share states its own rules.
    """
    from pamctl.rules.transitions import default_overrides  # for a new scope alone

    return {
        "policy_version": 1,
        "default_effect": "allow",
        "default_policy_basis": DEFAULT_POLICY_BASIS,
        "rules": [],
        "overrides": default_overrides(),
    }


def decide_access(policy: Mapping[str, Any], action: Action) -> Decision:
    """Evaluate a policy over one action."""
    for rule in policy.get("rules", ()):
        if _matches(rule, action):
            return Decision(rule["effect"] == "allow", str(rule["rule_id"]))
    return Decision(policy.get("default_effect") == "allow", DEFAULT_RULE)


def decide_sight(policy: Mapping[str, Any], action: Action) -> Sight:
    """Evaluate a policy over one action on objects of every type; that of `action` does not
    matter."""
    return _sight(policy, action, unless_ruled=False)


def decide_secrecy(policy: Mapping[str, Any], action: Action) -> Sight:
    """As `decide_sight`, but only a rule refuses: what the default denies is not granted,
    which is less than being kept secret."""
    return _sight(policy, action, unless_ruled=True)


def require_access(policy: Mapping[str, Any], action: Action) -> Decision:
    """As `decide_access`. Raises AccessDenied, which tells the rule and nothing of what exists."""
    decision = decide_access(policy, action)
    if not decision.allowed:
        raise refused(action.actor_id, action.operation, decision.rule_id)
    return decision


def refused(actor_id: str, operation: str, rule_id: str) -> AccessDenied:
    """The refusal of an actor: what was asked and the rule, whatever exists and whatever
    the actor asked about."""
    return AccessDenied(
        f"{actor_id} may not {operation} here: {rule_id} refuses it",
        policy_rule_id=rule_id,
        operation=operation,
    )


def _sight(policy: Mapping[str, Any], action: Action, *, unless_ruled: bool) -> Sight:
    rules = policy.get("rules", ())
    named = {name for rule in rules for name in rule.get("object_types", ())}
    decisions = {
        name: decide_access(policy, action._replace(object_type=name)) for name in sorted(named)
    }
    others = decide_access(policy, action._replace(object_type=None))

    def allows(decision: Decision) -> bool:
        return decision.allowed or (unless_ruled and decision.rule_id == DEFAULT_RULE)

    refusing = {one.rule_id for one in (*decisions.values(), others) if not allows(one)}
    in_order = (str(rule["rule_id"]) for rule in rules)
    rule_id = next((name for name in in_order if name in refusing), DEFAULT_RULE)
    return Sight(
        {name: allows(decision) for name, decision in decisions.items()},
        allows(others),
        rule_id if refusing else others.rule_id,
    )


def _matches(rule: Mapping[str, Any], action: Action) -> bool:
    return (
        any(fnmatchcase(action.actor_id, pattern) for pattern in rule.get("actors", ("*",)))
        and _names(rule, "actor_kinds", action.actor_kind)
        and _names(rule, "operations", action.operation)
        and _names(rule, "object_types", action.object_type)
        and _names(rule, "dimensions", action.dimension)
        and _names(rule, "target_states", action.target_state)
    )


def _names(rule: Mapping[str, Any], member: str, value: str | None) -> bool:
    """A rule without the member matches all; one with it, only the values it names."""
    return member not in rule or value in rule[member]
