"""examples/demo: what `make demo` shows."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.conftest import Run, clean_environment, unmeasured

DEMO = Path(__file__).resolve().parents[2] / "examples" / "demo"


def demonstrate(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", DEMO / "run.sh", "shown"],
        cwd=folder,
        env=unmeasured(clean_environment(folder)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_the_demo_ends_where_it_says(tmp_path: Path, run: Run) -> None:
    done = demonstrate(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = tmp_path / "shown"
    assert "0 turns written, 30 were there already" in done.stdout
    assert "(exit status 4)" in done.stdout
    assert "(exit status 11)" in done.stdout
    assert "is no longer at" in done.stderr
    projection = (shown / "answer" / "projection.txt").read_text(encoding="utf-8")
    assert '{"text":"The key hangs on a hook behind the shed door."}' in projection
    known = json.loads(run("query", cwd=shown).stdout)["items"]
    assert [envelope["object_id"] for envelope in known] == ["mem:key"]
    versions = json.loads(run("history", "mem:key", cwd=shown).stdout)["items"]
    assert [version["sequence"] for version in versions] == [1, 2, 3]
    assert versions[-1]["validation_state"] == "corroborated"


def test_the_demo_writes_over_nothing(tmp_path: Path) -> None:
    (tmp_path / "shown").mkdir()
    done = demonstrate(tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: run.sh DIR")
    assert list((tmp_path / "shown").iterdir()) == []


def test_the_conversation_is_in_the_form_of_the_other_example() -> None:
    lines = (DEMO / "turns.jsonl").read_text(encoding="utf-8").splitlines()
    turns = [json.loads(line) for line in lines]
    assert {turn["speaker"] for turn in turns} == {"Gardener", "Neighbour"}
    assert {turn["conversation"] for turn in turns} == {"garden"}
    assert len({turn["turn_id"] for turn in turns}) == len(turns) == 30
