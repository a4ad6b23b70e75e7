"""What retention stops, what it demands, and who may erase. PAMSPEC §9.4, §9.6, §10.11, §16."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from pamctl.errors import LegalHold, RetentionRestriction
from pamctl.rules.authorization import DEFAULT_RULE, Decision


def require_no_hold(retention_state: str, operation: str) -> None:
    """Raises LegalHold when an operation that would lose or hide content meets a hold."""
    if retention_state == "legal_hold":
        raise LegalHold(
            f"a legal hold forbids to {operation} this object",
            hint="release the hold first: pamctl transition OBJECT retention retained …",
        )


def expiry(policy: Mapping[str, Any], object_type: str) -> tuple[int, str] | None:
    """After how many seconds objects of a type expire, counted from the commit of their
    current version, and the rule that says so; None where no rule does.

    Nothing expires by itself: an expiry is a transition that somebody makes (PAMSPEC §8.1,
    §9.6), and this says when it is due.
    """
    found = _first(policy, "expires_after_sec", object_type, None)
    return None if found is None else (int(found["expires_after_sec"]), str(found["rule_id"]))


def decide_erasure(policy: Mapping[str, Any], *, actor_id: str, object_type: str) -> Decision:
    """Whether an actor may erase the content of objects of a type for good: what the first
    rule with `may_erase` says, or else the policy's default effect.

    This is besides the authority to redact or delete them, never instead of it.
    """
    found = _first(policy, "may_erase", object_type, actor_id)
    if found is None:
        return Decision(policy.get("default_effect") == "allow", DEFAULT_RULE)
    return Decision(bool(found["may_erase"]), str(found["rule_id"]))


def require_erasure(policy: Mapping[str, Any], *, actor_id: str, object_type: str) -> Decision:
    """As `decide_erasure`. Raises RetentionRestriction, which names the rule."""
    decision = decide_erasure(policy, actor_id=actor_id, object_type=object_type)
    if not decision.allowed:
        raise RetentionRestriction(
            f"the policy of this scope does not let {actor_id} erase here",
            hint="without --erase the content is only hidden, and can be restored",
            policy_rule_id=decision.rule_id,
        )
    return decision


def erases_on_delete(policy: Mapping[str, Any], *, actor_id: str, object_type: str) -> str | None:
    """The rule by which deleting an object of a type erases its content too; None where
    deleting leaves the bytes of earlier versions."""
    found = _first(policy, "erase_on_delete", object_type, actor_id)
    return str(found["rule_id"]) if found is not None and found["erase_on_delete"] else None


def _first(
    policy: Mapping[str, Any], member: str, object_type: str, actor_id: str | None
) -> Mapping[str, Any] | None:
    """The first retention rule that says something about `member`, for this type and actor."""
    for rule in policy.get("retention", ()):
        if (
            member in rule
            and ("object_types" not in rule or object_type in rule["object_types"])
            and (
                actor_id is None
                or any(fnmatchcase(actor_id, pattern) for pattern in rule.get("actors", ("*",)))
            )
        ):
            found: Mapping[str, Any] = rule
            return found
    return None
