"""The schemas themselves: well formed, closed, and of one mind with the code."""

from __future__ import annotations

import re
from typing import Any, get_args

import jsonschema_rs
import pytest

from pamctl import errors, limits
from pamctl.audit import finding_kinds, refusals, repair
from pamctl.encoding.identifiers import IDENTIFIER_PATTERN
from pamctl.exchange import plans
from pamctl.index import ordering
from pamctl.model import faults, vocabulary
from pamctl.model.documents import URN, is_valid, schema
from pamctl.projection import reasons, version_trust
from pamctl.rules.authorization import default_policy
from pamctl.rules.transitions import CONDITIONS
from pamctl.service.envelope_order import split
from pamctl.store import key_records
from pamctl.store.layout import FORMAT, FORMAT_VERSION
from tests.schemas.published import FOLDER, RESULTS, SUFFIX, parts, published_names

NAMES = published_names()
COMMON = schema("common")["$defs"]

OPEN = {
    "event": ["/properties/payload"],
    "subscription": ["/properties/filter/properties/predicate"],
    "error": ["/$defs/answer/properties/details"],
    "batch-request": ["/properties/arguments"],
    "ledger-entry": ["/properties/body", "/$defs/idempotency_body/properties/result"],
    "requests/update": ["/properties/json_patch/items"],
    "results/common": ["/$defs/open"],
}
"""Objects that may have members which are not named, by document."""


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_valid_and_says_what_it_is(name: str) -> None:
    document = schema(name)
    jsonschema_rs.meta.validate(document)
    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert document["$id"] == URN + name
    assert document["title"]
    assert re.search(r"(PAMSPEC|MPR) §\d|store|batch", document["description"])


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_refers_only_to_what_there_is(name: str) -> None:
    for where, part in parts(schema(name)):
        target = part.get("$ref")
        if target is None:
            continue
        urn, _, fragment = target.partition("#")
        document: Any = schema(urn.removeprefix(URN) or name)
        for step in fragment.split("/")[1:]:
            document = document[step]
        assert isinstance(document, dict), where


@pytest.mark.parametrize("name", NAMES)
def test_objects_are_closed_unless_a_profile_may_extend_them(name: str) -> None:
    objects = [
        where
        for where, part in parts(schema(name))
        if part.get("type") == "object" and part.get("additionalProperties") is None
    ]
    # Those of version files and stubs are closed by what they refer to.
    closed_elsewhere = {"version-file", "erasure-stub", "withheld-stub"}
    assert objects == OPEN.get(name, []) or (
        name in closed_elsewhere and objects == ["/properties/envelope"]
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_spelling_has_a_sentence(name: str) -> None:
    """A refusal explains a pattern by the name of its definition."""
    for where, part in parts(schema(name)):
        # (a member may be called `format` too)
        if any(isinstance(part.get(keyword), str) for keyword in ("pattern", "format")):
            _, _, definition = where.partition("/$defs/")
            assert definition in faults.ACCEPTED or definition == "extension_object_type", where


@pytest.mark.parametrize("name", NAMES)
def test_alternatives_have_the_forms_that_refusals_explain(name: str) -> None:
    for where, part in parts(schema(name)):
        for keyword in ("anyOf", "oneOf"):
            if name.startswith(RESULTS):  # nobody is refused an answer of ours
                continue
            if keyword in part and where != "/$defs/object_type":
                assert all(list(branch) == ["required"] for branch in part[keyword]), where
        if where.endswith("/not"):
            assert list(part) in (["required"],) or where.endswith("/if/not"), where


def test_bounds_are_those_of_limits() -> None:
    assert COMMON["identifier"]["maxLength"] == limits.IDENTIFIER_CHARS_MAX
    assert COMMON["uri"]["maxLength"] == limits.IDENTIFIER_CHARS_MAX
    assert COMMON["label"]["maxLength"] == limits.IDENTIFIER_CHARS_MAX
    assert COMMON["object_type"]["maxLength"] == limits.IDENTIFIER_CHARS_MAX
    assert COMMON["timestamp"]["maxLength"] == limits.TIMESTAMP_CHARS_MAX
    assert COMMON["text"]["maxLength"] == limits.TEXT_CHARS_MAX
    assert COMMON["stated_text"]["maxLength"] == limits.TEXT_CHARS_MAX
    assert COMMON["cursor"]["maxLength"] == limits.TEXT_CHARS_MAX
    assert COMMON["idempotency_key"]["maxLength"] == limits.IDEMPOTENCY_KEY_CHARS_MAX
    assert COMMON["page_limit"]["maximum"] == limits.PAGE_ITEMS_MAX
    record = schema("projection-record")
    assert record["properties"]["delivered"]["maxItems"] == limits.PROJECTION_ENTRIES_MAX


@pytest.mark.parametrize("name", NAMES)
def test_lengths_and_integers_are_bounded(name: str) -> None:
    for where, part in parts(schema(name)):
        if part.get("type") == "integer":
            assert part["maximum"] <= limits.INTEGER_MAX, where
            assert part["minimum"] >= -limits.INTEGER_MAX, where
        if part.get("type") == "string" and not where.endswith("/if"):
            bounded = "maxLength" in part or "pattern" in part
            assert bounded or name in ("error", "results/common"), where


def test_vocabularies_are_those_of_the_code() -> None:
    assert COMMON["identifier"]["pattern"] == IDENTIFIER_PATTERN
    assert tuple(COMMON["lifecycle_state"]["enum"]) == vocabulary.LIFECYCLE_STATES
    assert tuple(COMMON["availability_state"]["enum"]) == vocabulary.AVAILABILITY_STATES
    assert tuple(COMMON["retention_state"]["enum"]) == vocabulary.RETENTION_STATES
    assert tuple(COMMON["validation_state"]["enum"]) == vocabulary.VALIDATION_STATES
    assert tuple(COMMON["dimension"]["enum"]) == vocabulary.DIMENSIONS
    assert COMMON["state"]["enum"] == [s for states in vocabulary.STATES.values() for s in states]
    assert tuple(COMMON["operation"]["enum"]) == vocabulary.OPERATIONS
    assert tuple(COMMON["event_type"]["enum"]) == vocabulary.EVENT_TYPES
    assert tuple(COMMON["standard_object_type"]["enum"]) == vocabulary.STANDARD_OBJECT_TYPES
    condition = schema("policy")["properties"]["overrides"]["items"]["properties"]["condition"]
    assert set(condition["enum"]) == set(CONDITIONS)
    answer = schema("error")["$defs"]["answer"]["properties"]
    assert sorted(answer["code"]["enum"]) == sorted(kind.code for kind in errors.CODES)
    store = schema("store")["properties"]
    assert (store["format"]["const"], store["format_version"]["const"]) == (FORMAT, FORMAT_VERSION)


def test_vocabularies_of_queries_events_and_entries() -> None:
    query, request = schema("query")["properties"], schema("requests/query")["properties"]
    orders = [*vocabulary.ORDER_FIELDS, *(f"{field}:desc" for field in vocabulary.ORDER_FIELDS)]
    assert request["order_by"]["items"]["enum"] == orders
    assert query["ordering"]["properties"]["order_by"]["items"]["enum"] == orders
    by_envelope = {name for name in vocabulary.ORDER_FIELDS if split([name])[0] is not None}
    assert set(vocabulary.ORDER_FIELDS) == {*ordering.ORDER_FIELDS, *by_envelope}
    bases = list(vocabulary.TEMPORAL_BASES)
    ranges = schema("requests/query")["$defs"]["range"]["properties"]
    assert ranges["basis"]["enum"] == bases
    assert query["query"]["properties"]["temporal_basis"]["enum"] == bases
    changes = schema("event")["if"]["properties"]["event_type"]["enum"]
    assert tuple(changes) == vocabulary.VERSION_EVENT_TYPES
    entry = schema("ledger-entry")
    assert tuple(entry["properties"]["kind"]["enum"]) == get_args(vocabulary.EntryKind)
    rules = schema("policy")["properties"]["rules"]["items"]["properties"]
    assert tuple(rules["operations"]["items"]["enum"]) == vocabulary.GOVERNED_OPERATIONS


def test_vocabularies_of_results() -> None:
    common = schema("results/common")["$defs"]
    assert tuple(common["reason"]["enum"]) == get_args(reasons.Reason)
    verdict = common["projection_verdict"]["properties"]
    assert set(verdict["verification_scope"]["enum"]) == set(get_args(reasons.Scope))
    assert tuple(common["checkpoint_reason"]["enum"]) == get_args(refusals.Reason)
    severities = common["finding"]["properties"]["severity"]["enum"]
    assert tuple(severities) == get_args(finding_kinds.Severity)
    states = common["verified_version"]["properties"]["verification"]["properties"]["signature"]
    assert tuple(states["enum"]) == get_args(version_trust.SignatureState)
    key = common["key"]["properties"]
    assert tuple(key["status"]["enum"]) == get_args(key_records.KeyStatus)
    assert set(key["roles"]["items"]["enum"]) == set(get_args(key_records.Role))
    brought = schema("results/import")["$defs"]["line"]["properties"]["action"]["enum"]
    assert tuple(brought) == get_args(plans.Action)
    mended = schema("results/repair")["$defs"]["line"]["properties"]["action"]["enum"]
    assert set(mended) == set(get_args(repair.Kind))


def test_the_policy_of_a_new_scope_is_one() -> None:
    assert is_valid("policy", default_policy())


def test_files_are_written_alike() -> None:
    """So that a change shows as what it is."""
    import json

    for name in NAMES:
        text = (FOLDER / f"{name}{SUFFIX}").read_text(encoding="utf-8")
        assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n", name
