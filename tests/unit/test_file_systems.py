"""What is told of the file system that a store lies on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pamctl
from pamctl.store import file_systems
from pamctl.store.file_systems import Mount, danger, mount_of, warning

MOUNTS = r"""21 1 254:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
30 21 0:40 / /home rw,relatime shared:2 master:1 - nfs4 server:/home rw,vers=4.2,local_lock=none
31 21 0:41 / /mnt/shared\040folder rw - 9p share rw,trans=virtio
32 21 0:42 / /mnt/old rw,nosuid - nfs server:/old rw,vers=3,nolock,local_lock=all
33 30 0:43 / /home/ada/remote rw - fuse.sshfs ada@host:/ rw,user_id=1000
34 21 0:44 / /mnt/twice rw - tmpfs tmpfs rw
35 34 0:45 / /mnt/twice rw - cifs //server/share rw
36 21 0:46 / /srv rw - ext4 /dev/sdb1 rw,data=writeback
a line that is none
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "ext4"),
        ("/homes/x", "ext4"),
        ("/home", "nfs4"),
        ("/home/ada/.pam", "nfs4"),
        ("/home/ada/remote/x/.pam", "fuse.sshfs"),
        ("/mnt/shared folder/.pam", "9p"),
        ("/mnt/twice/.pam", "cifs"),
    ],
)
def test_a_path_lies_on_the_deepest_and_latest_mount(path: str, kind: str) -> None:
    mount = mount_of(Path(path), MOUNTS)
    assert mount is not None
    assert mount.kind == kind


def test_nothing_is_said_of_a_path_without_a_mount() -> None:
    assert mount_of(Path("/x"), "") is None
    assert mount_of(Path("/x"), "gibberish\n1 2 3 - x\n") is None


@pytest.mark.parametrize(
    ("kind", "options", "word"),
    [
        ("ext4", "rw", None),
        ("xfs", "rw,noatime", None),
        ("btrfs", "rw", None),
        ("tmpfs", "rw", None),
        ("overlay", "rw,lowerdir=/l,upperdir=/u", None),
        ("overlay", "rw,lowerdir=/l,upperdir=/u,volatile", "power cut"),
        ("ext4", "rw,volatile", None),
        ("nfs4", "rw,local_lock=none", None),
        ("nfs4", "rw,local_lock=posix", None),
        ("nfs4", "rw,local_lock=flock", "fork"),
        ("nfs", "rw,nolock", "fork"),
        ("cifs", "rw", "fork"),
        ("9p", "rw", "fork"),
        ("fuse.sshfs", "rw", "fork"),
        ("fuse", "rw", "fork"),
        ("fuseblk", "rw", None),
        ("ext4", "rw,nobarrier", "power cut"),
        ("ext4", "rw,data=writeback", "power cut"),
    ],
)
def test_what_is_held_against_a_file_system(kind: str, options: str, word: str | None) -> None:
    against = danger(Mount(kind, frozenset(options.split(","))))
    assert (against is None) if word is None else (word in str(against))


@pytest.mark.parametrize(
    ("kind", "options", "word"),
    [
        ("ext4", "rw", None),
        ("tmpfs", "rw", "gone after a restart"),
        ("nfs4", "rw,local_lock=none", "fork"),
        ("cifs", "rw", "fork"),
        ("ext4", "rw,nobarrier", "power cut"),
    ],
)
def test_an_overlay_is_as_safe_as_what_its_upper_layer_lies_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, options: str, word: str | None
) -> None:
    store, upper = tmp_path / "store", tmp_path / "an upper" / "diff"
    store.mkdir()
    upper.mkdir(parents=True)
    named, on = (str(path.resolve()).replace(" ", r"\040") for path in (upper, upper.parent))
    layers = f"rw,lowerdir=/a:/b,upperdir={named},workdir=/work"
    mounts = tmp_path / "mounts"
    monkeypatch.setattr(file_systems, "MOUNTS", mounts)
    mounts.write_text(
        f"1 1 0:1 / {on} rw - {kind} disk {options}\n"
        f"2 1 0:2 / {store.resolve()} rw,relatime - overlay overlay {layers}\n"
    )
    against = warning(store)
    assert (against is None) if word is None else (word in str(against))


def test_an_overlay_whose_upper_layer_cannot_be_seen_is_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mounts"
    monkeypatch.setattr(file_systems, "MOUNTS", mounts)
    layers = "rw,lowerdir=/l,upperdir=/var/lib/nowhere/diff,workdir=/w"
    mounts.write_text(
        f"1 1 0:1 / / rw - overlay overlay {layers}\n2 1 0:2 / /var rw - tmpfs t rw\n"
    )
    assert warning(tmp_path) is None
    mounts.write_text("1 1 0:1 / / ro - overlay overlay ro,lowerdir=/l:/m\n")
    assert warning(tmp_path) is None


def test_whoever_writes_is_warned_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"1 1 0:1 / {tmp_path.resolve()} rw - 9p share rw\n")
    monkeypatch.setattr(file_systems, "MOUNTS", mounts)
    store = pamctl.init_store(tmp_path / ".pam")
    given: dict[str, Any] = {
        "scope_id": "workspace:default",
        "object_type": "claim",
        "canonical_content": "tea",
        "actor": {"actor_id": "actor:local:tester", "actor_kind": "human"},
        "provenance": {"activity": "observed"},
    }
    store.query(scope_id="workspace:default")
    assert store.notices == []
    store.create(**given)
    store.create(**given)
    (notice,) = store.notices
    assert "9p" in notice
    assert "docs/file-systems.md" in notice
    store.close()


def test_a_system_that_tells_nothing_is_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_systems, "MOUNTS", tmp_path / "nothing")
    assert warning(tmp_path) is None
