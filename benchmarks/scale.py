"""What size costs: the same questions to stores of 1,000 to 1,000,000 objects.

    python -m benchmarks.scale                      # 1,000 to 1,000,000: half an hour
    python -m benchmarks.scale --short              # to 100,000: a few minutes
    python -m benchmarks.scale --folder DIR         # keeps the stores, and uses them again

On stores of `benchmarks.generated_store` (20 scopes, 1.3 versions an object):

- `read` by id and the first page of a filtered query, through the Python interface, in turn
  on the smallest store and on each larger one. Of a whole command the start would hide it.
- Catching up after one foreign write: what a reader does when somebody else wrote an object
  and the index does not have it yet.
- The index made anew, in versions a second.
- `pamctl fsck` against `git fsck --full` over a repository with the same contents, each version
  and each ledger entry as a blob; and over one with the versions alone. Both may use all
  processors.
- The peak memory of commands (`benchmarks.memory`), and bytes on disk.

It writes a plot of cost against size.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import pamctl
from benchmarks import memory
from benchmarks.generated_store import generate, object_id, scope_ids, scope_sizes
from benchmarks.measure import HEADER, Comparison, command, in_turn
from benchmarks.plot import svg
from pamctl.index.index_file import IndexFile
from pamctl.service.open_scope import OpenScope
from pamctl.service.store import Store

PAMCTL = str(Path(sys.executable).with_name("pamctl"))
SIZES = (1_000, 10_000, 100_000, 1_000_000)
SHORT = (1_000, 10_000, 100_000)
SCOPE = scope_ids()[0]
ACTOR = {"actor_id": "actor:local:bench", "actor_kind": "human"}
PLOT = Path(__file__).with_name("scale.svg")
_BLOBS_A_COMMIT = 2000


@dataclass
class Sample:
    """A generated store, and what was measured on it, in seconds."""

    objects: int
    path: Path
    versions: int = 0
    entries: int = 0
    costs: dict[str, float] = field(default_factory=dict)

    def opened(self) -> Store:
        return pamctl.open_store(self.path)


def sample(folder: Path, objects: int) -> Sample:
    """The store of that many objects in `folder`, made where it is not there yet."""
    path = folder / f"store-{objects}" / ".pam"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        # Stores of one seed would be one store to whoever remembers heads.
        generate(path, objects, seed=objects, jobs=os.cpu_count() or 1)
    made = Sample(objects, path)
    with closing(made.opened()) as store:
        scopes = store.status()["scopes"]
    made.versions = sum(scope["versions"] for scope in scopes)
    made.entries = sum(scope["entries"] for scope in scopes)
    return made


def looking(small: Sample, large: Sample) -> list[Comparison]:
    """Reads by id and filtered queries on two stores in turn; the costs are noted."""
    found = []
    for name, question in (("read", _read), ("query", _query)):
        with closing(large.opened()) as one, closing(small.opened()) as other:
            asked = question(one, large), question(other, small)
            costs = in_turn(*asked, 300, warm_up=20)
        large.costs[name], small.costs[name] = costs
        found.append(Comparison(f"{name}, {large.objects:,} / {small.objects:,}", *costs, "<= 1.5"))
    return found


def _read(store: Store, of: Sample) -> Callable[[], object]:
    chance, count = random.Random(3), scope_sizes(of.objects)[0]
    return lambda: store.read(scope_id=SCOPE, object_id=object_id(0, chance.randrange(count)))


def _query(store: Store, of: Sample) -> Callable[[], object]:
    # Enough of them in the smallest store to fill a page, so that both answer alike.
    wanted = {"object_type": ["observation"], "validation_state": ["corroborated"], "limit": 10}
    return lambda: store.query(scope_id=SCOPE, **wanted)


def catching_up(small: Sample, large: Sample) -> Comparison:
    """A reader's first look after one write that the index has not seen."""
    with closing(_ForeignWrites(large)) as one, closing(_ForeignWrites(small)) as other:
        for _ in range(60):
            one.once()
            other.once()
    for of, writes in ((large, one), (small, other)):
        of.costs["catch-up"] = median(writes.took[5:])
    name = f"catch-up, {large.objects:,} / {small.objects:,}"
    return Comparison(name, large.costs["catch-up"], small.costs["catch-up"], "independent")


class _ForeignWrites:
    """Writes without telling the index, and has a reader catch up."""

    def __init__(self, of: Sample) -> None:
        self._writer, self._reader = of.opened(), of.opened()
        self._scope = self._reader.open_scope(SCOPE, fresh=True)
        self.took: list[float] = []

    def once(self) -> None:
        follow, prepare = OpenScope.follow, IndexFile.prepare
        OpenScope.follow = lambda *_: None  # type: ignore[method-assign]
        IndexFile.prepare = lambda *_: None  # type: ignore[method-assign]
        try:
            self._writer.create(
                scope_id=SCOPE,
                object_type="claim",
                canonical_content={"text": "a foreign write"},
                actor=ACTOR,
                provenance={"activity": "noted"},
            )
        finally:
            OpenScope.follow = follow  # type: ignore[method-assign]
            IndexFile.prepare = prepare  # type: ignore[method-assign]
        start = time.perf_counter()
        self._scope.refresh()
        self.took.append(time.perf_counter() - start)

    def close(self) -> None:
        self._writer.close()
        self._reader.close()


def rebuilding(of: Sample) -> Comparison:
    """The index of every scope made anew; the peer is what 40,000 versions a second take."""
    start = time.perf_counter()
    command([PAMCTL, "index", "rebuild", "--store", str(of.path)])()
    of.costs["rebuild, a version"] = (time.perf_counter() - start) / of.versions
    name = f"rebuild at {of.objects:,}, a version / 40,000 a second"
    return Comparison(name, of.costs["rebuild, a version"], 1 / 40_000, ">= 1", True)


def checking(of: Sample, folder: Path, rounds: int) -> list[Comparison]:
    """fsck of everything, and git's of the same contents, and of the versions alone."""
    whole, alone = folder / f"git-contents-{of.objects}", folder / f"git-versions-{of.objects}"
    for repository in (whole, alone):
        if not repository.exists():
            _import(repository, of, versions_alone=repository == alone)
    state = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
    fsck = command([PAMCTL, "fsck", "--store", str(of.path)], env=state)
    found = []
    for repository, count, what in (
        (whole, of.versions + of.entries, "a version or entry"),
        (alone, of.versions, "a version"),
    ):
        peer = ["git", "-C", str(repository), "fsck", "--full", "--no-progress"]
        ours, git = in_turn(fsck, command(peer), rounds, warm_up=0)
        of.costs[f"fsck, {what}"] = ours / count
        of.costs[f"git fsck, {what}"] = git / count
        name = f"fsck at {of.objects:,} / git fsck, {what}"
        target = ">= 0.7" if repository == whole else ""
        found.append(Comparison(name, ours / count, git / count, target, True))
    return found


def _import(repository: Path, of: Sample, *, versions_alone: bool) -> None:
    command(["git", "init", "-q", "--bare", "--initial-branch=main", str(repository)])()
    arguments = ["git", "-C", str(repository), "fast-import", "--quiet"]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE) as git:
        assert git.stdin is not None
        for piece in _commits(_lines(of.path, versions_alone)):
            git.stdin.write(piece)
    assert git.returncode == 0


def _lines(store: Path, versions_alone: bool) -> Iterator[bytes]:
    """The lines of a store that has everything in packs, each of which is an object to git."""
    names = ["packs/*.jsonl"] if versions_alone else ["packs/*.jsonl", "ledger.jsonl"]
    for path in sorted(path for name in names for path in store.glob(f"scopes/*/{name}")):
        with open(path, "rb") as file:
            for line in file:
                yield line[:-1]


def _commits(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Lines as a stream for git, so many a commit, each commit with a folder of its own. That is
    the best case for git: where commits add to the folders that are there, those are written
    anew each time, and at 100,000 objects half of what `git fsck` does is to check them."""
    files: list[bytes] = []
    number = 0
    for number, line in enumerate(lines, 1):
        yield b"blob\nmark :%d\ndata %d\n%b\n" % (number, len(line), line)
        folder = number // _BLOBS_A_COMMIT
        files.append(b"M 100644 :%d %d/%d\n" % (number, folder, number))
        if len(files) == _BLOBS_A_COMMIT:
            yield _commit(files, number)
            files = []
    if files:
        yield _commit(files, number)


def _commit(files: list[bytes], number: int) -> bytes:
    author = b"committer bench <bench@example.org> %d +0000\n" % (1_700_000_000 + number)
    return b"commit refs/heads/main\n%bdata 1\nx\n%b\n" % (author, b"".join(files))


def disk(of: Sample) -> list[tuple[str, float]]:
    """Bytes: of canonical versions, of ledgers, of all else, and the ratio of everything to
    versions and ledgers."""
    size = dict.fromkeys(("packs", "versions", "ledger.jsonl", "else"), 0)
    for path in of.path.rglob("*"):
        if path.is_file() and not path.is_symlink():
            parts = path.relative_to(of.path).parts
            kind = parts[2] if parts[0] == "scopes" and parts[2] in size else "else"
            size[kind] += path.stat().st_size
    needed = size["packs"] + size["versions"] + size["ledger.jsonl"]
    return [
        ("canonical versions, MB", (size["packs"] + size["versions"]) / 1e6),
        ("ledgers, MB", size["ledger.jsonl"] / 1e6),
        ("index and the rest, MB", size["else"] / 1e6),
        ("all / versions and ledgers (<= 1.6)", sum(size.values()) / needed),
    ]


def plot(samples: list[Sample]) -> str:
    """Cost against size, in microseconds."""
    names = dict.fromkeys(name for one in samples for name in one.costs)
    lines = {
        name: [(one.objects, one.costs[name] * 1e6) for one in samples if name in one.costs]
        for name in names
    }
    return svg("Cost against size", "objects in the store", "µs", lines)


def run(folder: Path, sizes: tuple[int, ...], drawing: Path) -> None:
    """Print the tables, and draw the plot."""
    samples = [sample(folder, objects) for objects in sizes]
    small, *larger = samples
    print(HEADER)
    for one in samples:
        for comparison in _compared(small, one, folder):
            print(comparison.row(), flush=True)
    largest: Any = larger[-1]
    print(f"\n| at {largest.objects:,} objects | |\n|---|---|")
    for name, amount in disk(largest):
        print(f"| {name} | {amount:,.2f} |")
    print()
    for line in memory.table(largest.path, folder):
        print(line, flush=True)
    drawing.write_text(plot(samples), encoding="utf-8")


def _compared(small: Sample, one: Sample, folder: Path) -> Iterator[Comparison]:
    yield from checking(one, folder, 3 if one.objects <= 100_000 else 1)
    yield rebuilding(one)
    if one is not small:
        yield from looking(small, one)
        yield catching_up(small, one)


def main() -> None:
    parser = argparse.ArgumentParser(description="What size costs.")
    parser.add_argument("--short", action="store_true", help="up to 100,000 objects")
    parser.add_argument("--sizes", type=int, nargs="+", help="other sizes, the smallest first")
    parser.add_argument("--folder", type=Path, help="where stores are kept and found again")
    parser.add_argument("--plot", type=Path, default=PLOT, help="the SVG that is written")
    given = parser.parse_args()
    sizes = tuple(given.sizes or (SHORT if given.short else SIZES))
    if given.folder is not None:
        run(given.folder, sizes, given.plot)
        return
    # On the disk where stores live; a folder in memory would make every fsync free.
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        run(Path(name), sizes, given.plot)


if __name__ == "__main__":
    main()
