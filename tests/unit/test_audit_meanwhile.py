"""A check of a store that is being written to finds nothing that is not there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pamctl
from pamctl.audit.check import check_store
from tests.damaged.healthy import ACTOR, PROVENANCE, SCOPE

_WRITER = """
import json, sys, pamctl

store, members = pamctl.open_store(sys.argv[1]), json.loads(sys.argv[3])
def request(n):
    key = sys.argv[2] + " " + str(n)
    return {"object_type": "claim", "canonical_content": n, "idempotency_key": key, **members}
for n in range(400):
    if n % 10:
        store.perform("create", request(n))
    else:
        with store.group() as group:
            for more in range(5):
                group.perform("create", request(1000 + 10 * n + more))
"""
_MEMBERS = json.dumps({"scope_id": SCOPE, "actor": ACTOR, "provenance": PROVENANCE})


def test_a_check_beside_two_writers_is_clean(tmp_path: Path) -> None:
    root = tmp_path / ".pam"
    pamctl.init_store(root).close()
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITER, str(root), name, _MEMBERS])
        for name in ("a", "b")
    ]
    checks = 0
    try:
        while any(writer.poll() is None for writer in writers):
            scratch = tmp_path / f"scratch-{checks}"
            scratch.mkdir()
            answer = check_store(root, scratch)
            assert answer["clean"], answer["findings"]
            checks += 1
    finally:
        for writer in writers:
            writer.wait(timeout=60)
    assert checks > 1
    scratch = tmp_path / "last"
    scratch.mkdir()
    answer = check_store(root, scratch)
    assert answer["clean"]
    assert answer["scopes"][0]["versions"] == 2 * (360 + 40 * 5)
