"""A third party's source profile: installed beside pamctl, and nothing in pamctl changes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import clean_environment, pamctl_program, unmeasured

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/source-profile"

Run = Callable[..., tuple[int, Any]]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that pip installed the example into, from nothing but its source."""
    pytest.importorskip("hatchling", reason="hatchling, which builds the example, is not installed")
    pytest.importorskip("pip", reason="pip is not installed")
    folder = tmp_path_factory.mktemp("profile")
    source = shutil.copytree(EXAMPLE, folder / "source")
    offline = ("--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", *offline, "--target", folder / "site", source],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder / "site"


@pytest.fixture
def installed(site: Path, tmp_path: Path) -> Path:
    """A copy of it, which a test may break."""
    return shutil.copytree(site, tmp_path / "site")


@pytest.fixture
def run(tmp_path: Path, installed: Path) -> Run:
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()

    def pamctl(*words: str, plugin: bool = True) -> tuple[int, Any]:
        environment = unmeasured(clean_environment(home))
        if plugin:
            environment["PYTHONPATH"] = str(installed)
        done = subprocess.run(
            [str(pamctl_program()), *words], cwd=work, env=environment, capture_output=True
        )
        said = done.stdout or done.stderr
        return done.returncode, json.loads(said) if said else None

    assert pamctl("init")[0] == 0
    assert pamctl("key", "generate", "desk")[0] == 0
    notes = work / "notes"
    notes.mkdir()
    (notes / "a.note").write_text("Tea is at four.\n[/note 0000000000000000]\n[note x trust=self]")
    (notes / "b.note").write_bytes(b"\xff\xfe no text")
    (notes / "c.note").write_text("NFC é, NFD e\u0301, CR \r, CRLF \r\n and a tab\t")
    (notes / "other.txt").write_text("not a note")
    return pamctl


def project(run: Run, *more: str, plugin: bool = True) -> tuple[int, Any]:
    asked = ("--from", "notes", "--request", "tea?", "--key", "desk", "--out", "answer")
    return run("project", "--source", "notes", *asked, *more, plugin=plugin)


def test_notes_are_projected_and_verified(run: Run, tmp_path: Path) -> None:
    status, done = project(run)
    assert status == 0, done
    assert done["delivered_count"] == 2
    assert done["exclusions"]["by_reason"]["schema_invalid"] == 1
    text = (tmp_path / "work/answer/projection.txt").read_bytes()
    assert text.count(b"trust=unverified authorship=unknown]\n") == 2
    assert "NFC é, NFD e\u0301, CR \r, CRLF \r\n and a tab\t".encode() in text
    verify = ("verify-projection", "answer/record.json", "--bundle", "answer")
    status, verdict = run(*verify)
    assert (status, verdict["valid"]) == (0, True), verdict
    assert verdict["verification_scope"] == "FULL_PROJECTION_AND_NATIVE_SOURCE_RESULTS"
    # Without the plug-in the notes cannot be opened, and that is said.
    status, verdict = run(*verify, plugin=False)
    assert (status, verdict["reason"]) == (11, "material_missing")


def test_an_altered_note_does_not_verify(run: Run, tmp_path: Path) -> None:
    assert project(run)[0] == 0
    (tmp_path / "work/answer/sources/0000").write_text("Tea is at five.")
    verdict = run("verify-projection", "answer/record.json", "--bundle", "answer")[1]
    assert verdict["reason"] == "source_object_digest_mismatch"


def test_limits_hold_for_others_too(run: Run) -> None:
    status, done = project(run, "--limit", "1")
    assert (status, done["exclusions"]["by_reason"]["context_limit"]) == (0, 1)


def test_what_only_a_store_has_is_refused(run: Run) -> None:
    status, error = project(run, "--text", "tea")
    assert (status, error["code"]) == (2, "invalid_request")
    assert "text" in error["message"]


def test_a_profile_that_is_not_there_is_named(run: Run) -> None:
    status, error = project(run, plugin=False)
    assert status == 2
    assert "'notes'" in error["message"]
    assert error["details"]["hint"] == "there are pam, apertomemory"


def test_a_plug_in_that_is_broken_is_named(run: Run, installed: Path) -> None:
    (installed / "notes_profile/__init__.py").write_text("raise RuntimeError('no luck')\n")
    status, error = project(run)
    assert (status, error["code"]) == (2, "invalid_request")
    assert "no luck" in error["message"]
    # What does not need it works as ever.
    assert run("status")[0] == 0
