"""The contract of the command line, asked of every command that is in the table.

Nothing here names a command: whoever adds one has it checked. That the JSON of one that
succeeds is what its schema says is asked by Forked, of every call.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pamctl.cli.verbs import Verb
from pamctl.encoding.canonical import canonical
from pamctl.errors import CODES
from pamctl.model.documents import check
from tests.cli.catalogue import VERBS, call_of
from tests.cli.conftest import Outcome, Program
from tests.cli.forked import Forked
from tests.conftest import clean_environment

EVERY = pytest.mark.parametrize("words", VERBS, ids=" ".join)
STATUS_OF = {kind.code: kind.exit_status for kind in CODES}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store in which there is something, to be copied."""
    folder = tmp_path_factory.mktemp("store")
    program = Program(folder, clean_environment(folder))
    assert program("init").status == 0
    for number in range(3):
        program("create", "--type", "claim", "--content", f'"Tee für {number} ☕"')
    return folder


@pytest.fixture
def pamctl(store: Path, tmp_path: Path) -> Forked:
    folder = tmp_path / "work"
    shutil.copytree(store, folder)
    return Forked(folder, clean_environment(tmp_path))


@pytest.fixture
def nowhere(tmp_path: Path) -> Forked:
    """The program where there is no store."""
    (tmp_path / "empty").mkdir()
    return Forked(tmp_path / "empty", clean_environment(tmp_path))


def require_envelope(outcome: Outcome) -> Any:
    """The error in the last line on standard error, after nothing on standard output."""
    assert outcome.stdout == b""
    return envelope_in(outcome)


def envelope_in(outcome: Outcome) -> Any:
    line = outcome.stderr.splitlines()[-1]
    assert outcome.stderr.endswith(b"\n")
    error = json.loads(line)
    check("error", error)
    assert canonical(error) == line
    assert STATUS_OF[error["code"]] == outcome.status
    return error


def require_contract(outcome: Outcome, verb: Verb) -> None:
    """Data alone on standard output, canonical; or nothing there and an envelope. And a
    status that the command's help names."""
    assert outcome.status in dict(verb.facts().statuses()), outcome
    assert b"\x1b" not in outcome.stdout + outcome.stderr
    assert b"Traceback" not in outcome.stderr
    if outcome.status not in (0, 11):
        require_envelope(outcome)
        return
    for line in outcome.stdout.splitlines():
        if line.startswith((b"{", b"[")) and verb.name != "completion":
            assert canonical(json.loads(line)) == line


@EVERY
def test_called_with_the_least_it_keeps_the_contract(
    pamctl: Forked, words: tuple[str, ...]
) -> None:
    verb, _ = VERBS[words]
    require_contract(pamctl(*call_of(words)), verb)


@EVERY
def test_without_a_store_it_keeps_the_contract(nowhere: Forked, words: tuple[str, ...]) -> None:
    verb, _ = VERBS[words]
    outcome = nowhere(*call_of(words))
    require_contract(outcome, verb)
    if outcome.status == 3 and "store" in outcome.stderr.decode():
        assert b"pamctl init" in outcome.stderr


@EVERY
def test_an_unknown_flag_is_an_invalid_request(nowhere: Forked, words: tuple[str, ...]) -> None:
    outcome = nowhere(*words, "--no-such-flag")
    assert require_envelope(outcome)["code"] == "invalid_request"
    assert list(nowhere.folder.iterdir()) == []


@EVERY
def test_at_a_terminal_it_speaks_to_a_person(pamctl: Forked, words: tuple[str, ...]) -> None:
    call = call_of(words)
    status, shown = pamctl.at_terminal(*call, env={"NO_COLOR": "1"})
    assert status in dict(VERBS[words][0].facts().statuses()) or status == 130
    assert "\x1b" not in shown
    assert "Traceback" not in shown
    assert '"retryable":' not in shown or words == ("stdio",)
    if status not in (0, 11, 130):
        assert "pamctl: " in shown


@EVERY
def test_help_is_the_same_in_every_locale_and_fails_on_a_full_disk(
    nowhere: Forked, words: tuple[str, ...]
) -> None:
    said = nowhere(*words, "--help")
    assert said.status == 0
    assert said.stderr == b""
    assert said.stdout.startswith(b"Usage: pamctl " + " ".join(words).encode())
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    full = nowhere(*words, "--help", stdout="/dev/full")
    assert full.status == 1
    assert envelope_in(full)["code"] == "internal_error"


@EVERY
def test_on_a_full_disk_it_never_claims_success(pamctl: Forked, words: tuple[str, ...]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    call = call_of(words)
    in_a_pipe = pamctl(*call)
    full = pamctl(*call, stdout="/dev/full")
    if in_a_pipe.stdout:
        assert full.status not in (0, 11)
        envelope_in(full)


@EVERY
def test_what_is_required_is_asked_for_by_name(nowhere: Forked, words: tuple[str, ...]) -> None:
    verb, context = VERBS[words]
    required = [param for param in verb.get_params(context) if param.required]
    if not required:
        return
    error = require_envelope(nowhere(*words))
    assert error["code"] == "invalid_request"
    named = [str(param.metavar or "").strip("[]") for param in required]
    named += [opt for param in required for opt in param.opts]
    assert any(name and name in error["message"] for name in named), error


@EVERY
def test_a_bad_setting_is_told_before_anything_is_done(
    pamctl: Forked, words: tuple[str, ...]
) -> None:
    verb, context = VERBS[words]
    if not any("--format" in param.opts for param in verb.get_params(context)):
        return
    ledgers = sorted(pamctl.folder.rglob("ledger.jsonl"))
    before = [path.read_bytes() for path in ledgers]
    outcome = pamctl(*call_of(words), env={"PAM_FORMAT": "xml"})
    error = require_envelope(outcome)
    assert error["code"] == "invalid_request"
    assert "PAM_FORMAT" in error["message"]
    assert [path.read_bytes() for path in ledgers] == before
