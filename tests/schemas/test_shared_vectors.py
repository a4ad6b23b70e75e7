"""The candidate vectors of the PAMSPEC authors, where they stand beside the checkout.

Every vector is in exactly one table below; a new one fails the test until it is placed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pamctl.errors import PamError
from pamctl.model.documents import check
from pamctl.model.envelopes import semantic_checks
from pamctl.rules.transitions import decide_transition, default_overrides
from tests.shared import shared_path

pytestmark = pytest.mark.shared

ENVELOPES = (
    "attested-agent-actor",
    "claim-creation",
    "claim-with-quality-signals",
    "decision-update",
    "deletion-tombstone",
    "expiration",
    "partial-redaction",
    "pending-deletion",
    "redaction-with-tombstone",
    "scalar-canonical-content",
    "tool-invocation",
    "tool-result",
    "working-memory",
)
EVENTS = (
    "access-denial-event-only",
    "derived-index-event-only",
    "idempotent-repeated-create",
    "lifecycle-transition",
    "object-history",
    "retention-transition",
    "validation-transition",
)
VALID = {
    **dict.fromkeys(ENVELOPES, "envelope"),
    **dict.fromkeys(EVENTS, "event"),
    "delegation": "delegation",
    "evaluation-snapshot": "snapshot",
    "relationship-creation": "relationship",
    "semantic-query-with-embedding-space": "query",
    "structured-query": "query",
}
"""Document of ours, by the name of a valid vector."""

EXAMPLES = {
    "artifact": "envelope",
    "claim": "envelope",
    "concurrent-update-conflict": "error",
    "decision": "envelope",
    "lifecycle-transition": "event",
    "semantic-query": "query",
    "task": "envelope",
}
NO_DOCUMENT = {"version-chain": "an outline of a history, not a document of the model"}

MISSHAPEN = {
    "cross-scope-relationship-without-policy": ("relationship", "/policy_basis"),
    "delegation-unknown-operation": ("delegation", "/granted_operations/1"),
    "evaluation-snapshot-unsealed": ("snapshot", "/sealed"),
    "missing-provenance": ("envelope", "/provenance"),
    "missing-scope": ("envelope", "/scope_id"),
    "quality-signals-out-of-range": ("envelope", "/quality_signals/assessed_confidence"),
    "subscription-delivery-invalid-backpressure": (
        "subscription",
        "/delivery/backpressure_policy",
    ),
    "subscription-negative-start-sequence": ("subscription", "/start_sequence"),
    "tool-invocation-missing-tool-name": ("tool-invocation", "/tool_name"),
    "tool-result-without-invocation": ("tool-result", "/invocation_object_id"),
    "working-memory-missing-task-ref": ("working-memory", "/task_ref"),
}
"""Invalid vectors that are a matter of shape: document of ours and the member at fault."""

SEMANTIC = {
    "attestation-window-inverted": ("envelope", "/actor/attestation/not_after"),
    "delegation-window-inverted": ("delegation", "/not_after"),
}
"""Invalid vectors whose shape is right and that break a rule on one document."""

TRANSITIONS = {
    "invalid-cross-dimensional-transition": "lifecycle",
    "invalid-lifecycle-transition": "lifecycle",
    "invalid-validation-transition": "validation",
}
"""Invalid vectors that are transitions outside the table, with their dimension."""

ANSWERS = (
    "deletion-blocked-by-legal-hold",
    "duplicate-operation-different-content",
    "stale-expected-version",
    "unauthorized-lifecycle-promotion",
)
"""Invalid vectors that state the error which an operation answers."""

WHOLE_OPERATIONS = (
    *ANSWERS,
    "comparison-across-incompatible-spaces",
    "evaluation-snapshot-membership-mutated",
    "promote-of-non-working-memory",
    "reused-immutable-version-identifier",
    "silent-overwrite-attempt",
    "vector-without-embedding-space",
)
"""Invalid vectors that take an operation on a store to be refused. The conformance test
that shows one names it; until there is such a test the vector shows as skipped."""

SHAPE_CODES = {"schema_required": "invalid_object"}
"""What the vectors call a failure of their schemas, in the codes of PAMSPEC §14."""


def vector(*path: str) -> Any:
    return json.loads(shared_path("vectors", "pamspec", *path).read_text(encoding="utf-8"))


def stems(*path: str) -> set[str]:
    return {file.stem for file in shared_path("vectors", "pamspec", *path).glob("*.json")}


def refusal(document: str, instance: Any) -> PamError:
    with pytest.raises(PamError) as caught:
        check(document, instance)
    return caught.value


@pytest.mark.parametrize(("name", "document"), VALID.items())
def test_a_valid_vector_is_accepted(name: str, document: str) -> None:
    instance = vector("vectors", "valid", f"{name}.json")
    check(document, instance)
    if document in ("envelope", "relationship", "delegation"):
        semantic_checks(instance)


@pytest.mark.parametrize(("name", "document"), EXAMPLES.items())
def test_an_example_is_accepted(name: str, document: str) -> None:
    check(document, vector("examples", f"{name}.json"))


@pytest.mark.parametrize("name", MISSHAPEN)
def test_a_misshapen_vector_is_refused_as_it_says(name: str) -> None:
    document, pointer = MISSHAPEN[name]
    case = vector("vectors", "invalid", f"{name}.json")
    error = refusal(document, case["instance"])
    expected = case["expected_failure"]
    assert error.code == SHAPE_CODES.get(expected, expected)
    assert error.details["pointer"] == pointer


@pytest.mark.parametrize("name", SEMANTIC)
def test_a_vector_that_breaks_a_rule_is_refused_as_it_says(name: str) -> None:
    document, pointer = SEMANTIC[name]
    case = vector("vectors", "invalid", f"{name}.json")
    check(document, case["instance"])
    with pytest.raises(PamError) as caught:
        semantic_checks(case["instance"])
    assert caught.value.code == case["expected_failure"]
    assert caught.value.policy_rule_id == case["semanticRule"]
    assert caught.value.details["pointer"] == pointer


@pytest.mark.parametrize("name", TRANSITIONS)
def test_a_transition_outside_the_table_is_refused_as_it_says(name: str) -> None:
    case = vector("vectors", "invalid", f"{name}.json")
    change = case["instance"]
    assert change.get("dimension", TRANSITIONS[name]) == TRANSITIONS[name]
    with pytest.raises(PamError) as caught:
        decide_transition(
            TRANSITIONS[name],
            change["from"],
            change["to"],
            actor_id="actor:local:user",
            overrides=default_overrides(),
        )
    assert caught.value.code == case["expected_failure"]


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_an_error_envelope(name: str) -> None:
    case = vector("vectors", "invalid", f"{name}.json")
    check("error", case["instance"])
    assert case["instance"]["code"] == case["expected_failure"]


@pytest.mark.parametrize("name", WHOLE_OPERATIONS)
def test_a_conformance_test_shows_the_vector(name: str) -> None:
    assert vector("vectors", "invalid", f"{name}.json")["expected_failure"]
    conformance = Path(__file__).resolve().parents[1] / "conformance"
    if not any(name in file.read_text(encoding="utf-8") for file in conformance.glob("*.py")):
        pytest.skip(f"no conformance test names the vector {name} yet")


def test_no_vector_is_passed_over() -> None:
    assert stems("vectors", "valid") == set(VALID)
    tables = [*MISSHAPEN, *SEMANTIC, *TRANSITIONS, *WHOLE_OPERATIONS]
    assert len(tables) == len(set(tables))
    assert stems("vectors", "invalid") == set(tables)
    assert stems("examples") == {*EXAMPLES, *NO_DOCUMENT}


def test_the_published_projection_record_is_one() -> None:
    case = json.loads(
        shared_path("vectors", "projection", "memory-projection-record.v1.vectors.json").read_text(
            encoding="utf-8"
        )
    )
    record = case["projection"]["record"]
    check("projection-record", record)
    assert refusal("projection-record", {**record, "extra": 1}).details["pointer"] == "/extra"
    pin = dict(case["adapter_pin"])
    key_id = pin["key_id"]
    policy = dict(case["verification_policy"], adapter_keys={key_id: pin})
    del policy["verification_time"]
    check("trust-policy", policy)


def test_what_we_accept_their_schemas_accept() -> None:
    """Ours may be stricter, never laxer: what pamctl writes, others must be able to read."""
    import jsonschema_rs

    from tests.schemas.model_tables import MODEL_TABLES

    theirs = {
        "envelope": "memory-object",
        "relationship": "relationship",
        "delegation": "delegation",
        "event": "memory-event",
        "provenance": "provenance",
        "actor": "actor",
        "embedding-space": "embedding-space",
        "query": "query",
        "snapshot": "evaluation-snapshot",
        "subscription": "subscription",
        "scope": "memory-scope",
        "error": "error",
        "tool-invocation": "tool-invocation-content",
        "tool-result": "tool-result-content",
        "working-memory": "working-memory-content",
    }
    folder = shared_path("vectors", "pamspec", "schemas")

    def retrieve(uri: str) -> Any:
        return json.loads((folder / uri.rpartition("/")[2]).read_text(encoding="utf-8"))

    for name, other in theirs.items():
        validator = jsonschema_rs.Draft202012Validator(
            retrieve(f"/{other}.schema.json"), retriever=retrieve, validate_formats=True
        )
        for instance in MODEL_TABLES[name].valid:
            assert validator.is_valid(instance), (name, instance)
