"""Commands whose keys no ledger has: what they answered is kept, and given again."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from pamctl.cli.once import once
from tests.cli.catalogue import VERBS, flags_of
from tests.cli.conftest import Program
from tests.cli.forked import Forked
from tests.conftest import clean_environment

KEY = "--idempotency-key"
VECTOR = {"object_id": "mem:tea", "vector": [0.6, 0.8], "embedding_space_id": "space:two:1"}
SPACE = {
    "embedding_space_id": "space:two:1",
    "provider": "p",
    "model": "m",
    "model_revision": "1",
    "dimensions": 2,
    "distance_metric": "cosine",
    "normalization": "l2",
    "preprocessing_profile": "none",
    "embedding_kind": "text",
    "canonicalization_rules": "none",
}

CALLS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("init",): (),
    ("config",): ("auto_create_scopes", "true"),
    ("scope", "create"): ("project:kitchen",),
    ("key", "generate"): ("laptop",),
    ("key", "import"): ("agent", "agent.pem"),
    ("key", "trust"): ("owner.json", "--as", "author"),
    ("key", "revoke"): ("old", "--reason", "replaced"),
    ("expire",): (),
    ("pack",): (),
    ("index", "rebuild"): (),
    ("repair",): ("--apply",),
    ("embed", "put"): ("vectors.jsonl",),
    ("embed", "run"): ("--builtin",),
    ("embed", "delete"): ("mem:tea", "--space", "space:two:1"),
    ("subscribe", "ack"): ("sub:tea", "1"),
    ("project",): ("--request", "tea?", "--key", "owner", "--out", "answer"),
    ("import",): ("memory.jsonl",),
    ("checkpoint", "create"): ("--record", "--output", "today.checkpoint"),
    ("checkpoint", "cosign"): ("seen.checkpoint", "--key", "owner", "--trust", "owner.json"),
    ("verify-projection",): ("before", "--single-use"),
}
"""Every command that keeps its answer, in an order in which each can be called; but `evaluate`,
which answers nothing itself."""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Forked:
    """The program in a store with what the commands need."""
    folder = tmp_path_factory.mktemp("kept")
    (folder / "home").mkdir()
    run = Forked(folder, clean_environment(folder / "home"))
    for words in (
        ("init",),
        ("key", "generate", "old"),
        ("create", "--type", "claim", "--id", "mem:tea", "--content", '"Tea."'),
        ("space", "add", "--descriptor", json.dumps(SPACE)),
        ("subscribe", "open", "--ack", "explicit"),
        ("checkpoint", "create", "--output", "seen.checkpoint"),
        ("export", "--output", "memory.jsonl"),
        ("project", "--request", "tea?", "--key", "owner", "--out", "before"),
    ):
        done = run(*words)
        assert done.status == 0, done.stderr
        if words[0] == "subscribe":
            run.environment["SUBSCRIPTION"] = done.json["subscription_id"]
            assert run("subscribe", "poll", done.json["subscription_id"]).status == 0
    (folder / "owner.json").write_bytes(run("key", "show", "owner", "--json").stdout)
    (folder / "vectors.jsonl").write_text(json.dumps(VECTOR))
    made = run("init", "elsewhere")
    assert made.status == 0, made.stderr
    (folder / "agent.pem").write_bytes((folder / "elsewhere/.pam/keys/owner.pem").read_bytes())
    return run


def call_of(run: Forked, words: tuple[str, ...]) -> list[str]:
    known = {"sub:tea": run.environment["SUBSCRIPTION"]}
    return [*words, *(known.get(word, word) for word in CALLS[words])]


def ledgers(folder: Path) -> dict[str, bytes]:
    return {str(one): one.read_bytes() for one in sorted(folder.glob(".pam/scopes/*/ledger.jsonl"))}


@pytest.mark.parametrize("words", CALLS, ids=" ".join)
def test_what_was_done_is_not_done_again(kept: Forked, words: tuple[str, ...]) -> None:
    call = [*call_of(kept, words), KEY, f"k/{' '.join(words)}"]
    first = kept(*call).json
    before = ledgers(kept.folder)
    again = kept(*call).json
    assert (first.pop("replayed"), again.pop("replayed")) == (False, True)
    assert again == first
    assert ledgers(kept.folder) == before


def test_no_command_is_left_out() -> None:
    """What takes a key and is not here has it in a ledger, as tests/cli/test_retrying.py shows."""
    in_ledger = {
        *(("create",), ("update",), ("transition",), ("relate",), ("promote",), ("redact",)),
        *(("delete",), ("subscribe", "open"), ("subscribe", "close"), ("delegate", "grant")),
        *(("delegate", "check"), ("delegate", "revoke"), ("snapshot", "create")),
        *(("schema", "add"), ("space", "add"), ("scope", "policy")),
    }
    keyed = {words for words in VERBS if KEY in flags_of(words)}
    assert keyed == in_ledger | {*CALLS} | {("evaluate",)}


def test_an_evaluation_is_run_once(kept: Forked) -> None:
    sealing = ("snapshot", "create", "--id", "snap:1", "--clock", "2026-01-01T00:00:00Z")
    assert kept(*sealing, "--seed", "1").status == 0
    call = ("evaluate", "--snapshot", "snap:1", "--into", "evaluation:1", KEY, "run", "--")
    command = ("sh", "-c", "echo ran >> ran; exit 3")
    assert [kept(*call, *command).status for _ in range(2)] == [3, 3]
    assert (kept.folder / "ran").read_text() == "ran\n"


def test_runs_of_an_evaluation_do_not_hang_on_each_other(kept: Forked) -> None:
    sealing = ("snapshot", "create", "--id", "snap:2", "--clock", "2026-01-01T00:00:00Z")
    assert kept(*sealing, "--seed", "1").status == 0
    for number in (1, 2):
        into = ("evaluate", "--snapshot", "snap:2", "--into", f"evaluation:again-{number}", "--")
        done = kept(*into, "pamctl", "expire", KEY, "due")
        assert b'"replayed":false' in done.stdout, done.stderr


def test_another_request_under_the_key_is_refused(kept: Forked) -> None:
    assert kept("key", "generate", "one", KEY, "conflict").status == 0
    for other in (("key", "generate", "two"), ("key", "generate", "one", "--owner"), ("pack",)):
        failed = kept(*other, KEY, "conflict")
        assert failed.status == 5
        assert failed.error["code"] == "duplicate_operation"
    assert not (kept.folder / ".pam/keys/two.json").exists()


def test_the_key_may_be_made_from_the_request(kept: Forked) -> None:
    derived = "--retry-key-from-content"
    done = [kept("config", "auto_create_scopes", "true", derived).json for _ in range(2)]
    assert [one["replayed"] for one in done] == [False, True]
    other = kept("config", "auto_create_scopes", "true", "--user", derived)
    assert other.status == 0 or other.error["code"] == "invalid_request"


@pytest.mark.parametrize(
    "call",
    [
        ("expire", "--dry-run"),
        ("import", "memory.jsonl", "--dry-run"),
        ("repair",),
        ("config", "format"),
        ("verify-projection", "before"),
        ("project", "--request", "t", "--key", "owner", "--out", "-", "--record", "r.json"),
    ],
    ids=" ".join,
)
def test_what_changes_nothing_takes_no_key(kept: Forked, call: tuple[str, ...]) -> None:
    failed = kept(*call, KEY, "nothing")
    assert failed.status == 2
    assert "idempotency key" in failed.error["message"]


def test_keys_are_not_empty_nor_endless(kept: Forked) -> None:
    assert [kept("pack", KEY, key).status for key in ("", "k" * 257)] == [2, 2]
    assert kept("pack", KEY, "k" * 256).status == 0


def test_a_copy_of_a_store_is_another_store(kept: Forked) -> None:
    done = [
        kept("pack", "--store", store, KEY, "copy").json for store in (".pam", "elsewhere/.pam")
    ]
    assert [one["replayed"] for one in done] == [False, False]


def done_first(run: Forked, *words: str) -> tuple[Any, Path]:
    """What a call answers under a new key, and the file in which it is kept."""
    retries = run.folder / "home/.local/state/pamctl/retries"
    before = {*retries.glob("*")}
    answer = run(*words).json
    (file,) = {*retries.iterdir()} - before
    return answer, file


def test_what_is_kept_is_the_users_and_tells_no_request(kept: Forked) -> None:
    _, file = done_first(kept, "key", "revoke", "old", "--reason", "in confidence", KEY, "quiet")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert b"quiet" not in file.read_bytes()
    assert set(json.loads(file.read_bytes())) == {"answer", "command", "request"}


def test_a_damaged_file_is_refused_and_nothing_is_done(kept: Forked) -> None:
    _, file = done_first(kept, "scope", "create", "project:one", KEY, "damaged")
    for damage in (b"", b"[]", b'{"answer": 1}', b"{" * 5000):
        file.write_bytes(damage)
        assert kept("scope", "create", "project:one", KEY, "damaged").status == 2
    file.unlink()
    assert kept("scope", "create", "project:one", KEY, "damaged").json["replayed"] is False


def die_before_the_answer(file: Path) -> None:
    """Leaves what a command leaves that is killed when it has done all but answer."""
    document = json.loads(file.read_bytes())
    del document["answer"]
    file.write_text(json.dumps(document))


@pytest.mark.parametrize(
    "call",
    [
        ("key", "generate", "tablet"),
        ("key", "import", "robot", "agent.pem"),
        ("project", "--request", "tea?", "--key", "owner", "--out", "late"),
    ],
    ids=lambda call: " ".join(call[:2]),
)
def test_who_died_before_the_answer_finds_what_he_made(kept: Forked, call: tuple[str, ...]) -> None:
    keyed = (*call, KEY, f"died/{call}")
    first, file = done_first(kept, *keyed)
    die_before_the_answer(file)
    again = kept(*keyed).json
    assert again == {**first, "replayed": True}
    assert kept(*keyed).json == again


def test_a_refusal_uses_up_no_key(kept: Forked) -> None:
    call = ("key", "generate", "late-name", "--actor", "actor:x:1", KEY, "refused")
    assert kept("key", "generate", "late-name").status == 0
    assert kept(*call).status == 2
    (kept.folder / ".pam/keys/late-name.json").unlink()
    (kept.folder / ".pam/keys/late-name.pem").unlink()
    assert kept(*call).json["replayed"] is False


def test_without_a_place_to_keep_it_nothing_is_done(kept: Forked) -> None:
    (kept.folder / "file").touch()
    env = {"XDG_STATE_HOME": str(kept.folder / "file")}
    assert kept("key", "generate", "nowhere", KEY, "nowhere", env=env).status == 75
    assert not (kept.folder / ".pam/keys/nowhere.json").exists()


def test_standard_input_is_part_of_the_request(in_store: Program) -> None:
    assert in_store("space", "add", "--descriptor", json.dumps(SPACE)).status == 0
    for name in ("tea", "cup"):
        in_store("create", "--type", "claim", "--id", f"mem:{name}", "--content", '"x"')

    def put(name: str) -> Any:
        line = json.dumps({**VECTOR, "object_id": f"mem:{name}"}).encode()
        return in_store("embed", "put", "-", KEY, "vectors", stdin=line)

    assert [put("tea").json["replayed"] for _ in range(2)] == [False, True]
    assert put("cup").error["code"] == "duplicate_operation"


class Call:
    """As much of an Invocation as `once` asks for."""

    asks_for_once, named_scope, format, command = True, None, "json", "pack"

    def __init__(self, state: Path, key: str) -> None:
        self.flags: dict[str, Any] = {}
        self.environment = {"XDG_STATE_HOME": str(state)}
        self.store_path = state
        self.arguments: dict[str, Any] = {}
        self.key = key
        self.notes: list[str] = []

    def taken_key(self, _command: str, _asked: Any) -> str:
        return self.key

    def note(self, text: str) -> None:
        self.notes.append(text)


def test_the_oldest_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pamctl.cli.once.KEPT_ANSWERS_MAX", 10)

    def replayed(number: int) -> bool:
        call: Any = Call(tmp_path, f"k{number}")
        return bool(once(call, lambda: {"done": number})["replayed"])

    for number in range(11):
        assert not replayed(number)
        for age, file in enumerate((tmp_path / "pamctl/retries").iterdir()):
            assert file.exists(), age
        newest_file = max(
            (tmp_path / "pamctl/retries").iterdir(), key=lambda one: one.stat().st_mtime_ns
        )
        os.utime(newest_file, ns=(number + 1, number + 1))
    assert len(list((tmp_path / "pamctl/retries").iterdir())) == 10
    assert [replayed(number) for number in (1, 10)] == [True, True]
    assert not replayed(0)


def test_an_answer_that_is_too_long_is_given_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pamctl.cli.once.KEPT_ANSWER_BYTES_MAX", 200)
    for _ in range(2):
        call: Any = Call(tmp_path, "long")
        assert once(call, lambda: {"text": "x" * 200})["replayed"] is False
        assert "not kept" in call.notes[0]
