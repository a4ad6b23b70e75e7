"""Which file systems are no safe place to write a store, as far as Linux tells by its mounts.

A writer depends on locks that hold between all who write, and on an fsync that does what it
says (`store-format/commit-and-recovery.md`). What cannot be told from a mount, such as whether
a cloud program synchronizes the folder, is left to `docs/file-systems.md`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

MOUNTS = Path("/proc/self/mountinfo")
"""Where Linux lists the mounts that a process sees; elsewhere there is no such file."""

_ESCAPED = re.compile(r"\\([0-7]{3})")
_LOCAL_LOCKS = "its locks hold on this machine alone, so two machines could fork a ledger"
_NO_LOCKS = "its locks may be missing or local, so two writers could fork a ledger"
_NO_SYNC = "a power cut may lose what was acknowledged"
_NETWORK = ("nfs", "nfs4")
_SHARES = ("cifs", "smb3", "smbfs", "9p", "vboxsf", "prl_fs", "vmhgfs", "drvfs", "afs", "ncpfs")


class Mount(NamedTuple):
    """A mount: its file system's type, and the options of the mount and of the file system."""

    kind: str
    options: frozenset[str]


def mount_of(path: Path, mounts: str) -> Mount | None:
    """The mount that an absolute path, without links, lies on; None where the text of
    `mounts`, as in /proc/self/mountinfo, says nothing of it."""
    found: tuple[int, Mount] | None = None
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields, rest = before.split(" "), after.split(" ")
        if len(fields) < 6 or len(rest) < 3:
            continue
        point = Path(_ESCAPED.sub(lambda code: chr(int(code[1], 8)), fields[4]))
        depth = len(point.parts)
        # Of two mounts on one folder the later lies over the earlier.
        if path.is_relative_to(point) and (found is None or depth >= found[0]):
            options = frozenset(fields[5].split(",")) | frozenset(rest[2].split(","))
            found = depth, Mount(rest[0], options)
    return None if found is None else found[1]


def danger(mount: Mount) -> str | None:
    """Why a store is not safe to write on a mount; None where nothing is known against it."""
    kind, options = mount
    if kind in _NETWORK:
        local = {"nolock", "local_lock=all", "local_lock=flock"} & options
        return f"{kind} is mounted with {min(local)}: {_LOCAL_LOCKS}" if local else None
    if kind in _SHARES or kind == "fuse" or kind.startswith("fuse."):
        return f"the store is on {kind}: {_NO_LOCKS}, and {_NO_SYNC}"
    careless = {"nobarrier", "barrier=0", "data=writeback"} & options
    return f"{kind} is mounted with {min(careless)}: {_NO_SYNC}" if careless else None


def warning(root: Path) -> str | None:
    """A sentence for whoever is about to write to the store at `root`; None where nothing is
    known against the file system that it lies on."""
    try:
        mounts = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    mount = mount_of(Path(os.path.realpath(root)), mounts)
    against = None if mount is None else danger(mount)
    return None if against is None else f"{against} (see docs/file-systems.md)"
