"""`pamctl verify-projection`: verdicts, reasons and exit statuses that CI relies on."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pamctl.projection import bundle
from tests.cli.conftest import Program
from tests.conftest import clean_environment
from tests.projections import ADAPTER, KEY, NOW, example, materials_of

FULL = "FULL_PROJECTION_AND_NATIVE_SOURCE_RESULTS"


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a key, and a projection of one memory in `answer/`."""
    folder = tmp_path_factory.mktemp("made") / "work"
    folder.mkdir()
    program = Program(folder, clean_environment(folder))
    claim = ["--type", "claim", "--content", '{"text": "Tea is at four."}']
    for words in (
        ["init"],
        ["key", "generate", "laptop"],
        ["create", *claim, "--validation", "corroborated"],
        ["project", "--request", "tea?", "--key", "laptop", "--out", "answer"],
    ):
        done = program(*words)
        assert done.status == 0, done.stderr
    # A day, so that a slow run of these tests is not a stale one.
    config = folder / ".pam" / "store.json"
    ages = {"max_projection_age_sec": 86400, "max_trust_age_sec": 86400}
    config.write_text(json.dumps({**json.loads(config.read_bytes()), **ages}))
    return folder


@pytest.fixture
def answer(pamctl: Program, made_once: Path) -> Program:
    """The program in a copy of it."""
    shutil.copytree(made_once, pamctl.folder, dirs_exist_ok=True)
    return pamctl


def record_of(program: Program, folder: str = "answer") -> dict[str, Any]:
    record: dict[str, Any] = json.loads((program.folder / folder / "record.json").read_bytes())
    return record


def trust_file(program: Program, **changes: Any) -> str:
    """A policy that pins the store's key, as a relying party elsewhere would write it."""
    key = program("key", "show", "laptop").json
    pin = {"public_key_pem": key["public_key_pem"], "status": "active", "valid_from": None}
    pin.update(changes.pop("pin", {}))
    document = {
        "adapter_keys": {key["key_id"]: pin},
        "max_projection_age_sec": 86400,
        "max_trust_age_sec": 86400,
        "max_clock_skew_sec": 1,
        **changes,
    }
    (program.folder / "trust.json").write_text(json.dumps(document))
    return "trust.json"


def refused(program: Program, *words: str) -> Any:
    outcome = program("verify-projection", *words)
    assert outcome.status == 11, outcome.stderr
    verdict = json.loads(outcome.stdout)
    assert verdict["valid"] is False
    return verdict["reason"]


def test_a_good_bundle_is_valid_in_full(answer: Program) -> None:
    for record in ("answer/record.json", "answer"):
        verdict = answer("verify-projection", record).json
        assert verdict["record"] == record
        assert verdict["valid"] is True
        assert verdict["verification_scope"] == FULL
        assert verdict["reason"] is None
        assert verdict["details"]["projection_id"] == record_of(answer)["projection_id"]
        assert verdict["details"]["delivered_count"] == 1


def test_the_envelope_alone(answer: Program) -> None:
    shutil.copy(answer.folder / "answer" / "record.json", answer.folder / "alone.json")
    verdict = answer("verify-projection", "alone.json", "--envelope-only").json
    assert verdict["verification_scope"] == "SIGNED_ENVELOPE_ONLY"
    assert refused(answer, "alone.json") == "material_missing"
    assert answer("verify-projection", "alone.json", "--bundle", "answer").json["valid"]


def test_a_relying_party_elsewhere_brings_its_own_policy(answer: Program) -> None:
    trust = trust_file(answer)
    shutil.rmtree(answer.folder / ".pam")
    assert answer("verify-projection", "answer", "--trust", trust).json["valid"]
    assert refused(answer, "answer") == "adapter_key_not_pinned"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"adapter_keys": {}}, "adapter_key_not_pinned"),
        ({"pin": {"status": "revoked"}}, "adapter_key_revoked"),
        ({"pin": {"status": "compromised"}}, "adapter_key_revoked"),
        ({"pin": {"valid_from": "2999-01-01T00:00:00Z"}}, "adapter_key_not_yet_valid"),
        ({"pin": {"valid_to": "2001-01-01T00:00:00Z"}}, "adapter_key_expired"),
        ({"pin": {"adapter_id": "urn:example:another"}}, "adapter_mismatch"),
        ({"expected_source_profile": "urn:example:x"}, "source_profile_mismatch"),
        ({"expected_context_frame_profile": "urn:example:x"}, "context_frame_profile_mismatch"),
    ],
)
def test_the_policy_decides(answer: Program, changes: dict[str, Any], reason: str) -> None:
    assert refused(answer, "answer", "--trust", trust_file(answer, **changes)) == reason


def test_another_key_under_the_same_id_is_no_signature(answer: Program) -> None:
    other = answer("key", "generate", "other").json["public_key_pem"]
    trust = trust_file(answer, pin={"public_key_pem": other})
    assert refused(answer, "answer", "--trust", trust) == "signature_invalid"


def test_time_can_be_named(answer: Program) -> None:
    created = record_of(answer)["created_at"]
    assert answer("verify-projection", "answer", "--at", created).json["valid"]
    assert refused(answer, "answer", "--at", "2999-01-01T00:00:00Z") == "trust_snapshot_stale"
    assert refused(answer, "answer", "--at", "2001-01-01T00:00:00Z") == "timestamp_order_invalid"
    assert answer("verify-projection", "answer", "--at", "tomorrow").status == 2
    assert answer("verify-projection", "answer", "--at", "2026-01-01T00:00:00").status == 2


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("record.json", None),
        ("request", "recall_request_digest_mismatch"),
        ("policy", "selection_policy_digest_mismatch"),
        ("trust-snapshot.cbor", "trust_snapshot_digest_mismatch"),
        ("sources/0000", "source_object_digest_mismatch"),
        ("fragments/0000", "fragment_digest_mismatch"),
        ("projection.txt", "projection_fragment_concatenation_mismatch"),
    ],
)
def test_whatever_is_altered_shows(answer: Program, name: str, reason: str | None) -> None:
    file = answer.folder / "answer" / name
    data = file.read_bytes()
    if reason is None:
        file.write_bytes(data.replace(b'"delivered":[{', b'"delivered":[{"x":1,'))
        assert refused(answer, "answer") == "record_invalid"
        file.write_bytes(data)
    else:
        file.write_bytes(data + b" ")
        assert refused(answer, "answer") == reason
        file.unlink()
        assert refused(answer, "answer") == "material_missing"
        file.write_bytes(data)
    assert answer("verify-projection", "answer").json["valid"]


def test_an_id_is_accepted_once(answer: Program) -> None:
    assert answer("verify-projection", "answer", "--single-use").json["valid"]
    assert refused(answer, "answer", "--single-use") == "projection_replay"
    assert answer("verify-projection", "answer").json["valid"]
    elsewhere = ["--single-use", "--register", "seen"]
    assert answer("verify-projection", "answer", *elsewhere).json["valid"]
    assert refused(answer, "answer", *elsewhere) == "projection_replay"
    trust = trust_file(answer, single_use=True)
    assert refused(answer, "answer", "--trust", trust) == "projection_replay"


def test_single_use_needs_a_place_to_remember(answer: Program) -> None:
    trust = trust_file(answer, single_use=True)
    (answer.folder / ".pam").rename(answer.folder / "elsewhere")
    needs = answer("verify-projection", "answer", "--trust", trust)
    assert needs.status == 2
    assert "--register" in needs.error["details"]["hint"]


def test_many_records_in_one_process(answer: Program) -> None:
    answer("project", "--request", "x", "--key", "laptop", "--out", "second")
    bad = record_of(answer)
    bad["nonclaims"]["model_use"] = "ESTABLISHED"
    (answer.folder / "bad.json").write_text(json.dumps(bad))
    outcome = answer("verify-projection", "answer", "bad.json", "second")
    assert outcome.status == 11
    items = json.loads(outcome.stdout)["items"]
    assert [(item["record"], item["reason"]) for item in items] == [
        ("answer", None),
        ("bad.json", "nonclaim_invalid"),
        ("second", None),
    ]
    lines = answer("verify-projection", "answer", "second", "--format", "jsonl")
    assert lines.status == 0
    assert [json.loads(line)["valid"] for line in lines.stdout.splitlines()] == [True, True]


def test_a_record_comes_on_standard_input(answer: Program) -> None:
    record = (answer.folder / "answer" / "record.json").read_bytes()
    verdict = answer("verify-projection", "-", "--bundle", "answer", stdin=record).json
    assert (verdict["record"], verdict["verification_scope"]) == ("-", FULL)
    assert answer("verify-projection", "-", "--envelope-only", stdin=record).json["valid"]
    assert answer("verify-projection", "-", stdin=record).status == 2


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["nowhere.json"],
        ["answer", "nowhere.json"],
        ["answer", "--bundle", "nowhere"],
        ["answer", "answer", "--bundle", "answer"],
        ["answer", "--bundle", "answer", "--envelope-only"],
        ["answer", "--trust", "nowhere.json"],
        ["answer", "--trust", "answer/record.json"],
        ["answer", "--native-results", "answer/record.json"],
        ["answer", "--store", "nowhere"],
    ],
)
def test_what_cannot_be_judged_is_no_verdict(answer: Program, words: list[str]) -> None:
    outcome = answer("verify-projection", *words)
    assert outcome.status in (2, 3)
    assert outcome.stdout == b""


@pytest.mark.parametrize("data", [b"", b"{}", b"[1", b"\xff\xfe", b'{"a":1,"a":1}', b"null"])
def test_what_is_no_record_is_refused(answer: Program, data: bytes) -> None:
    (answer.folder / "odd.json").write_bytes(data)
    assert refused(answer, "odd.json", "--envelope-only") == "record_invalid"


def test_keys_beside_a_record_are_no_trust_anchor(answer: Program, tmp_path: Path) -> None:
    """A record with its bundle and its keys, all from the same stranger."""
    shutil.copytree(answer.folder / ".pam" / "keys", answer.folder / "answer" / "keys")
    key = answer("key", "show", "laptop").json
    (answer.folder / "answer" / "trust.json").write_text(json.dumps({"adapter_keys": {}, **key}))
    stranger = tmp_path / "stranger"
    shutil.copytree(answer.folder / "answer", stranger)
    elsewhere = Program(stranger, answer.environment)
    assert refused(elsewhere, "record.json") == "adapter_key_not_pinned"


def test_a_revoked_key_of_the_store_is_refused(answer: Program) -> None:
    answer("key", "revoke", "laptop")
    assert refused(answer, "answer") == "adapter_key_revoked"


def test_a_trusted_adapter_of_another_store_is_accepted(answer: Program) -> None:
    key = answer("key", "show", "laptop").json
    answer("init", "other")
    other = ["--store", "other/.pam"]
    assert refused(answer, "answer", *other) == "adapter_key_not_pinned"
    answer("key", "trust", key["public_key_spki_b64u"], "--as", "author", *other)
    assert refused(answer, "answer", *other) == "adapter_key_not_pinned"
    answer("key", "trust", key["public_key_spki_b64u"], "--as", "adapter", *other)
    assert answer("verify-projection", "answer", *other).json["valid"]


def test_a_person_sees_the_reason(answer: Program) -> None:
    status, shown = answer.at_terminal("verify-projection", "answer")
    assert status == 0
    assert "valid" in shown
    (answer.folder / "answer" / "request").write_bytes(b"other")
    status, shown = answer.at_terminal("verify-projection", "answer")
    assert status == 11
    assert "recall_request_digest_mismatch" in shown


def test_sources_that_pamctl_cannot_open_need_results_of_your_own(
    pamctl: Program, tmp_path: Path
) -> None:
    """An ApertoMemory projection: who holds the vault brings what it says of the sources."""
    case = example()
    bundle.publish(pamctl.folder / "aperto", case.projection)
    pin = {"public_key_hex": KEY.public.raw.hex(), "status": "active"}
    ages = {"max_projection_age_sec": 300, "max_trust_age_sec": 300}
    policy = {"adapter_keys": {ADAPTER.key_id: pin}, **ages}
    (pamctl.folder / "trust.json").write_text(json.dumps(policy))
    words = ["aperto", "--trust", "trust.json", "--at", NOW]
    assert refused(pamctl, *words) == "material_missing"
    results = materials_of(case.projection).native_results
    assert results is not None
    for found, reason in (
        (results, None),
        ([*results[:-1], None], "native_source_result_mismatch"),
        (results[:-1], "material_missing"),
    ):
        (pamctl.folder / "results.json").write_text(json.dumps(found))
        outcome = pamctl("verify-projection", *words, "--native-results", "results.json")
        assert outcome.status == (0 if reason is None else 11)
        assert json.loads(outcome.stdout)["reason"] == reason
