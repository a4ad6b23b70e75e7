"""A model of what a device holds after a power cut, replayed from the calls of a traced run.

What was written, named, renamed or removed since the last fsync of the file, or of the folder
for names, may be there or not, in any order; a rename is two changes, one in each folder. That
is less than most file systems promise and all that a program may build on.

Indexes nobody syncs, and everybody makes anew. The worst that can be had of one is the newest:
all that was written to it by then is there, beside files of which the least is.
"""

from __future__ import annotations

import codecs
import os
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash.tracing import Call

_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.S)
_DESCRIPTOR = re.compile(r"(\d+)<(.*?)>")
_OFFSET = re.compile(r", (\d+)\)\s* = ")

Write = tuple[int, bytes]
"""Where in a file, and what; a cut is no write but an int, the new length."""

Shape = Callable[[Write], Write | None]
"""What becomes of a write that has not been synced: all of it, some, or None."""


Held = Mapping[str, bytes | None]
"""Files by path; None for a folder."""

_INDEX = "index"


@dataclass(eq=False)
class File:
    durable: bytes = b""
    pending: list[Write | int] = field(default_factory=list)

    @property
    def live(self) -> bytes:
        """What programs read now."""
        return _applied(self.durable, self.pending)

    def sync(self) -> None:
        self.durable = _applied(self.durable, self.pending)
        self.pending = []


@dataclass(eq=False)
class Folder:
    """durable: names that a power cut leaves; live: names that programs see now."""

    durable: dict[str, File | Folder] = field(default_factory=dict)
    live: dict[str, File | Folder] = field(default_factory=dict)
    pending: list[tuple[str, File | Folder | None]] = field(default_factory=list)

    def name(self, name: str, node: File | Folder | None) -> None:
        self.pending.append((name, node))
        _put(self.live, name, node)

    def sync(self) -> None:
        self.durable = dict(self.live)
        self.pending = []


class Device:
    """The folder that a store stands in, call by call."""

    def __init__(self, top: Path) -> None:
        """What is in `top` now is durable."""
        self._top = top
        self.root = _read(top)
        self.answers = 0

    def carry_out(self, call: Call) -> bool:
        """Apply one call of a trace; whether it changed something that the model holds."""
        if call.result.startswith("-"):
            return False
        change = getattr(self, f"_{call.name}", None)
        return bool(change is not None and change(call))

    def index(self, store: str) -> Held:
        """All that was written so far to the indexes of the store in that folder, by their
        names in the folder of indexes."""
        inside = self.root.live.get(store)
        made = inside.live.get(_INDEX) if isinstance(inside, Folder) else None
        if not isinstance(made, Folder):
            return {}
        return {name: one.live for name, one in made.live.items() if isinstance(one, File)}

    def states(self, chance: random.Random) -> Iterator[Held]:
        """What the device may hold if the power failed now, without indexes."""
        loose = self._loose()
        yield self._held(lambda change: False)
        yield self._held(lambda change: True)
        for one in loose:
            yield self._held(lambda change, one=one: change is one)
            yield self._held(lambda change, one=one: change is not one)
        for _ in range(3):
            kept = {id(one) for one in loose if chance.random() < 0.5}
            yield self._held(lambda change, kept=kept: id(change) in kept)
        if any(isinstance(one, tuple) and isinstance(one[0], int) for one in loose):
            for shape in SHAPES:
                yield self._held(lambda change: True, shape)

    def _loose(self) -> list[object]:
        """Every change that no fsync has made durable."""
        return [change for node in _nodes(self.root) for change in node.pending]

    def _held(self, landed: Callable[[object], bool], shape: Shape = lambda write: write) -> Held:
        held: dict[str, bytes | None] = {}

        def visit(path: str, node: File | Folder) -> None:
            if isinstance(node, File):
                changes: list[Write | int] = []
                for change in filter(landed, node.pending):
                    kept = change if isinstance(change, int) else shape(change)
                    changes += [] if kept is None else [kept]
                held[path] = _applied(node.durable, changes)
                return
            held[path] = None
            names = dict(node.durable)
            for change in node.pending:
                if landed(change):
                    _put(names, *change)
            for name, child in names.items():
                if name != _INDEX:
                    visit(f"{path}/{name}" if path else name, child)

        visit("", self.root)
        return held

    def _openat(self, call: Call) -> bool:
        path = _strings(call)[0]
        if "O_CREAT" not in call.line or not self._has(path):
            return False
        folder, name = self._place(path)
        if name in folder.live:
            return False
        folder.name(name, File())
        return True

    def _write(self, call: Call) -> bool:
        match = _DESCRIPTOR.match(call.line)
        if match is not None and match[1] == "1":
            self.answers += 1
            return True
        node = self._opened(call)
        if not isinstance(node, File):
            return False
        # Every file here is written from its beginning or, as the ledger is, appended to.
        node.pending.append((len(node.live), _data(call)))
        return True

    def _pwrite64(self, call: Call) -> bool:
        node, at = self._opened(call), _OFFSET.search(call.line)
        if not isinstance(node, File) or at is None:
            return False
        node.pending.append((int(at[1]), _data(call)))
        return True

    def _ftruncate(self, call: Call) -> bool:
        node, at = self._opened(call), _OFFSET.search(call.line)
        if not isinstance(node, File) or at is None:
            return False
        node.pending.append(int(at[1]))
        return True

    def _fsync(self, call: Call) -> bool:
        node = self._opened(call)
        if node is not None:
            node.sync()
        return node is not None

    def _mkdir(self, call: Call) -> bool:
        return self._name(_strings(call)[0], Folder())

    def _rename(self, call: Call) -> bool:
        old, new = _strings(call)
        return self._link(call) and old != new and self._name(old, None)

    def _link(self, call: Call) -> bool:
        old, new = _strings(call)
        if not self._has(old):
            return False
        folder, name = self._place(old)
        return self._name(new, folder.live[name])

    def _unlink(self, call: Call) -> bool:
        return self._name(_strings(call)[0], None)

    def _name(self, path: str, node: File | Folder | None) -> bool:
        if not self._has(path):
            return False
        folder, name = self._place(path)
        folder.name(name, node)
        return True

    def _opened(self, call: Call) -> File | Folder | None:
        """What a descriptor is of, by the name that it had at that moment. Numbers are used
        again by whatever thread comes first."""
        match = _DESCRIPTOR.match(call.line)
        path = "" if match is None else match[2]
        if path == str(self._top):
            return self.root
        if not self._has(path):
            return None
        folder, name = self._place(path)
        return folder.live.get(name)

    def _has(self, path: str) -> bool:
        """Whether a path is one of the model's."""
        return path.startswith(f"{self._top}/")

    def _place(self, path: str) -> tuple[Folder, str]:
        folder = self.root
        *parts, name = path.removeprefix(f"{self._top}/").split("/")
        for part in parts:
            child = folder.live[part]
            assert isinstance(child, Folder)
            folder = child
        return folder, name


def _zeros(write: Write) -> Write:
    return write[0], bytes(len(write[1]))


def _first_half(write: Write) -> Write:
    return write[0], write[1][: len(write[1]) // 2]


def _half_and_zeros(write: Write) -> Write:
    half = len(write[1]) // 2
    return write[0], write[1][:half] + bytes(len(write[1]) - half)


def _without_last_line(write: Write) -> Write:
    return write[0], write[1][: write[1].rstrip(b"\n").rfind(b"\n") + 1]


SHAPES: tuple[Shape, ...] = (_zeros, _first_half, _half_and_zeros, _without_last_line)


def lay_out(held: Held, top: Path) -> None:
    """Make files and folders of what a device holds, in an empty folder."""
    for name, data in held.items():
        path = top / name
        if data is None:
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.write_bytes(data)
            if name.endswith(".pem"):  # the one kind of file whose mode matters; made with it
                path.chmod(0o600)


def _read(path: Path) -> Folder:
    folder = Folder()
    for entry in os.scandir(path):
        inside = Path(entry.path)
        folder.live[entry.name] = _read(inside) if entry.is_dir() else File(inside.read_bytes())
    folder.sync()
    return folder


def _nodes(root: Folder) -> Iterator[File | Folder]:
    """Every node that may still be reached, in a fixed order; none of an index."""
    seen: dict[int, File | Folder] = {}
    rest: list[File | Folder] = [root]
    while rest:
        node = rest.pop()
        if id(node) not in seen:
            seen[id(node)] = node
            if isinstance(node, Folder):
                names = [*node.durable.items(), *node.live.items(), *node.pending]
                rest += [one for name, one in names if one is not None and name != _INDEX]
    yield from seen.values()


def _put(names: dict[str, File | Folder], name: str, node: File | Folder | None) -> None:
    if node is None:
        names.pop(name, None)
    else:
        names[name] = node


def _applied(data: bytes, changes: list[Write | int]) -> bytes:
    for change in changes:
        if isinstance(change, int):
            data = data[:change].ljust(change, b"\x00")
        else:
            at, written = change
            data = data.ljust(at, b"\x00")[:at] + written + data[at + len(written) :]
    return data


def _strings(call: Call) -> list[str]:
    return [_unescaped(text).decode() for text in _STRING.findall(call.line)]


def _data(call: Call) -> bytes:
    match = _STRING.search(call.line)
    assert match is not None
    assert not call.line[match.end() :].startswith("..."), "the trace kept too little"
    return _unescaped(match[1])


def _unescaped(text: str) -> bytes:
    data: bytes = codecs.escape_decode(text.encode("latin-1"))[0]  # type: ignore[attr-defined]
    return data
