"""A request that is made twice happens once: keys that are given, and keys that are made."""

from __future__ import annotations

import json
import shutil
import stat
from typing import Any

import pytest

from pamctl.cli.retrying import derived_key
from tests.cli.catalogue import VERBS, flags_of
from tests.cli.conftest import Program
from tests.cli.test_batch import create, lines_of, results_of

CLAIM = ("create", "--type", "claim", "--content", '"Tea is at four."')
CLOCK = ("--clock", "2026-01-01T00:00:00Z")
DERIVED = "--retry-key-from-content"

NO_KEY = {
    ("completion",): "reads",
    ("help",): "reads",
    ("read",): "reads",
    ("query",): "reads",
    ("history",): "reads",
    ("log",): "reads",
    ("diff",): "reads",
    ("status",): "reads",
    ("fsck",): "reads",
    ("audit",): "reads",
    ("verify-export",): "reads",
    ("subscribe", "follow"): "reads events, at least once",
    ("subscribe", "poll"): "reads events, at least once",
    ("export",): "reads, and writes the same bytes",
    ("stdio",): "takes keys in its requests",
    ("batch",): "takes keys in its lines",
}
"""Commands without --idempotency-key, and why."""

_READING = {"list", "show", "status", "verify", "prove", "export", "diff", "witness"}


def test_every_command_that_changes_something_takes_a_key_or_needs_none() -> None:
    bare = {verb for verb in VERBS if "--idempotency-key" not in flags_of(verb)}
    assert {verb for verb in bare if len(verb) == 1 or verb[-1] not in _READING} == set(NO_KEY)
    for verb in VERBS:
        takes = flags_of(verb) & {"--idempotency-key", DERIVED}
        assert verb == ("batch",) or len(takes) in (0, 2), verb


def test_the_same_request_is_done_once(in_store: Program) -> None:
    first, again = in_store(*CLAIM, DERIVED).json, in_store(*CLAIM, DERIVED).json
    assert (first["replayed"], again["replayed"]) == (False, True)
    assert {**again, "replayed": False} == first
    assert in_store("query", "--any-state", "--count").json["total"] == 1


@pytest.mark.parametrize(
    "other",
    [
        ("--source", "note:1"),
        ("--actor", "actor:local:somebody"),
        ("--scope", "workspace:other"),
        ("--valid-from", "2026-01-01T00:00:00Z"),
    ],
    ids=lambda other: other[0],
)
def test_another_request_is_another(in_store: Program, other: tuple[str, str]) -> None:
    assert in_store(*CLAIM, DERIVED).json["replayed"] is False
    assert in_store(*CLAIM, DERIVED, *other).json["replayed"] is False


def test_every_kind_of_change_can_be_repeated(in_store: Program) -> None:
    in_store(*CLAIM, "--id", "mem:tea")
    in_store(*CLAIM, "--id", "mem:time")

    def version() -> str:
        return str(in_store("history", "mem:tea").json["items"][-1]["version_id"])

    def twice(*words: str) -> None:
        first, again = in_store(*words, DERIVED), in_store(*words, DERIVED)
        assert first.json["replayed"] is False, words
        assert again.json["replayed"] is True, words

    twice("relate", "mem:tea", "supports", "mem:time")
    twice("update", "mem:tea", "--expect", version(), "--content", '"Tea is at five."')
    basis = ("--policy-basis", "seen")
    twice("transition", "mem:tea", "validation", "corroborated", "--expect", version(), *basis)
    twice("redact", "mem:tea", "--expect", version(), *basis)
    twice("delete", "mem:tea", "--expect", version(), *basis)
    twice("snapshot", "create", "--id", "snap:1")
    twice("subscribe", "open")


def test_the_key_does_not_let_content_be_guessed(in_store: Program) -> None:
    in_store(*CLAIM, DERIVED, "--id", "mem:tea")
    (ledger,) = in_store.folder.glob(".pam/scopes/*/ledger.jsonl")
    keys = [
        entry["body"]["key"]
        for entry in map(json.loads, ledger.read_text().splitlines())
        if entry["kind"] == "idempotency"
    ]
    assert len(keys) == 1
    assert keys[0].startswith("retry:")
    secret_file = in_store.folder.parent / "home/.local/state/pamctl/retry-secret"
    assert stat.S_IMODE(secret_file.stat().st_mode) == 0o600
    request: dict[str, Any] = {
        "scope_id": "workspace:default",
        "object_type": "claim",
        "object_id": "mem:tea",
        "canonical_content": "Tea is at four.",
        "provenance": {"activity": "created"},
        "actor": in_store("read", "mem:tea").json["actor"],
    }
    assert derived_key(secret_file.read_bytes(), "create", request) == keys[0]
    assert derived_key(bytes(32), "create", request) != keys[0]


def test_without_a_place_for_the_secret_nothing_is_written(in_store: Program) -> None:
    (in_store.folder / "file").touch()
    failed = in_store(*CLAIM, DERIVED, env={"XDG_STATE_HOME": str(in_store.folder / "file")})
    assert failed.status == 75
    assert in_store("log").json["items"] == []


def test_a_damaged_secret_is_refused(in_store: Program) -> None:
    folder = in_store.folder / "state" / "pamctl"
    folder.mkdir(parents=True)
    (folder / "retry-secret").write_bytes(b"short")
    failed = in_store(*CLAIM, DERIVED, env={"XDG_STATE_HOME": str(in_store.folder / "state")})
    assert failed.status == 2
    assert "retry-secret" in failed.error["message"]


def test_a_key_is_given_or_made(in_store: Program) -> None:
    failed = in_store(*CLAIM, DERIVED, "--idempotency-key", "mine")
    assert failed.status == 2
    assert "exclude each other" in failed.error["message"]


def test_a_policy_can_be_set_under_a_key(in_store: Program) -> None:
    document = in_store("scope", "show", "workspace:default").json["policy"]
    words = ("scope", "policy", "workspace:default", "--policy", json.dumps(document))
    done = [in_store(*words, "--idempotency-key", "policy-1").json["replayed"] for _ in range(2)]
    assert done == [False, True]


def test_lines_of_a_batch_get_keys_too(in_store: Program) -> None:
    requests = lines_of([create("a"), create("b"), create("a"), create("c", idempotency_key="c")])
    first = results_of(in_store("batch", DERIVED, stdin=requests))
    again = results_of(in_store("batch", DERIVED, stdin=requests))
    assert [line["result"]["replayed"] for line in first] == [False, False, True, False]
    assert [line["result"]["replayed"] for line in again] == [True, True, True, True]
    assert in_store("query", "--any-state", "--count").json["total"] == 3


def test_an_evaluation_repeats_its_keys_whoever_runs_it(in_store: Program) -> None:
    in_store(*CLAIM)
    in_store("snapshot", "create", "--id", "snap:1", "--seed", "1", *CLOCK)
    ledgers = []
    for name in ("one", "two"):
        store = shutil.copytree(in_store.folder / ".pam", in_store.folder / name / ".pam")
        run = ("evaluate", "--snapshot", "snap:1", "--into", "evaluation:run")
        state = {"XDG_STATE_HOME": str(in_store.folder / f"{name}-state")}
        words = (*run, "--store", str(store), "--", "pamctl", *CLAIM, DERIVED)
        assert in_store(*words, env=state).status == 0
        (ledger,) = store.glob("scopes/evaluation-run-*/ledger.jsonl")
        ledgers.append(ledger.read_text())
    assert '"key":"retry:' in ledgers[0]
    assert ledgers[0].partition("\n")[2] == ledgers[1].partition("\n")[2]
