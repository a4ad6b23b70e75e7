"""Which file systems are no safe place to write a store, as far as Linux tells by its mounts.

A writer depends on locks that hold between all who write, and on an fsync that does what it
says (`store-format/commit-and-recovery.md`). What cannot be told from a mount, such as whether
a cloud program synchronizes the folder, is left to `docs/file-systems.md`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from pamctl.named_tuples import NamedTuple

MOUNTS = Path("/proc/self/mountinfo")
"""Where Linux lists the mounts that a process sees; elsewhere there is no such file."""

_ESCAPED = re.compile(r"\\([0-7]{3})")
_LOCAL_LOCKS = "its locks hold on this machine alone, so two machines could fork a ledger"
_NO_LOCKS = "its locks may be missing or local, so two writers could fork a ledger"
_NO_SYNC = "a power cut may lose what was acknowledged"
_NETWORK = ("nfs", "nfs4")
_MEMORY = ("tmpfs", "ramfs")
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
        point = Path(_unescaped(fields[4]))
        depth = len(point.parts)
        # Of two mounts on one folder the later lies over the earlier.
        if path.is_relative_to(point) and (found is None or depth >= found[0]):
            options = frozenset(fields[5].split(",")) | frozenset(rest[2].split(","))
            found = depth, Mount(rest[0], options)
    return None if found is None else found[1]


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda code: chr(int(code[1], 8)), text)


def danger(mount: Mount) -> str | None:
    """Why a store is not safe to write on a mount; None where nothing is known against it."""
    kind, options = mount
    if kind in _NETWORK:
        local = {"nolock", "local_lock=all", "local_lock=flock"} & options
        return f"{kind} is mounted with {min(local)}: {_LOCAL_LOCKS}" if local else None
    if kind in _SHARES or kind == "fuse" or kind.startswith("fuse."):
        return f"the store is on {kind}: {_NO_LOCKS}, and {_NO_SYNC}"
    careless = {"nobarrier", "barrier=0", "data=writeback"} & options
    if kind == "overlay":
        careless = {"volatile"} & options
    return f"{kind} is mounted with {min(careless)}: {_NO_SYNC}" if careless else None


def upper_folder(mount: Mount) -> Path | None:
    """Where an overlay keeps what is written to it; None for one that nobody can write to, and
    for anything else. Inside a container it is a folder of the machine around it."""
    if mount.kind != "overlay":
        return None
    for option in mount.options:
        name, _, value = option.partition("=")
        if name == "upperdir":
            return Path(_unescaped(value))
    return None


def danger_below(upper: Mount) -> str | None:
    """Why a store is not safe to write on an overlay with its upper layer on that mount."""
    over = f"the store is on an overlay over {upper.kind}"
    if upper.kind in _MEMORY:
        return f"{over}: it is gone after a restart"
    if upper.kind in _NETWORK:
        # An overlay keeps locks to itself.
        return f"{over}: {_LOCAL_LOCKS}"
    below = danger(upper)
    return None if below is None else f"{over}: {below}"


def warning(root: Path) -> str | None:
    """A sentence for whoever is about to write to the store at `root`; None where nothing is
    known against the file system that it lies on."""
    try:
        mounts = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    mount = mount_of(Path(os.path.realpath(root)), mounts)
    if mount is None:
        return None
    against, upper = danger(mount), upper_folder(mount)
    # A folder that is not there is one that only the machine around a container sees.
    if against is None and upper is not None and upper.is_dir():
        below = mount_of(Path(os.path.realpath(upper)), mounts)
        against = None if below is None else danger_below(below)
    return None if against is None else f"{against} (see docs/file-systems.md)"
