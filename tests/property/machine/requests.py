"""What the machine draws from, and how it is said to a store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st

from pamctl.errors import PamError
from pamctl.rules.transitions import default_overrides
from tests.property.model.tables import Policy, Refused

SCOPES = ("workspace:one", "workspace:two")
OWNER, WRITER, GUEST = "actor:human:owner", "actor:agent:writer", "actor:agent:guest"
TYPES = ("claim", "task", "working_memory", "com.example.note")
WORDS = ("apple", "birch", "cedar")
FIRST = {f"mem:{object_type}": object_type for object_type in TYPES}
"""Memories that are there from the start, one of each type."""

NAMES = (*FIRST, *(f"mem:{number}" for number in range(8)))
POLICIES = (
    Policy(open=True),
    Policy(granting=False, open=True),
    Policy(),
    Policy(GUEST),
    Policy(GUEST, frozenset({"update", "transition", "delete", "redact", "promote"}), open=True),
    Policy(GUEST, object_type="task", open=True),
    Policy(WRITER, object_type="claim", granting=False),
    Policy(WRITER, object_type="task", open=True),
    Policy(erasing=False, open=True),
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
    crossing = [
        {"rule_id": f"rule:{way}", "direction": way, "scopes": ["*"], "operations": ["relate"]}
        for way in ("in", "out")
    ]
    return {
        "policy_version": 1,
        "default_effect": "allow",
        "rules": rules,
        "overrides": default_overrides() if policy.granting else [],
        "retention": [] if policy.erasing else [{"rule_id": "rule:keep", "may_erase": False}],
        "cross_scope": crossing if policy.open else [],
    }


def member(object_type: str | None) -> str:
    """The member of content that holds the word."""
    return "content" if object_type == "working_memory" else "word"


def content(object_type: str | None, word: str) -> Any:
    other = {"task_ref": "task:1"} if object_type == "working_memory" else {"kept": "always"}
    return {**other, member(object_type): word}


def outcome(work: Callable[[], Any]) -> Any:
    """What came of something: its result, or the code of its refusal."""
    try:
        return "done", work()
    except Refused as refused:
        return "refused", refused.code
    except PamError as error:
        return "refused", error.code


def founding(name: str, object_type: str, word: str, born: Mapping[str, str]) -> dict[str, Any]:
    """The arguments of a creation."""
    arguments: dict[str, Any] = {
        "object_id": name,
        "object_type": object_type,
        "canonical_content": content(object_type, word),
        "provenance": {"activity": "observed"},
        **{f"{dimension}_state": state for dimension, state in born.items()},
    }
    if object_type == "com.example.note":
        arguments["schema_id"] = "urn:example:note"
    return arguments
