"""`pamctl snapshot` and `pamctl evaluate`, as a user runs them."""

from __future__ import annotations

import shutil
import signal
from typing import Any

import pytest

from tests.cli.conftest import Program

CLOCK = ("--clock", "2026-07-17T00:00:00Z", "--tick-ms", "5", "--seed", "1729", "--run", "eval:1")
AGENT = """
set -e
pamctl read mem:tea --scope "$PAM_EVALUATION_SOURCE" --print /canonical_content/text
version=$(pamctl create --type claim --id mem:found --content '"found"' --idempotency-key k |
  sed 's/.*"version_id":"\\([^"]*\\)"}$/\\1/')
pamctl update mem:found --expect "$version" --content '"found more"' > /dev/null
for n in 1 2 3; do
  echo '{"operation":"create","arguments":{"object_type":"claim","canonical_content":'$n',
"provenance":{"activity":"counted"}}}' | tr -d '\\n'; echo
done | pamctl batch > /dev/null
echo '{"operation":"create","arguments":{"scope_id":"'$PAM_SCOPE'","object_type":"claim",
"canonical_content":4,"actor":{"actor_id":"actor:a","actor_kind":"agent"},
"provenance":{"activity":"counted"}}}' | tr -d '\\n' | pamctl stdio > /dev/null
pamctl relate mem:found supports mem:more > /dev/null 2>&1 && exit 1
pamctl snapshot create --id snap:end > /dev/null
pamctl query --any-state --text found > /dev/null
"""


@pytest.fixture
def sealed(in_store: Program, remember: Any) -> Program:
    remember("Tea at four.", "--id", "mem:tea")
    assert in_store("snapshot", "create", "--id", "snap:1", *CLOCK).status == 0
    return in_store


def test_reading_through_a_snapshot_repeats(sealed: Program, remember: Any) -> None:
    asked = [
        ("read", "mem:tea", "--snapshot", "snap:1"),
        ("query", "--any-state", "--snapshot", "snap:1"),
        ("query", "--any-state", "--text", "tea", "--snapshot", "snap:1"),
        ("history", "mem:tea", "--snapshot", "snap:1"),
        ("log", "--snapshot", "snap:1"),
    ]
    before = [sealed(*words).stdout for words in asked]
    version = sealed("read", "mem:tea").json["version_id"]
    policy = ("--policy-basis", "policy:test")
    assert sealed("redact", "mem:tea", "--expect", version, *policy).status == 0
    remember("More tea.")
    assert [sealed(*words).stdout for words in asked] == before
    assert all(b"Tea at four." in answer for answer in before[:4])


def test_snapshots_are_shown_listed_and_compared(sealed: Program, remember: Any) -> None:
    remember("More tea.", "--id", "mem:more")
    sealed("snapshot", "create", "--id", "snap:2")
    shown = sealed("snapshot", "show", "snap:1").json
    assert shown["snapshot"]["deterministic_clock"]["tick_ms"] == 5
    assert shown["digest_matches"] is True
    names = [item["snapshot_id"] for item in sealed("snapshot", "list").json["items"]]
    assert names == ["snap:1", "snap:2"]
    (change,) = sealed("snapshot", "diff", "snap:1", "snap:2").json["items"]
    assert (change["object_id"], change["change"]) == ("mem:more", "added")
    assert sealed("snapshot", "diff", "snap:1", "snap:2", "--exit-code").status == 11
    assert sealed("snapshot", "diff", "snap:2", "snap:2", "--exit-code").status == 0
    status, screen = sealed.at_terminal("snapshot", "show", "snap:1")
    assert status == 0
    assert "rng seed" in screen
    assert "1729" in screen


@pytest.mark.parametrize(
    ("words", "code", "status"),
    [
        (("snapshot", "create", "--id", "snap:1"), "invalid_state_transition", 6),
        (("snapshot", "create", "--object", "mem:none"), "object_not_found", 3),
        (("snapshot", "create", "--at", "99"), "invalid_request", 2),
        (("snapshot", "create", "--tick-ms", "1"), "invalid_request", 2),
        (("snapshot", "create", "--seed", "1.5"), "invalid_request", 2),
        (("snapshot", "show", "snap:none"), "snapshot_not_found", 3),
        (("snapshot", "diff", "snap:1", "snap:none"), "snapshot_not_found", 3),
        (("read", "mem:tea", "--snapshot", "snap:none"), "snapshot_not_found", 3),
        (("read", "mem:tea", "--snapshot", "snap:1", "--at", "1"), "invalid_request", 2),
        (("query", "--snapshot", "snap:1", "--as-of", "1"), "invalid_request", 2),
        (("log", "--snapshot", "snap:1", "--follow"), "invalid_request", 2),
        (("evaluate", "--snapshot", "snap:none", "--", "true"), "snapshot_not_found", 3),
        (
            ("evaluate", "--snapshot", "snap:1", "--into", "workspace:default", "--", "true"),
            "invalid_request",
            2,
        ),
        (("evaluate", "--snapshot", "snap:1", "--", "./no-such-command"), "invalid_request", 2),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, tuple) else "",
)
def test_refusals(sealed: Program, words: tuple[str, ...], code: str, status: int) -> None:
    refused = sealed(*words)
    assert refused.status == status
    assert refused.error["code"] == code


def test_two_runs_write_the_same_bytes(sealed: Program, remember: Any) -> None:
    (sealed.folder / "agent.sh").write_text(AGENT)
    shutil.copytree(sealed.folder / ".pam", sealed.folder / "copy.pam")
    remember("Later.", "--id", "mem:later")
    ledgers = []
    for store in (".pam", "copy.pam"):
        ran = sealed("evaluate", "--store", store, "--snapshot", "snap:1", "--", "bash", "agent.sh")
        assert ran.status == 0, ran.stderr.decode()
        assert ran.stdout == b"Tea at four.\n"
        (ledger,) = sealed.folder.glob(f"{store}/scopes/evaluation-eval-1-*/ledger.jsonl")
        folders = sorted(ledger.parent.rglob("*.json*"))
        ledgers.append([path.read_bytes() for path in folders])
    assert ledgers[0] == ledgers[1]
    events = sealed("log", "--scope", "evaluation:eval:1").json["items"]
    assert len(events) == 6
    assert {event["payload"]["evaluation_run_id"] for event in events} == {"eval:1"}


def test_a_command_works_in_the_scope_of_its_evaluation_alone(sealed: Program) -> None:
    script = """
pamctl create --scope workspace:default --type claim --content 1; echo $?
pamctl query --scope workspace:other; echo $?
pamctl evaluate --snapshot snap:1 -- true; echo $?
pamctl query --any-state --format jsonl; echo $?
echo "$PAM_SCOPE"
exit 5
"""
    head = sealed("status").json["scopes"][0]["head"]
    ran = sealed(
        "evaluate", "--snapshot", "snap:1", "--into", "eval:mine", "--", "bash", "-c", script
    )
    assert ran.status == 5
    assert ran.stdout == b"7\n7\n2\n0\neval:mine\n"
    scopes = {scope["scope_id"]: scope for scope in sealed("status").json["scopes"]}
    assert set(scopes) == {"workspace:default", "eval:mine"}
    assert scopes["workspace:default"]["head"] == head


@pytest.mark.parametrize("words", ["key generate mine", "init elsewhere", "project --help"])
def test_what_is_in_no_scope_stays_as_it_is(sealed: Program, words: str) -> None:
    """A key above all: one that came from the seed would be known to whoever knows that."""
    ran = sealed("evaluate", "--quiet", "--snapshot", "snap:1", "--", "pamctl", *words.split())
    assert ran.status == 7
    assert b"policy_denied" in ran.stderr
    assert {path.stem for path in (sealed.folder / ".pam" / "keys").iterdir()} == {"owner"}


def test_another_store_cannot_be_used(sealed: Program) -> None:
    assert sealed("init", "other").status == 0
    ran = sealed(
        *("evaluate", "--quiet", "--snapshot", "snap:1", "--"),
        *("pamctl", "create", "--store", "other/.pam", "--type", "claim", "--content", "1"),
    )
    assert ran.status == 7


def test_the_status_of_a_command_that_a_signal_ended(sealed: Program) -> None:
    ran = sealed("evaluate", "--snapshot", "snap:1", "--", "bash", "-c", "kill -TERM $$")
    assert ran.status == 128 + signal.SIGTERM
