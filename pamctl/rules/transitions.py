"""The state machines of PAMSPEC §9.5, all four dimensions with all their conditions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from pamctl.encoding.canonical import canonical
from pamctl.errors import InvalidRequest, InvalidStateTransition, PolicyDenied

# What a transition needs besides being in the table. A scope's policy grants a condition by
# naming it in `overrides`; where the table has None, nothing more is needed.
Condition = str | None
REVIEW = "review"
OVERRIDE = "override"
RESTORATION = "restoration"
HOLD_RELEASE = "hold_release"
PROVENANCE_CORRECTION = "provenance_correction"
CONDITIONS = (REVIEW, OVERRIDE, RESTORATION, HOLD_RELEASE, PROVENANCE_CORRECTION)

ALLOWED: Mapping[str, Mapping[str, Mapping[str, Condition]]] = {
    "lifecycle": {
        "scratch": {"candidate": None, "archived": None},
        "candidate": {"active": None, "deprecated": None, "archived": None},
        "active": {"superseded": None, "deprecated": None, "archived": None},
        "superseded": {"archived": None, "deprecated": None},
        "deprecated": {"archived": None, "active": REVIEW},
        "archived": {"active": OVERRIDE, "deprecated": None},
    },
    "validation": {
        "unverified": {"corroborated": None, "disputed": None, "rejected": None},
        "corroborated": {"disputed": None, "rejected": None, "unverified": PROVENANCE_CORRECTION},
        "disputed": {"corroborated": None, "rejected": None},
        "rejected": {"disputed": None, "corroborated": REVIEW},
    },
    "availability": {
        "available": {"partially_redacted": None, "redacted": None, "deleted": None},
        "partially_redacted": {"available": None, "redacted": None, "deleted": None},
        "redacted": {"available": RESTORATION, "deleted": None},
        "deleted": {},
    },
    "retention": {
        "retained": {"expired": None, "pending_deletion": None, "legal_hold": None},
        "expired": {"retained": None, "pending_deletion": None, "legal_hold": None},
        "pending_deletion": {"retained": None, "legal_hold": None},
        "legal_hold": {
            "retained": HOLD_RELEASE,
            "expired": HOLD_RELEASE,
            "pending_deletion": HOLD_RELEASE,
        },
    },
}
"""Target states by dimension and state, with the condition of each (PAMSPEC §9.5)."""

FORBIDDEN_WITHOUT_OVERRIDE: Mapping[str, Mapping[str, frozenset[str]]] = {
    "lifecycle": {
        "scratch": frozenset({"active", "superseded", "deprecated"}),
        "candidate": frozenset({"superseded"}),
        "active": frozenset({"scratch"}),
        "superseded": frozenset({"active"}),
        "deprecated": frozenset({"scratch"}),
        "archived": frozenset({"scratch", "candidate"}),
    },
    "validation": {"rejected": frozenset({"unverified"})},
    "availability": {},
    "retention": {},
}
"""Transitions outside the table that a scope's policy may still permit by a named rule."""


@dataclass(frozen=True, slots=True)
class TransitionDecision:
    """That a transition may happen, and by which rule.

    condition: what the table asked for, None where it asked for nothing.
    rule_id: the override rule of the scope's policy that granted it.
    """

    condition: Condition
    rule_id: str | None


def decide_transition(
    dimension: str,
    current: str,
    target: str,
    *,
    actor_id: str,
    overrides: Sequence[Mapping[str, Any]],
    override: str | None = None,
    corrects_provenance: bool = False,
) -> TransitionDecision:
    """Whether an object may go from `current` to `target` in one dimension. PAMSPEC §9.5.

    Arguments:
        overrides: the `overrides` of the scope's policy.
        override: the rule that the caller invokes by name; without one, a rule that grants
            a condition of the table applies by itself.
        corrects_provenance: whether the request brings new provenance, which by itself
            satisfies the condition on going back to unverified.

    Raises InvalidStateTransition for a transition that the draft does not allow, to a state
    of another dimension among them, and PolicyDenied for one whose condition no rule of this
    scope grants to this actor.
    """
    machine = ALLOWED[dimension]
    if target not in machine:
        # A state of another dimension is refused as a transition, not as a typing error:
        # nobody may move a value between dimensions (PAMSPEC Appendix B).
        raise InvalidStateTransition(
            f"{target!r} is no {dimension} state; those are {', '.join(machine)}",
            hint=_meant(target, machine),
            dimension=dimension,
            target_state=target,
        )
    if target in machine[current]:
        condition = machine[current][target]
        if condition is None:
            return TransitionDecision(None, None)
        rule = _granting(overrides, condition, dimension, current, target, actor_id, override)
        if rule is not None:
            return TransitionDecision(condition, rule)
        if condition == PROVENANCE_CORRECTION and corrects_provenance:
            return TransitionDecision(condition, None)
        raise PolicyDenied(
            f"going from {current} to {target} needs a rule of this scope's policy "
            f"with the condition {condition!r}",
            hint=_permitting(dimension, current, target, condition, actor_id),
            dimension=dimension,
            condition=condition,
        )
    if target in FORBIDDEN_WITHOUT_OVERRIDE[dimension].get(current, frozenset()):
        if override is not None:
            rule = _granting(overrides, OVERRIDE, dimension, current, target, actor_id, override)
            if rule is not None:
                return TransitionDecision(OVERRIDE, rule)
            raise PolicyDenied(
                f"no rule {override!r} of this scope's policy permits {current} to {target}",
                hint=_permitting(dimension, current, target, OVERRIDE, actor_id),
                dimension=dimension,
            )
        raise _refused(
            dimension,
            current,
            target,
            "only an override rule can permit it",
            f"; {_permitting(dimension, current, target, OVERRIDE, actor_id)}, and is invoked by"
            " --override",
        )
    raise _refused(dimension, current, target, None)


def default_overrides() -> list[dict[str, Any]]:
    """The grants of a new scope's policy: every transition in the draft's table is open."""
    grants: list[dict[str, Any]] = []
    for dimension, machine in ALLOWED.items():
        for current, targets in machine.items():
            for target, condition in targets.items():
                if condition is not None:
                    grants.append(
                        {
                            "rule_id": f"rule:default:{condition.replace('_', '-')}",
                            "dimension": dimension,
                            "from": [current],
                            "to": [target],
                            "condition": condition,
                        }
                    )
    return grants


def dimension_of(dimension: str) -> str:
    """`dimension` if it is one of the four. Raises InvalidRequest."""
    if dimension not in ALLOWED:
        raise InvalidRequest(
            f"{dimension!r} is no dimension; those are {', '.join(ALLOWED)}", pointer="/dimension"
        )
    return dimension


def _granting(
    overrides: Sequence[Mapping[str, Any]],
    condition: str,
    dimension: str,
    current: str,
    target: str,
    actor_id: str,
    named: str | None,
) -> str | None:
    """The rule that grants a condition; an override stands for any of them."""
    for rule in overrides:
        if (
            rule["condition"] in (condition, OVERRIDE)
            and rule["dimension"] == dimension
            and current in rule["from"]
            and target in rule["to"]
            and (named is None or rule["rule_id"] == named)
            and any(fnmatchcase(actor_id, pattern) for pattern in rule.get("actors", ["*"]))
        ):
            return str(rule["rule_id"])
    return None


def _meant(target: str, states: Iterable[str]) -> str | None:
    from difflib import get_close_matches

    nearest = get_close_matches(target, states, n=1)
    return f"did you mean {nearest[0]!r}?" if nearest else None


def _permitting(dimension: str, current: str, target: str, condition: str, actor_id: str) -> str:
    """The rule that would permit it to this actor, to be put among a policy's overrides."""
    rule = {
        "rule_id": f"rule:{dimension}:{current}-to-{target}",
        "dimension": dimension,
        "from": [current],
        "to": [target],
        "condition": condition,
        "actors": [actor_id],
    }
    return f"this rule among the overrides of the policy permits it: {canonical(rule).decode()}"


def _refused(
    dimension: str, current: str, target: str, condition: str | None, advice: str = ""
) -> InvalidStateTransition:
    allowed = list(ALLOWED[dimension][current])
    ways = ", ".join(allowed) if allowed else "nothing: it is final"
    return InvalidStateTransition(
        f"{dimension} cannot go from {current} to {target}"
        + (f"; {condition}" if condition else ""),
        hint=f"from {current} it can go to {ways}{advice}",
        dimension=dimension,
        from_state=current,
        target_state=target,
        allowed=allowed,
    )
