"""docs/conformance.md is complete, and what it says is so."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from pamctl.service.profiles import OPEN, PROFILES
from tests.conformance.requirements import DRAFTS, PART, REQUIREMENTS, Requirement
from tests.shared import shared_path

HERE = Path(__file__).parent
ABOUT_THE_WORDS = {"PAMSPEC": "2", "MPR": "1.1"}
"""The sections that say what the capitalised words mean."""

WORDS = re.compile(
    r"\b(MUST NOT|MUST|SHALL NOT|SHALL|SHOULD NOT|SHOULD|NOT RECOMMENDED|RECOMMENDED|REQUIRED)\b"
)
STATUSES = ("shown", "open", "for deployments")
NOT_RUN = {"skip", "skipif", "xfail"}


def _name(requirement: Requirement) -> str:
    return requirement.identifier


@pytest.fixture(scope="module")
def collected() -> dict[str, set[str]]:
    """The marks of every conformance test, by `file.py::test`."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.conformance.collected"],
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {name: set(marks) for name, marks in json.loads(done.stdout.splitlines()[-1]).items()}


def test_every_row_is_one() -> None:
    assert len(REQUIREMENTS) > 150
    for row in REQUIREMENTS:
        assert re.fullmatch(r"(PAMSPEC|MPR)-[\d.]+-(\d+|[a-z])", row.identifier), row
        letter = row.identifier[-1].isalpha()
        assert (row.word == PART) == letter, row
        assert letter or WORDS.fullmatch(row.word), row
        assert row.status in STATUSES, row
        assert row.paraphrase, row
        assert row.tests or row.status != "shown", row


def test_every_id_is_used_once() -> None:
    again = [name for name, times in Counter(map(_name, REQUIREMENTS)).items() if times > 1]
    assert again == []


def test_ids_count_the_words_of_their_section() -> None:
    numbers: dict[tuple[str, str], list[int]] = {}
    for row in REQUIREMENTS:
        if row.word != PART:
            number = int(row.identifier.rpartition("-")[2])
            numbers.setdefault((row.draft, row.section), []).append(number)
    for place, found in numbers.items():
        assert sorted(found) == list(range(1, len(found) + 1)), place


SHOWN = [row for row in REQUIREMENTS if row.status == "shown"]


@pytest.mark.parametrize("requirement", SHOWN, ids=_name)
def test_what_is_shown_has_its_tests(
    requirement: Requirement, collected: dict[str, set[str]]
) -> None:
    """They are there, are run, and one at least does not need what may be absent."""
    for name in requirement.tests:
        assert name in collected, f"{requirement.identifier}: there is no test {name}"
        assert not collected[name] & NOT_RUN, f"{requirement.identifier}: {name} is not run"
    assert any("shared" not in collected[name] for name in requirement.tests)


@pytest.mark.shared
@pytest.mark.parametrize("draft", DRAFTS)
def test_no_capitalised_word_is_passed_over(draft: str) -> None:
    listed: dict[str, list[str]] = {}
    for row in REQUIREMENTS:
        if row.draft == draft and row.word != PART:
            listed.setdefault(row.section, []).append(row.word)
    written = _words(shared_path("spec", DRAFTS[draft]).read_text(encoding="utf-8"))
    assert len(written.pop(ABOUT_THE_WORDS[draft])) == 9
    assert {section: sorted(words) for section, words in listed.items()} == {
        section: sorted(words) for section, words in written.items()
    }


@pytest.mark.shared
@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=_name)
def test_the_words_are_ours(requirement: Requirement) -> None:
    """No run of seven words is the draft's."""
    text = _plain(shared_path("spec", DRAFTS[requirement.draft]).read_text(encoding="utf-8"))
    words = _plain(requirement.paraphrase).split()
    for start in range(len(words) - 6):
        assert f" {' '.join(words[start : start + 7])} " not in text


def test_what_is_open_is_open_in_the_table_of_profiles() -> None:
    still_open = {
        row.identifier.partition("-")[2]
        for row in REQUIREMENTS
        if row.draft == "PAMSPEC" and row.status == "open"
    }
    assert still_open == set(OPEN)


def test_every_requirement_is_demanded_by_a_profile() -> None:
    wanted = {f"PAMSPEC-{name}" for names in PROFILES.values() for name in names}
    assert {row.identifier for row in REQUIREMENTS if row.draft == "PAMSPEC"} == wanted


def _words(text: str) -> dict[str, list[str]]:
    """The capitalised words of each section of a draft."""
    sections: dict[str, str] = {}
    current = ""
    for line in text.splitlines():
        heading = re.match(r"(\d+(?:\.\d+)*)\.  \S", line)
        if heading is not None:
            current = heading[1]
        elif current and not re.match(r"\S.*\[Page \d+\]$|Internet-Draft ", line):
            sections[current] = f"{sections.get(current, '')} {line.strip()}"
    found = {name: WORDS.findall(text) for name, text in sections.items()}
    return {name: words for name, words in found.items() if words}


def _plain(text: str) -> str:
    return f" {' '.join(re.findall(r'[a-z0-9_]+', text.lower()))} "
