"""A check of a store that is being written to finds nothing that is not there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pamctl
from pamctl.audit.check import check_store
from tests.conftest import PATIENT
from tests.damaged.healthy import ACTOR, PROVENANCE, SCOPE

# Writes a hundred versions and more, and goes on until its input ends; says how many there are.
_WRITER = """
import itertools, json, select, sys, pamctl

store, members = pamctl.open_store(sys.argv[1]), json.loads(sys.argv[3])
written = 0
def request():
    global written
    written += 1
    key = sys.argv[2] + " " + str(written)
    given = dict(object_type="claim", canonical_content=written, idempotency_key=key)
    return given | members
for n in itertools.count():
    if n % 10:
        store.perform("create", request())
    else:
        with store.group() as group:
            for _ in range(5):
                group.perform("create", request())
    if n >= 100 and select.select([sys.stdin], [], [], 0)[0]:
        break
print(written)
"""
_MEMBERS = json.dumps({"scope_id": SCOPE, "actor": ACTOR, "provenance": PROVENANCE})


def _checked(root: Path, scratch: Path) -> dict[str, Any]:
    scratch.mkdir()
    return check_store(root, scratch)


def test_a_check_beside_two_writers_is_clean(tmp_path: Path) -> None:
    root = tmp_path / ".pam"
    pamctl.init_store(root).close()
    goes_on, end = os.pipe()
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", PATIENT + _WRITER, str(root), name, _MEMBERS],
            stdin=goes_on,
            stdout=subprocess.PIPE,
        )
        for name in ("a", "b")
    ]
    os.close(goes_on)
    checks = 0
    with open(end, "wb") as ending:
        while any(writer.poll() is None for writer in writers):
            answer = _checked(root, tmp_path / f"scratch-{checks}")
            assert answer["clean"], answer["findings"]
            checks += 1
            if checks == 3:
                ending.close()
    written = [int(writer.communicate(timeout=60)[0]) for writer in writers]
    answer = _checked(root, tmp_path / "last")
    assert answer["clean"]
    assert answer["scopes"][0]["versions"] == sum(written)
