"""`pamctl status --profiles`: the report on conformance, for people and for programs."""

from tests.cli.conftest import Program


def test_people_get_a_table_and_what_is_open(pamctl: Program) -> None:
    """Where there is no store, too."""
    status, shown = pamctl.at_terminal("status", "--profiles", env={"NO_COLOR": "1"})
    assert status == 0
    lines = shown.splitlines()
    assert lines[0].split() == ["PROFILE", "VERSION", "MET", "REQUIREMENTS", "OPEN"]
    assert any(line.split()[:3] == ["PAMSPEC-Lite", "00", "yes"] for line in lines)
    assert len([line for line in lines if line.startswith("PAMSPEC-")]) == 11


def test_programs_get_one_object(pamctl: Program) -> None:
    report = pamctl("status", "--profiles").json
    assert {profile["name"] for profile in report["profiles"]} >= {"PAMSPEC-Lite", "PAMSPEC-Core"}
    assert pamctl("status", "--profiles").stdout == pamctl("status", "--profiles").stdout


def test_without_the_flag_a_store_is_needed(pamctl: Program) -> None:
    assert pamctl("status").status == 3
