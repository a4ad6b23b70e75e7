"""Whoever erases dies at every durable step; the next writer finishes or it never happened."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pamctl
from pamctl.audit.check import check_store
from pamctl.errors import ObjectRedacted
from pamctl.service.store import Store
from tests.conftest import PATIENT
from tests.remnants import remnants
from tests.scope_ledgers import DIED, run_until

SCOPE = "workspace:default"
ACTOR = {"actor_id": "actor:local:loop", "actor_kind": "human"}
SEEN = {"activity": "noted"}
SECRET = "qzxwvk wvqzkx"

ERASE = """
import pamctl
store = pamctl.open_store(sys.argv[2])
current = sys.argv[3]
# What a first look costs is not what this is about.
store.head("workspace:default")
arm()
made = store.redact(
    scope_id="workspace:default", object_id="mem:doomed", expected_version_id=current,
    actor={"actor_id": "actor:local:loop", "actor_kind": "human"}, erase=True,
    idempotency_key="erase",
)
os.write(1, b"done")
"""


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with an object whose first version stands in a pack, among others', and whose
    second in a file; and leftovers of both."""
    path = tmp_path_factory.mktemp("before") / ".pam"
    store = pamctl.init_store(path)
    given: dict[str, Any] = {
        "scope_id": SCOPE,
        "object_type": "claim",
        "actor": ACTOR,
        "provenance": SEEN,
    }
    with store.group() as group:
        for name, content in (("doomed", SECRET), ("one", "kept one"), ("two", "kept two")):
            made = group.perform(
                "create", {**given, "canonical_content": content, "object_id": f"mem:{name}"}
            )
            if name == "doomed":
                doomed = made
    store.update(
        scope_id=SCOPE,
        object_id="mem:doomed",
        expected_version_id=doomed["version_id"],
        actor=ACTOR,
        provenance=SEEN,
        canonical_content=[SECRET],
    )
    layout = store.open_scope(SCOPE).layout
    (packed,) = layout.packs.iterdir()
    (layout.staging / ".left.new").write_bytes(packed.read_bytes().splitlines()[0])
    store.close()
    return path


def current(store: Store) -> dict[str, Any]:
    found = store.query(scope_id=SCOPE, any_state=True)["items"]
    return {one["object_id"]: one for one in found}


def found_wrong(path: Path) -> list[str]:
    """What a checker that shares nothing with the writers finds."""
    scratch = path.with_name("scratch")
    scratch.mkdir()
    findings = check_store(path, scratch)["findings"]
    # A writer that died may leave a pack that nobody was told of.
    expected = ("ledger-tail-unpinned", "quarantine-occupied", "version-orphaned")
    return [one["id"] for one in findings if one["id"] not in expected]


def test_it_happens_whole_or_not_at_all(before: Path, tmp_path: Path) -> None:
    version = current(pamctl.open_store(before))["mem:doomed"]["version_id"]
    outcomes = set()
    for calls in range(200):
        path = tmp_path / str(calls) / ".pam"
        shutil.copytree(before, path)
        status = run_until(calls, ERASE, str(path), version)
        reader = pamctl.open_store(path)
        found = current(reader)
        assert found["mem:one"]["canonical_content"] == "kept one"
        assert found["mem:two"]["canonical_content"] == "kept two"
        erased = found["mem:doomed"]["availability_state"] == "redacted"
        versions = reader.history(scope_id=SCOPE, object_id="mem:doomed")["items"]
        contents = [one["canonical_content"] for one in versions]
        if erased:
            # Whatever is still in the files.
            assert contents == [{"tombstone": True}] * 3
            for one in versions[:2]:
                with pytest.raises(ObjectRedacted):
                    reader.version_bytes(SCOPE, one["version_id"])
        else:
            assert contents == [SECRET, [SECRET]]
        reader.close()
        outcomes.add((status, erased, bool(remnants(path, SECRET))))

        writer = pamctl.open_store(path)
        writer.create(
            scope_id=SCOPE,
            object_type="claim",
            actor=ACTOR,
            provenance=SEEN,
            canonical_content="next",
        )
        if erased:
            assert remnants(path, SECRET) == []
        again = writer.redact(
            scope_id=SCOPE,
            object_id="mem:doomed",
            expected_version_id=version,
            actor=ACTOR,
            erase=True,
            idempotency_key="erase",
        )
        assert again["replayed"] is erased
        assert again["erased_versions"] == 2
        assert remnants(path, SECRET) == []
        found = current(writer)
        assert found["mem:one"]["canonical_content"] == "kept one"
        assert found["mem:two"]["canonical_content"] == "kept two"
        writer.close()
        assert found_wrong(path) == []
        shutil.rmtree(path.parent)
        if status == 0:
            break
    # It died before the commit, after it, and not at all; and perhaps when all was removed.
    seen = {(DIED, False, True), (DIED, True, True), (0, True, False)}
    assert seen <= outcomes <= {*seen, (DIED, True, False)}


READER = """
import sys
import pamctl
store = pamctl.open_store(sys.argv[1])
ids = sys.argv[2].split(",")
print("ready", flush=True)
while True:
    for object_id in ids:
        read = store.read(scope_id="workspace:default", object_id=object_id)
        assert read["canonical_content"].startswith("kept"), read
        versions = store.history(scope_id="workspace:default", object_id=object_id)["items"]
        assert [one["canonical_content"] for one in versions] == [read["canonical_content"]]
    found = store.query(scope_id="workspace:default", any_state=True, limit=1000)["items"]
    contents = {one["object_id"]: one["canonical_content"] for one in found}
    assert len(contents) == int(sys.argv[3]), len(contents)
    for object_id in ids:
        assert contents[object_id].startswith("kept"), contents[object_id]
"""


def test_readers_never_fail_while_others_erase(tmp_path: Path, patient: None) -> None:
    path = tmp_path / ".pam"
    store = pamctl.init_store(path)
    given = {"scope_id": SCOPE, "object_type": "claim", "actor": ACTOR, "provenance": SEEN}
    count, doomed = 60, []
    with store.group() as group:
        for number in range(count):
            what = "kept" if number % 3 else "doomed"
            made = group.perform(
                "create",
                {**given, "canonical_content": f"{what} {number}", "object_id": f"mem:{number}"},
            )
            if what == "doomed":
                doomed.append(made)
    ids = ",".join(f"mem:{number}" for number in range(count) if number % 3)
    readers = [
        subprocess.Popen(
            [sys.executable, "-c", PATIENT + READER, str(path), ids, str(count)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for reader in readers:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "ready\n"
    for made in doomed:
        store.redact(
            scope_id=SCOPE,
            object_id=made["object_id"],
            expected_version_id=made["version_id"],
            actor=ACTOR,
            erase=True,
        )
        if any(reader.poll() is not None for reader in readers):
            break
    for reader in readers:
        assert reader.poll() is None, reader.communicate()[1]
        reader.kill()
        reader.communicate()
    assert not remnants(path, "doomed 0", "doomed 57")
    lines = store.open_scope(SCOPE).layout.ledger.read_bytes().splitlines()
    assert sum(json.loads(line)["kind"] == "erasure" for line in lines) == len(doomed)
