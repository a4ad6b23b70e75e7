"""What a refusal says: the code, the member, what is accepted, and what was meant."""

from __future__ import annotations

from time import process_time
from typing import Any

import pytest

from pamctl.errors import InvalidObject, InvalidRequest, PamError, UnsupportedObjectType
from pamctl.model.documents import check, is_valid, schema
from tests.schemas.changing_tables import BARE_CREATE, UPDATE
from tests.schemas.instances import RELATIONSHIP
from tests.schemas.looking_tables import FILTERS
from tests.schemas.requests import HERE
from tests.schemas.tables import MISSING, edited, merged


def refused(name: str, value: Any, at: str = "") -> PamError:
    with pytest.raises(PamError) as caught:
        check(name, value, at=at)
    return caught.value


def test_a_missing_argument() -> None:
    error = refused("requests/create", edited(BARE_CREATE, "/scope_id", MISSING))
    assert error.message == "/scope_id is missing"


def test_a_misspelt_argument_is_told_before_the_one_that_is_missing() -> None:
    misspelt = merged(edited(BARE_CREATE, "/scope_id", MISSING), {"scopeid": "a:b"})
    error = refused("requests/create", misspelt)
    assert error.details == {"pointer": "/scopeid", "hint": "did you mean scope_id?"}
    assert error.message.startswith("/scopeid is not known here; known are actor, asserted_at, ")


def test_a_state_that_is_none_names_those_that_are_and_the_nearest() -> None:
    error = refused("requests/query", merged(HERE, {"retention_state": ["legalhold"]}))
    assert error.message == (
        '/retention_state/0 is "legalhold", not accepted; accepted are '
        "retained, expired, pending_deletion, legal_hold"
    )
    assert error.details["hint"] == "did you mean legal_hold?"


def test_an_object_type_that_is_none() -> None:
    error = refused("requests/create", edited(BARE_CREATE, "/object_type", "descision"))
    assert isinstance(error, UnsupportedObjectType)
    assert "claim, decision, task" in error.message
    assert "com.example.note" in error.message
    assert error.details["hint"] == "did you mean decision?"


def test_no_hint_where_nothing_is_near() -> None:
    error = refused("requests/create", edited(BARE_CREATE, "/object_type", "zzz"))
    assert "hint" not in error.details


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (3, "/object_id is a number; it has to be a string"),
        (None, "/object_id is null; it has to be a string"),
        (False, "/object_id is a boolean; it has to be a string"),
        ([], "/object_id is an array; it has to be a string"),
        ({}, "/object_id is an object; it has to be a string"),
        ("x:" + "y" * 511, "/object_id has 513 characters; at most 512 are accepted"),
    ],
)
def test_other_json_types(value: Any, sentence: str) -> None:
    error = refused("requests/create", merged(BARE_CREATE, {"object_id": value}))
    assert error.message == sentence


@pytest.mark.parametrize(
    ("member", "value", "sentence"),
    [
        ("limit", 0, "/limit is 0, too small; at least 1 is accepted"),
        ("limit", 5000, "/limit is 5000, too large; at most 1000 is accepted"),
        ("limit", 2.0, "/limit is 2.0, not accepted; an integer has to be spelled without"),
        ("cursor", "", "/cursor is empty"),
        ("as_of", "today", '/as_of is "today", not accepted; a timestamp is RFC 3339 with an'),
        ("source_ref", ["x"] * 1001, "/source_ref has 1001 items; at most 1000 are accepted"),
        ("object_type", 7, "/object_type is a number; it has to be a string or an array"),
        ("temporal", {"basis": "sequence"}, "/temporal needs one of from, until"),
    ],
)
def test_bounds_and_spellings(member: str, value: Any, sentence: str) -> None:
    error = refused("requests/query", merged(HERE, {member: value}))
    assert error.message.startswith(sentence)
    assert error.details["pointer"] == f"/{member}"


def test_members_that_exclude_each_other() -> None:
    error = refused("requests/update", merged(UPDATE, {"merge_patch": {}}))
    assert error.message == "/merge_patch excludes canonical_content; give one of the two"


def test_a_member_that_must_not_be_there() -> None:
    entry = {"n": 1, "tx": 1, "i": 1, "of": 1, "kind": "pack", "prev": "0" * 64}
    entry |= {"body": {"name": "0" * 64, "versions": 1}, "version": "sha256:" + "0" * 64}
    error = refused("ledger-entry", entry)
    assert error.message == "/version of the ledger entry must not be there"


def test_the_whole_is_called_by_its_name() -> None:
    assert refused("requests/create", []).message.startswith("the create request is an array;")
    assert refused("trust-policy", 1).message.startswith("the trust policy is a number;")


def test_a_request_that_is_wrong_as_a_request_is_told_so_first() -> None:
    twice = edited(edited(BARE_CREATE, "/actor", {}), "/scope_id", MISSING)
    assert isinstance(refused("requests/create", twice), InvalidRequest)
    then = edited(edited(BARE_CREATE, "/actor", {}), "/object_type", "x")
    assert isinstance(refused("requests/create", then), UnsupportedObjectType)
    last = edited(BARE_CREATE, "/actor", {})
    assert isinstance(refused("requests/create", last), InvalidObject)


def test_the_shape_of_a_relationship_comes_before_its_policy() -> None:
    crossing = merged(RELATIONSHIP, {"target_scope_id": "workspace:b"})
    assert refused("relationship", crossing).code == "policy_denied"
    unsound = edited(crossing, "/directionality", "both")
    assert refused("relationship", unsound).code == "invalid_object"


def test_pointers_start_where_the_caller_stands() -> None:
    error = refused("policy", {"policy_version": 1}, at="/scopes/0/policy")
    assert error.details["pointer"] == "/scopes/0/policy/default_effect"
    assert error.message == "/scopes/0/policy/default_effect is missing"


def test_pointers_escape_what_rfc_6901_has_them_escape() -> None:
    error = refused("requests/query", merged(HERE, {"a/b~c": 1}))
    assert error.details["pointer"] == "/a~1b~0c"


@pytest.mark.parametrize(
    "spoiled",
    [
        merged(BARE_CREATE, {"x" * 100_000: 1}),
        merged(BARE_CREATE, {"object_id": "x" * 100_000}),
        merged(BARE_CREATE, {"lifecycle_state": "x" * 100_000}),
        merged(BARE_CREATE, {"observed_at": "2" * 100_000}),
        merged(BARE_CREATE, {"actor": ["x" * 100_000]}),
        merged(BARE_CREATE, {"object_id": 10**15}),
    ],
    ids=["name", "id", "state", "time", "actor", "number"],
)
def test_a_refusal_is_short_whatever_it_refuses(spoiled: Any) -> None:
    error = refused("requests/create", spoiled)
    assert len(error.message) < 600
    assert len(error.details["pointer"]) < 600


@pytest.mark.parametrize(
    "spoiled",
    [
        merged(
            BARE_CREATE,
            {"object_type": "tool_result", "canonical_content": {"outcome": "hunter2"}},
        ),
        merged(
            BARE_CREATE,
            {
                "object_type": "tool_result",
                "canonical_content": {
                    "invocation_object_id": "hunter2",
                    "outcome": "error",
                    "latency_ms": "hunter2",
                },
            },
        ),
        merged(BARE_CREATE, {"object_type": "working_memory", "canonical_content": "hunter2"}),
    ],
)
def test_a_refusal_shows_no_content(spoiled: Any) -> None:
    error = refused("requests/create", spoiled)
    assert "hunter2" not in str(error.envelope())
    assert error.details["pointer"].startswith("/canonical_content")
    content = refused("tool-result", {"invocation_object_id": "hunter2", "outcome": "error"})
    assert "hunter2" not in str(content.envelope())


def test_a_refusal_shows_no_part_of_a_patch() -> None:
    patch = [{"op": "hunter2", "path": "", "value": 1}]
    without = edited(UPDATE, "/canonical_content", MISSING)
    error = refused("requests/update", merged(without, {"json_patch": patch}))
    assert error.details["pointer"] == "/json_patch/0/op"
    assert "hunter2" not in error.message


@pytest.mark.parametrize("value", [{1: 2}, {"scope_id": "\ud800"}, {"scope_id": b"x"}, {1, 2}])
def test_what_is_no_json_value_is_refused(value: Any) -> None:
    assert not is_valid("requests/query", value)
    error = refused("requests/query", value)
    assert isinstance(error, InvalidRequest)
    assert error.details["pointer"] == ""
    assert isinstance(refused("actor", value), InvalidObject)


def test_the_same_value_gets_the_same_refusal() -> None:
    spoiled = merged(FILTERS, {"limit": 0, "count": 1, "text": 5, "as_of": None, "actor": {}})
    seen = {str(refused("requests/query", spoiled).envelope()) for _ in range(20)}
    assert len(seen) == 1


def test_there_is_no_schema_of_another_name() -> None:
    with pytest.raises(LookupError):
        schema("requests/forget")
    with pytest.raises(LookupError):
        check("memory", {})


def test_a_large_value_is_refused_without_listing_all_its_faults() -> None:
    started = process_time()
    error = refused("requests/query", merged(HERE, {"source_ref": [1] * 500_000}))
    assert error.details["pointer"].startswith("/source_ref")
    # Listing them takes twenty seconds and more than a gigabyte.
    assert process_time() - started < 5
