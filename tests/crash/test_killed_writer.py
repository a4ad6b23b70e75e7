"""A writer is killed at any moment; what it acknowledged is there, and nothing is half there."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pamctl
from pamctl.limits import PAGE_ITEMS_MAX

PAMCTL = Path(sys.executable).with_name("pamctl")
SCOPE = "workspace:default"

LOOP = """
import sys
import pamctl
store = pamctl.open_store(sys.argv[1])
for number in range(int(sys.argv[2])):
    made = store.create(
        scope_id="workspace:default", object_type="claim", canonical_content={"number": number},
        actor={"actor_id": "actor:local:loop", "actor_kind": "human"},
        provenance={"activity": "counted"}, object_id=f"mem:number:{number}",
        idempotency_key=f"number:{number}",
    )
    print(made["object_id"], made["version_id"], flush=True)
"""


def acknowledged(output: bytes) -> dict[str, str]:
    """Objects and versions of whole lines; a torn last line acknowledges nothing."""
    lines = output.decode().split("\n")[:-1]
    return dict(line.split(" ") for line in lines)


@pytest.mark.parametrize("seed", range(6))
def test_every_acknowledged_write_is_there_and_none_is_half_there(
    tmp_path: Path, seed: int
) -> None:
    path = tmp_path / ".pam"
    pamctl.init_store(path).close()
    # Not more than one page of a query shows.
    command = [sys.executable, "-c", LOOP, str(path), str(PAGE_ITEMS_MAX - 10)]
    told: dict[str, str] = {}
    chance = random.Random(seed)
    for _ in range(4):
        with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            first = writer.stdout.readline()
            time.sleep(chance.random() * 0.15)
            writer.send_signal(signal.SIGKILL)
            told.update(acknowledged(first + writer.stdout.read()))
        store = pamctl.open_store(path)
        for object_id, version_id in told.items():
            envelope = store.read(scope_id=SCOPE, object_id=object_id)
            assert envelope["version_id"] == version_id
        versions = store.query(scope_id=SCOPE, any_state=True, limit=PAGE_ITEMS_MAX)["items"]
        events = store.log(scope_id=SCOPE)["items"]
        assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
        assert {v["version_id"] for v in versions} == {e["version_id"] for e in events}
        store.close()
    count = len(told) + 3
    rest = subprocess.run(
        [sys.executable, "-c", LOOP, str(path), str(count)], capture_output=True, check=True
    )
    # The same keys complete the work: what was written before is answered again.
    for object_id, version_id in acknowledged(rest.stdout).items():
        assert told.get(object_id, version_id) == version_id
    store = pamctl.open_store(path)
    assert store.status()["scopes"][0]["objects"] == count
    assert store.head(SCOPE)["sequence"] == count


def test_the_command_line_too(tmp_path: Path) -> None:
    path = tmp_path / ".pam"
    pamctl.init_store(path).close()
    script = (
        f'for n in $(seq 1 200); do "{PAMCTL}" create --store "{path}" --type claim '
        '--content "$n" --id "mem:n:$n" --idempotency-key "n:$n" || exit 1; done'
    )
    with subprocess.Popen(
        ["sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True
    ) as loop:
        assert loop.stdout is not None
        told = [json.loads(loop.stdout.readline()) for _ in range(5)]
        time.sleep(0.05)
        os.killpg(loop.pid, signal.SIGKILL)
        loop.stdout.read()  # until the last of them is gone
    store = pamctl.open_store(path)
    for made in told:
        read = store.read(scope_id=SCOPE, object_id=made["object_id"])
        assert read["version_id"] == made["version_id"]
    done = store.head(SCOPE)["sequence"]
    again = subprocess.run(
        [
            *(PAMCTL, "create", "--store", path, "--type", "claim", "--content", "1"),
            *("--id", "mem:n:1", "--idempotency-key", "n:1"),
        ],
        capture_output=True,
        check=True,
    )
    assert json.loads(again.stdout)["replayed"] is True
    assert pamctl.open_store(path).head(SCOPE)["sequence"] == done
