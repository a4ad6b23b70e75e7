"""Several processes write to one scope at once."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pamctl
from pamctl.encoding.digests import sha256_hex
from tests.conftest import PATIENT

SCOPE = "workspace:default"
PAMCTL = Path(sys.executable).with_name("pamctl")
ACTOR = {"actor_id": "actor:local:test", "actor_kind": "human"}

WRITER = """
import sys
import pamctl
store = pamctl.open_store(sys.argv[1])
for number in range(int(sys.argv[3])):
    made = store.create(
        scope_id="workspace:default", object_type="claim",
        canonical_content={"writer": sys.argv[2], "number": number},
        actor={"actor_id": "actor:local:test", "actor_kind": "human"},
        provenance={"activity": "counted"},
    )
    print(made["object_id"], made["version_id"], flush=True)
"""


def test_nothing_is_lost_doubled_or_out_of_sequence(tmp_path: Path, patient: None) -> None:
    path = tmp_path / ".pam"
    pamctl.init_store(path).close()
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", PATIENT + WRITER, str(path), str(writer), "60"],
            stdout=subprocess.PIPE,
            text=True,
        )
        for writer in range(3)
    ]
    reader = pamctl.open_store(path)
    seen = 0
    while any(writer.poll() is None for writer in writers):
        events = reader.log(scope_id=SCOPE)["items"]
        assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
        assert len(events) >= seen
        seen = len(events)
    told = [line.split() for writer in writers for line in (writer.communicate()[0]).splitlines()]
    assert len(told) == 180
    store = pamctl.open_store(path)
    for object_id, version_id in told:
        assert store.read(scope_id=SCOPE, object_id=object_id)["version_id"] == version_id
    events = store.log(scope_id=SCOPE)["items"]
    assert [event["sequence"] for event in events] == list(range(1, 181))
    assert sorted(event["version_id"] for event in events) == sorted(v for _, v in told)
    lines = (store.open_scope(SCOPE).layout.ledger).read_bytes().splitlines()
    for before, line in pairwise(lines):
        assert json.loads(line)["prev"] == sha256_hex(before)


def test_of_two_that_saw_the_same_version_one_wins(tmp_path: Path) -> None:
    path = tmp_path / ".pam"
    store = pamctl.init_store(path)
    made = store.create(
        scope_id=SCOPE,
        object_type="claim",
        canonical_content="first",
        actor=ACTOR,
        provenance={"activity": "stated"},
    )
    update = [PAMCTL, "update", made["object_id"], "--store", path, "--expect", made["version_id"]]
    racers = [
        subprocess.Popen(
            [*update, "--content", f'"{name}"'],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("one", "two")
    ]
    answers = [(racer.communicate(), racer.returncode) for racer in racers]
    assert sorted(status for _, status in answers) == [0, 4]
    won = next(json.loads(out) for (out, _), status in answers if status == 0)
    lost = next(json.loads(err) for (_, err), status in answers if status == 4)
    assert lost["code"] == "version_conflict"
    assert lost["details"]["current_version_id"] == won["version_id"]
    assert store.head(SCOPE)["sequence"] == 2
