"""The register of projection ids: one entry an id, whoever comes first."""

import hashlib
import json
import multiprocessing
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest

from pamctl.errors import ServiceUnavailable
from pamctl.projection import register
from pamctl.projection.register import Register
from tests.projections import changed, example

RECORD = example().record


def test_an_id_is_kept_once(tmp_path: Path) -> None:
    accepted = Register(tmp_path / "accepted")
    assert accepted.register(RECORD)
    assert not accepted.register(RECORD)
    assert not Register(tmp_path / "accepted").register(changed(RECORD, "/created_at", "later"))
    assert accepted.register(changed(RECORD, "/projection_id", "urn:x:2"))


def test_an_entry_is_named_by_the_digest_of_its_id(tmp_path: Path) -> None:
    Register(tmp_path / "accepted").register(RECORD)
    (entry,) = (tmp_path / "accepted").iterdir()
    projection_id = RECORD["projection_id"]
    assert entry.name == hashlib.sha256(projection_id.encode()).hexdigest() + ".json"
    assert json.loads(entry.read_bytes()) == {
        "projection_id": projection_id,
        "created_at": RECORD["created_at"],
        "projection_digest": RECORD["projection"]["digest"],
    }


def test_an_id_that_is_no_file_name_is_kept_all_the_same(tmp_path: Path) -> None:
    accepted = Register(tmp_path / "accepted")
    hostile = changed(RECORD, "/projection_id", "x:../../../etc/passwd")
    assert accepted.register(hostile)
    assert not accepted.register(hostile)
    assert [path.name for path in tmp_path.iterdir()] == ["accepted"]


def test_issued_and_accepted_ids_are_kept_apart(tmp_path: Path) -> None:
    assert register.issued(tmp_path).register(RECORD)
    assert register.accepted(tmp_path).register(RECORD)


def _contend(folder: Path, barrier: Barrier, answers: Any) -> None:
    own = Register(folder)
    won = 0
    for number in range(25):
        barrier.wait()
        won += own.register({**RECORD, "projection_id": f"urn:x:{number}"})
    answers.put(won)


def test_of_several_processes_one_is_first(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier, answers = context.Barrier(3), context.Queue()
    processes = [
        context.Process(target=_contend, args=(tmp_path / "accepted", barrier, answers))
        for _ in range(3)
    ]
    for process in processes:
        process.start()
    won = [answers.get(timeout=60) for _ in processes]
    for process in processes:
        process.join()
    assert sum(won) == 25
    assert len(list((tmp_path / "accepted").glob("*.json"))) == 25


def test_a_register_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ServiceUnavailable):
        Register(tmp_path / "file" / "accepted").register(RECORD)


def test_what_is_no_entry_is_not_pruned(tmp_path: Path) -> None:
    folder = tmp_path / "accepted"
    accepted = Register(folder)
    assert accepted.register(changed(RECORD, "/created_at", "2026-08-03T09:00:01Z"))
    late = {**RECORD, "projection_id": "urn:x:late", "created_at": "2026-08-03T11:00:02+02:00"}
    assert accepted.register(late)
    (folder / "notes.txt").write_text("2020-01-01T00:00:00Z")
    (folder / "broken.json").write_text('{"created_at": "2020-01-01T00:00:00Z"')
    (folder / "other.json").write_text('{"created_at": "yesterday"}')
    (folder / "list.json").write_text("[]")
    (tmp_path / "old.json").write_text('{"created_at": "2020-01-01T00:00:00Z"}')
    (folder / "link.json").symlink_to(tmp_path / "old.json")
    assert accepted.prune("2026-08-03T09:00:02Z") == (1, 5)
    assert (tmp_path / "old.json").exists()
    assert not accepted.register(late)
    assert accepted.prune("2026-08-03T09:00:02.1Z") == (1, 4)
    assert accepted.register(late)


def test_a_register_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert Register(tmp_path / "nowhere").prune("2026-08-03T09:00:02Z") == (0, 0)
