"""PAMSPEC §18, §18.1 and §18.12: which profiles are claimed, and the report on them."""

import json
import re
from pathlib import Path

import pytest

from pamctl.service import profiles
from tests.conformance.coprocess import Coprocess
from tests.conformance.requirements import REQUIREMENTS
from tests.conftest import Run

ALL = {
    "PAMSPEC-Lite",
    "PAMSPEC-Delegation",
    "PAMSPEC-Subscribe",
    "PAMSPEC-Core",
    "PAMSPEC-Versioning",
    "PAMSPEC-Ledger",
    "PAMSPEC-Structured-Query",
    "PAMSPEC-Semantic-Query",
    "PAMSPEC-Relationship",
    "PAMSPEC-Protocol-Binding",
    "PAMSPEC-Evaluation",
}
STATUS = {row.identifier: row.status for row in REQUIREMENTS}


def test_18_the_profiles_are_these_eleven() -> None:
    assert set(profiles.PROFILES) == ALL


def test_18_a_profile_is_supported_when_nothing_of_it_is_open() -> None:
    """By the page of conformance, which other tests hold to what is."""
    met = [
        name
        for name, wanted in profiles.PROFILES.items()
        if all(STATUS[f"PAMSPEC-{requirement}"] == "shown" for requirement in wanted)
    ]
    assert profiles.supported() == met


def test_18_one_open_requirement_takes_a_profile_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiles, "OPEN", {"18.5-d": "for the test"})
    assert "PAMSPEC-Versioning" not in profiles.supported()
    assert "PAMSPEC-Lite" in profiles.supported()
    assert profiles.missing("PAMSPEC-Versioning") == ["18.5-d"]
    monkeypatch.setattr(profiles, "OPEN", {"8.4-3": "for the test"})
    assert not {"PAMSPEC-Versioning", "PAMSPEC-Lite", "PAMSPEC-Core"} & set(profiles.supported())


def test_18_each_profile_demands_all_of_its_section() -> None:
    sections = {
        "PAMSPEC-Lite": "18.1",
        "PAMSPEC-Delegation": "18.2",
        "PAMSPEC-Subscribe": "18.3",
        "PAMSPEC-Core": "18.4",
        "PAMSPEC-Versioning": "18.5",
        "PAMSPEC-Ledger": "18.6",
        "PAMSPEC-Structured-Query": "18.7",
        "PAMSPEC-Semantic-Query": "18.8",
        "PAMSPEC-Relationship": "18.9",
        "PAMSPEC-Protocol-Binding": "18.10",
        "PAMSPEC-Evaluation": "18.11",
    }
    for name, section in sections.items():
        of_section = {
            row.identifier.partition("-")[2]
            for row in REQUIREMENTS
            if row.draft == "PAMSPEC" and row.section == section
        }
        assert of_section
        assert of_section <= set(profiles.PROFILES[name]), name


def test_18_stdio_announces_what_is_supported(tmp_path: Path) -> None:
    with Coprocess(tmp_path, "--ephemeral") as coprocess:
        assert coprocess.hello["profiles_supported"] == profiles.supported()


def test_18_1_lite_is_met_by_its_parts() -> None:
    parts = [row for row in REQUIREMENTS if re.fullmatch(r"PAMSPEC-18\.1-[a-z]", row.identifier)]
    assert len(parts) == 9
    assert {row.status for row in parts} == {"shown"}
    assert "PAMSPEC-Lite" in profiles.supported()


def test_18_1_full_profiles_are_declared_besides_lite() -> None:
    """Relationships go beyond Lite, and so their profile is declared as well."""
    assert {"PAMSPEC-Lite", "PAMSPEC-Versioning", "PAMSPEC-Relationship"} <= set(
        profiles.supported()
    )


def test_18_12_the_report_names_profiles_and_versions(run: Run) -> None:
    """Without a store, too: it is about the program."""
    done = run("status", "--profiles")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert {profile["name"] for profile in report["profiles"]} == ALL
    for profile in report["profiles"]:
        assert profile["version"]
        assert profile["supported"] == (profile["name"] in profiles.supported())
        assert profile["supported"] == (profile["open"] == [])
        assert profile["requirements"] == len(profiles.PROFILES[profile["name"]])
    assert report["specification"] == "draft-infantado-agent-memory-architecture-00"


def test_18_12_the_report_says_how_things_are_done(run: Run) -> None:
    report = json.loads(run("status", "--profiles").stdout)
    for member in (
        "storage",
        "authorization",
        "indexes",
        "export",
        "deletion",
        "test_vectors",
    ):
        assert len(report[member]) > 40
    assert {deviation["requirement"] for deviation in report["deviations"]} == set(profiles.OPEN)
    assert all(deviation["missing"] for deviation in report["deviations"])


def test_no_requirement_of_a_profile_is_named_twice() -> None:
    for name, wanted in profiles.PROFILES.items():
        assert len(set(wanted)) == len(wanted), name
