"""examples/conversations: every turn arrives as it was said, once, and can be asked for."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Run, clean_environment, unmeasured

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
LOCOMO = EXAMPLES.parents[1] / "shared" / "data" / "locomo" / "turns.jsonl"
AWKS = [name for name in ("awk", "mawk", "gawk", "original-awk", "busybox") if shutil.which(name)]
IMPORT_SEC_MAX = 10.0

needs_locomo = pytest.mark.skipif(not LOCOMO.is_file(), reason=f"{LOCOMO} is not there")


def requests_of(
    turns: Path, awk: str = "awk"
) -> tuple[subprocess.CompletedProcess[bytes], list[Any]]:
    """What requests.awk makes of a file of turns."""
    program = [awk, "awk"] if awk == "busybox" else [awk]
    done = subprocess.run(
        [*program, "-f", EXAMPLES / "conversations" / "requests.awk", turns],
        env={**unmeasured(clean_environment(turns.parent)), "LC_ALL": "C"},
        capture_output=True,
        check=False,
    )
    return done, [json.loads(line) for line in done.stdout.splitlines()]


def request_for(turn: dict[str, Any]) -> dict[str, Any]:
    """The request that a turn has to become."""
    name = f"{turn['conversation']}/{turn['turn_id']}"
    return {
        "operation": "create",
        "arguments": {
            "scope_id": f"conversation:{turn['conversation']}",
            "object_type": "observation",
            "canonical_content": {
                "speaker": turn["speaker"],
                "text": turn["text"],
                "turn": turn["turn_id"],
                "session": turn["session"],
            },
            "observed_at": turn["session_at"],
            "provenance": {
                "activity": "conversation_import",
                "source_ref": f"turn:{name}",
                "observed_at": turn["session_at"],
                "source_confidence": 1,
            },
            "idempotency_key": name,
        },
    }


@needs_locomo
@pytest.mark.shared
@pytest.mark.parametrize("awk", AWKS)
def test_each_real_turn_becomes_its_request(awk: str) -> None:
    done, requests = requests_of(LOCOMO, awk)
    turns = [json.loads(line) for line in LOCOMO.read_text(encoding="utf-8").splitlines()]
    assert done.stderr == b""
    assert len(turns) == 3435
    assert requests == [request_for(turn) for turn in turns]


@settings(max_examples=20)
@given(
    texts=st.lists(
        st.one_of(st.text(), st.text(alphabet='"\\/{}[],: \n\t\x00\u007f\u00e9\u2028%&$')),
        min_size=20,
        max_size=60,
    ),
    ascii_only=st.booleans(),
)
def test_any_text_arrives_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], ascii_only: bool
) -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    turns = [
        {
            "conversation": "c",
            "session": number,
            "session_at": "2026-05-02T09:30:00Z",
            "turn_id": f"D{number}:1",
            "speaker": text[::-1],
            "text": text,
            "image_caption": text,
        }
        for number, text in enumerate(texts)
    ]
    file = tmp_path_factory.mktemp("turns") / "turns.jsonl"
    file.write_text(
        "".join(json.dumps(turn, ensure_ascii=ascii_only) + "\n" for turn in turns),
        encoding="utf-8",
    )
    for awk in AWKS:
        done, requests = requests_of(file, awk)
        assert (done.returncode, done.stderr) == (0, b"")
        assert requests == [request_for(turn) for turn in turns]


def test_order_and_space_of_members_do_not_matter(tmp_path: Path) -> None:
    turn = {
        "text": 'a "quoted", {braced} thing',
        "turn_id": "D1:1",
        "extra": -1.5e3,
        "speaker": "S",
        "session_at": "2026-05-02T09:30:00Z",
        "flag": None,
        "session": 3,
        "conversation": "c",
    }
    file = tmp_path / "turns.jsonl"
    spread = json.dumps(turn, separators=(" ,\t", " : ")).replace("{", "{ ", 1)
    file.write_text(spread + "  \r\n" + json.dumps(turn, separators=(",", ":")) + "\n")
    done, requests = requests_of(file)
    assert done.stderr == b""
    assert requests == [request_for(turn)] * 2


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("no json", "it is no JSON object"),
        ('{"conversation": "c"}', 'it has no member "session"'),
        ('{"conversation": {"a": 1}}', "it does not end as a flat JSON object does"),
        ('{"conversation": "c"} x', "it does not end as a flat JSON object does"),
        ('{"conversation", "c"}', "a member has no name"),
        (
            '{"conversation": "a\\"b", "session": 1, "session_at": "", "turn_id": "t",'
            ' "speaker": "", "text": ""}',
            "its conversation cannot be part of an identifier",
        ),
        (
            '{"conversation": "a", "session": "1", "session_at": "", "turn_id": "t",'
            ' "speaker": "", "text": ""}',
            "its session is no number",
        ),
    ],
)
def test_what_is_no_turn_is_refused_with_its_line(tmp_path: Path, line: str, reason: str) -> None:
    good = (EXAMPLES / "demo" / "turns.jsonl").read_text(encoding="utf-8").splitlines()[0]
    file = tmp_path / "turns.jsonl"
    file.write_text(f"{good}\n{line}\n{good}\n", encoding="utf-8")
    done, requests = requests_of(file)
    assert done.returncode == 1
    assert done.stderr.decode() == f"requests.awk: line 2: {reason}\n"
    assert len(requests) == 1


def shell(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs an example in `folder`."""
    return subprocess.run(
        ["sh", *words],
        cwd=folder,
        env=unmeasured(clean_environment(folder)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def heads(run: Run) -> dict[str, tuple[str, int]]:
    """Head and number of entries of every ledger of the store."""
    scopes = json.loads(run("status").stdout)["scopes"]
    return {scope["scope_id"]: (scope["head"], scope["entries"]) for scope in scopes}


def import_twice(folder: Path, run: Run, turns: Path) -> None:
    """Imports, and imports again; only the first time may change a ledger."""
    count = len(turns.read_bytes().splitlines())
    first = shell(folder, EXAMPLES / "conversations" / "import.sh", turns)
    assert (first.stderr, first.returncode) == ("", 0)
    assert first.stdout == f"{count} turns written, 0 were there already\n"
    written = heads(run)
    again = shell(folder, EXAMPLES / "conversations" / "import.sh", turns)
    assert (again.stderr, again.returncode) == ("", 0)
    assert again.stdout == f"0 turns written, {count} were there already\n"
    assert heads(run) == written


def test_a_second_import_adds_nothing(tmp_path: Path, run: Run) -> None:
    run("init")
    import_twice(tmp_path, run, EXAMPLES / "demo" / "turns.jsonl")
    log = run("log", "--scope", "conversation:garden", "--format", "jsonl").stdout.splitlines()
    assert {json.loads(event)["event_type"] for event in log} == {"object_created"}
    assert len(log) == 30


def test_an_import_that_was_cut_short_is_completed(tmp_path: Path, run: Run) -> None:
    run("init")
    turns = EXAMPLES / "demo" / "turns.jsonl"
    part = tmp_path / "part.jsonl"
    part.write_bytes(b"".join(turns.read_bytes().splitlines(keepends=True)[:11]))
    assert shell(tmp_path, EXAMPLES / "conversations" / "import.sh", part).returncode == 0
    done = shell(tmp_path, EXAMPLES / "conversations" / "import.sh", turns)
    assert done.stdout == "19 turns written, 11 were there already\n"


def _processor_sec() -> float:
    """What processes took that have ended: how busy the machine is does not count."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@needs_locomo
@pytest.mark.shared
def test_all_real_turns_in_time_and_the_answer_to_a_question(tmp_path: Path, run: Run) -> None:
    run("init")
    begun = _processor_sec()
    done = shell(tmp_path, EXAMPLES / "conversations" / "import.sh", LOCOMO)
    took_sec = _processor_sec() - begun
    assert done.stdout == "3435 turns written, 0 were there already\n"
    assert took_sec < IMPORT_SEC_MAX
    import_again = shell(tmp_path, EXAMPLES / "conversations" / "import.sh", LOCOMO)
    assert import_again.stdout == "0 turns written, 3435 were there already\n"
    question = "When did Caroline go to the LGBTQ support group?"
    asked = shell(tmp_path, EXAMPLES / "conversations" / "ask.sh", "conv-26", question)
    assert (asked.stderr, asked.returncode) == ("", 0)
    assert "  D1:3 Caroline: I went to a LGBTQ support group yesterday" in asked.stdout
    verdict = json.loads(asked.stdout.splitlines()[-1])
    assert verdict["valid"] is True
    assert verdict["verification_scope"] == "FULL_PROJECTION_AND_NATIVE_SOURCE_RESULTS"
    projection = (tmp_path / "answer" / "projection.txt").read_text(encoding="utf-8")
    assert "I went to a LGBTQ support group yesterday" in projection


def test_scripts_say_how_they_are_used(tmp_path: Path) -> None:
    for name in ("import.sh", "ask.sh"):
        done = shell(tmp_path, EXAMPLES / "conversations" / name)
        assert done.returncode == 2
        assert done.stderr.startswith(f"usage: {name} ")
