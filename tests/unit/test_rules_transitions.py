"""The state machines, held to the tables of PAMSPEC §9.5 as they stand in the draft."""

from __future__ import annotations

from typing import Any

import pytest

from pamctl.errors import InvalidRequest, InvalidStateTransition, PolicyDenied
from pamctl.rules.transitions import (
    ALLOWED,
    CONDITIONS,
    decide_transition,
    default_overrides,
    dimension_of,
)

# Tables 5 to 8: from, allowed to, and (lifecycle and validation) forbidden without override.
# What follows "with" or "after" in the draft is the condition.
TABLES = {
    "lifecycle": """
        scratch    | candidate, archived                      | active, superseded, deprecated
        candidate  | active, deprecated, archived             | superseded
        active     | superseded, deprecated, archived         | scratch
        superseded | archived, deprecated                     | active
        deprecated | archived, active with review             | scratch
        archived   | active with override, deprecated         | scratch, candidate
    """,
    "validation": """
        unverified   | corroborated, disputed, rejected |
        corroborated | disputed, rejected, unverified with provenance_correction |
        disputed     | corroborated, rejected |
        rejected     | disputed, corroborated with review | unverified
    """,
    "availability": """
        available          | partially_redacted, redacted, deleted |
        partially_redacted | available, redacted, deleted |
        redacted           | available with restoration, deleted |
        deleted            | |
    """,
    "retention": """
        retained         | expired, pending_deletion, legal_hold |
        expired          | retained, pending_deletion, legal_hold |
        pending_deletion | retained, legal_hold |
        legal_hold       | retained with hold_release, expired with hold_release, pending_deletion with hold_release |
    """,  # noqa: E501
}

# The machine-readable candidate table of the same section.
MACHINE_READABLE = {
    "lifecycle": {
        "scratch": ["candidate", "archived"],
        "candidate": ["active", "deprecated", "archived"],
        "active": ["superseded", "deprecated", "archived"],
        "superseded": ["archived", "deprecated"],
        "deprecated": ["archived", "active"],
        "archived": ["active", "deprecated"],
    },
    "validation": {
        "unverified": ["corroborated", "disputed", "rejected"],
        "corroborated": ["disputed", "rejected", "unverified"],
        "disputed": ["corroborated", "rejected"],
        "rejected": ["disputed", "corroborated"],
    },
    "availability": {
        "available": ["partially_redacted", "redacted", "deleted"],
        "partially_redacted": ["available", "redacted", "deleted"],
        "redacted": ["available", "deleted"],
        "deleted": [],
    },
    "retention": {
        "retained": ["expired", "pending_deletion", "legal_hold"],
        "expired": ["retained", "pending_deletion", "legal_hold"],
        "pending_deletion": ["retained", "legal_hold"],
        "legal_hold": ["retained", "expired", "pending_deletion"],
    },
}

Rows = dict[str, tuple[dict[str, str | None], set[str]]]


def rows(table: str) -> Rows:
    """Of each state: its targets with their conditions, and what only an override permits."""
    found: Rows = {}
    for line in table.strip().splitlines():
        state, allowed, forbidden = (cell.strip() for cell in line.split("|"))
        targets: dict[str, str | None] = {}
        for cell in filter(None, allowed.split(", ")):
            target, _, condition = cell.partition(" with ")
            targets[target] = condition or None
        found[state] = (targets, set(filter(None, forbidden.split(", "))))
    return found


PAIRS = [
    (dimension, current, target)
    for dimension, table in TABLES.items()
    for current in rows(table)
    for target in rows(table)
]


def expected(dimension: str, current: str, target: str) -> str | None:
    """`free`, the name of a condition, `override`-only, or None for what nothing permits."""
    targets, forbidden = rows(TABLES[dimension])[current]
    if target in targets:
        return targets[target] or "free"
    return "only by override" if target in forbidden else None


def decide(pair: tuple[str, str, str], **options: Any) -> tuple[str | None, str | None]:
    options = {"actor_id": "actor:local:someone", "overrides": [], **options}
    decision = decide_transition(*pair, **options)
    return decision.condition, decision.rule_id


def granting(pair: tuple[str, str, str], **members: Any) -> list[dict[str, Any]]:
    dimension, current, target = pair
    rule = {"rule_id": "rule:r", "dimension": dimension, "from": [current], "to": [target]}
    return [{**rule, "condition": "override", **members}]


def test_the_two_forms_of_the_draft_agree() -> None:
    for dimension, table in TABLES.items():
        assert {state: list(targets) for state, (targets, _) in rows(table).items()} == (
            MACHINE_READABLE[dimension]
        )
    assert len(PAIRS) == 6 * 6 + 3 * 4 * 4


def test_the_states_of_each_dimension() -> None:
    assert {dimension: set(machine) for dimension, machine in ALLOWED.items()} == {
        dimension: set(machine) for dimension, machine in MACHINE_READABLE.items()
    }
    for dimension in MACHINE_READABLE:
        assert dimension_of(dimension) == dimension
    with pytest.raises(InvalidRequest):
        dimension_of("visibility")


@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
def test_every_pair_without_any_rule(pair: tuple[str, str, str]) -> None:
    outcome = expected(*pair)
    if outcome == "free":
        assert decide(pair) == (None, None)
    elif outcome in CONDITIONS:
        with pytest.raises(PolicyDenied) as refusal:
            decide(pair)
        assert refusal.value.details["condition"] == outcome
    else:
        with pytest.raises(InvalidStateTransition) as invalid:
            decide(pair)
        allowed = MACHINE_READABLE[pair[0]][pair[1]]
        assert invalid.value.details["allowed"] == allowed
        assert all(state in invalid.value.details["hint"] for state in allowed)


@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
@pytest.mark.parametrize("named", [None, "rule:r"], ids=["by itself", "by name"])
def test_every_pair_with_a_rule_that_grants_it(
    pair: tuple[str, str, str], named: str | None
) -> None:
    outcome = expected(*pair)
    options = {"overrides": granting(pair), "override": named}
    if outcome == "free":
        assert decide(pair, **options) == (None, None)
    elif outcome in CONDITIONS:
        assert decide(pair, **options) == (outcome, "rule:r")
    elif outcome == "only by override" and named is not None:
        # What the draft forbids without an override is never permitted in passing.
        assert decide(pair, **options) == ("override", "rule:r")
    else:
        with pytest.raises(InvalidStateTransition):
            decide(pair, **options)


@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
def test_every_pair_with_rules_that_grant_something_else(pair: tuple[str, str, str]) -> None:
    dimension, current, target = pair
    others = [other for other in ALLOWED[dimension] if other not in (current, target)]
    other_dimension = next(name for name in ALLOWED if name != dimension)
    rules = [
        *granting(pair, **{"from": others}),
        *granting(pair, to=others),
        *granting(pair, dimension=other_dimension),
        *granting(pair, actors=["actor:agent:*", "actor:local:someone?"]),
        *granting(pair, rule_id="rule:other"),
    ]
    outcome = expected(*pair)
    options = {"overrides": rules, "override": "rule:r"}
    if outcome == "free":
        assert decide(pair, **options) == (None, None)
    elif outcome is None:
        with pytest.raises(InvalidStateTransition):
            decide(pair, **options)
    else:
        with pytest.raises(PolicyDenied):
            decide(pair, **options)


@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
def test_every_pair_under_the_policy_of_a_new_scope(pair: tuple[str, str, str]) -> None:
    outcome = expected(*pair)
    if outcome == "free":
        assert decide(pair, overrides=default_overrides()) == (None, None)
    elif outcome in CONDITIONS:
        condition, rule_id = decide(pair, overrides=default_overrides())
        assert condition == outcome
        assert rule_id == f"rule:default:{outcome.replace('_', '-')}"
    else:
        for override in (None, "rule:default:override", "rule:default:review"):
            with pytest.raises((InvalidStateTransition, PolicyDenied)):
                decide(pair, overrides=default_overrides(), override=override)


def test_a_state_of_another_dimension_is_refused_as_a_transition() -> None:
    # PAMSPEC Appendix B: nobody may move a value between dimensions.
    for dimension, machine in MACHINE_READABLE.items():
        for current in machine:
            for other, states in MACHINE_READABLE.items():
                for target in states:
                    if other != dimension:
                        with pytest.raises(InvalidStateTransition, match=f"no {dimension} state"):
                            decide((dimension, current, target), override="rule:r")


def test_new_provenance_corrects_what_was_corroborated_and_nothing_else() -> None:
    for pair in PAIRS:
        outcome = expected(*pair)
        if outcome == "provenance_correction":
            assert decide(pair, corrects_provenance=True) == (outcome, None)
        elif outcome not in ("free", None):
            with pytest.raises((InvalidStateTransition, PolicyDenied)):
                decide(pair, corrects_provenance=True)


@pytest.mark.parametrize(
    ("pattern", "granted"),
    [
        ("*", True), ("actor:local:*", True), ("actor:local:someone", True),
        ("actor:*:someone", True), ("actor:local:some???", True), ("actor:local", False),
        ("ACTOR:LOCAL:SOMEONE", False), ("actor:agent:*", False), ("", False),
    ],
)  # fmt: skip
def test_a_rule_may_name_its_actors(pattern: str, granted: bool) -> None:
    pair = ("lifecycle", "archived", "active")
    rules = granting(pair, actors=["actor:nobody", pattern])
    if granted:
        assert decide(pair, overrides=rules) == ("override", "rule:r")
    else:
        with pytest.raises(PolicyDenied):
            decide(pair, overrides=rules)


def test_the_first_rule_that_grants_is_the_one_that_is_named() -> None:
    pair = ("retention", "legal_hold", "retained")
    rules = [
        *granting(pair, rule_id="rule:1", actors=["actor:nobody"]),
        *granting(pair, rule_id="rule:2"),
        *granting(pair, rule_id="rule:3"),
    ]
    assert decide(pair, overrides=rules) == ("hold_release", "rule:2")
    assert decide(pair, overrides=rules, override="rule:3") == ("hold_release", "rule:3")
    with pytest.raises(PolicyDenied):
        decide(pair, overrides=rules, override="rule:1")
    with pytest.raises(PolicyDenied):
        decide(pair, overrides=rules, override="rule:4")
