"""examples/agent-loop: what a turn hands to the model, what it keeps, and how it fails."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from tests.conftest import Run, clean_environment, unmeasured

LOOP = Path(__file__).resolve().parents[2] / "examples" / "agent-loop"


@pytest.fixture
def agent(tmp_path: Path, run: Run) -> Path:
    for words in (
        ["init"],
        ["key", "generate", "agent"],
        ["create", "--type", "claim", "--content", '"The key hangs behind the shed door."'],
    ):
        assert run(*words).returncode == 0
    return tmp_path


def turn(folder: Path, question: str, *model: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["sh", LOOP / "turn.sh", question, *(["--", *model] if model else [])],
        cwd=folder,
        env=unmeasured(clean_environment(folder)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )


def model(folder: Path, answer: bytes) -> list[str]:
    """A model that keeps what it was shown and asked, and always gives the same answer."""
    (folder / "canned").write_bytes(answer)
    (folder / "model").write_text('cat > shown; printf %s "$1" > asked; cat canned\n')
    return ["sh", "model"]


def test_the_model_reads_exactly_what_the_record_commits_to(agent: Path) -> None:
    done = turn(agent, "Where is the key?", *model(agent, b"Behind the shed.\n"))
    assert done.returncode == 0, done.stderr
    record = json.loads((agent / "answers" / "0001.record.json").read_bytes())
    shown = (agent / "shown").read_bytes()
    assert record["projection"]["digest"] == f"sha256:{hashlib.sha256(shown).hexdigest()}"
    assert b"The key hangs behind the shed door." in shown
    assert (agent / "asked").read_bytes() == b"Where is the key?"
    assert done.stdout == b"Behind the shed.\n"


def test_what_was_answered_is_remembered_with_its_projection(agent: Path, run: Run) -> None:
    answer = 'a "b" \\ caf\u00e9\n\ttab\r\n\\n'
    assert turn(agent, "key?", *model(agent, answer.encode())).returncode == 0
    record = json.loads((agent / "answers" / "0001.record.json").read_bytes())
    found = run("query", "--type", "observation", "--validation", "unverified", "--json")
    (kept,) = json.loads(found.stdout)["items"]
    assert kept["canonical_content"] == {"answer": answer}
    assert kept["provenance"]["source_ref"] == record["projection_id"]


def test_a_model_that_fails_was_shown_its_context_all_the_same(agent: Path) -> None:
    done = turn(agent, "key?", "sh", "-c", "cat > shown; exit 3")
    assert done.returncode == 1
    assert b"the model failed with status 3" in done.stderr
    assert (agent / "answers" / "0001.record.json").exists()
    assert (agent / "shown").read_bytes()


def test_a_turn_that_fails_leaves_no_record(agent: Path, run: Run) -> None:
    assert run("key", "revoke", "agent").returncode == 0
    done = turn(agent, "key?", *model(agent, b"x"))
    assert done.returncode == 1
    assert b"no projection was made" in done.stderr
    assert list((agent / "answers").iterdir()) == []


def test_scripts_say_how_they_are_used(tmp_path: Path) -> None:
    done = turn(tmp_path, "only a question")
    assert done.returncode == 2
    assert done.stderr.startswith(b"usage: turn.sh QUESTION")
