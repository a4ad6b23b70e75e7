"""What an inclusion proof costs as its ledger grows from a thousand entries to a million.

python -m benchmarks.proofs [ENTRIES] [ROUNDS]

Both ledgers are made here, event by event, as the format says; the trees over them are made
once, as the first proof in a store makes them. Then proofs of events all over each ledger are
made in turn: by the installed command, and in one process, each opening the tree anew.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
import time
from pathlib import Path

import orjson

import pamctl
from benchmarks.measure import HEADER, Comparison, command, in_turn
from pamctl.exchange.checkpoints import LedgerCheckpoints
from pamctl.store.layout import StoreLayout

PAMCTL = str(Path(sys.executable).with_name("pamctl"))
SCOPE = "workspace:default"
SMALL = 1_000
_WRITE_LINES = 10_000


def make_ledger(folder: Path, entries: int) -> StoreLayout:
    """A store whose ledger has that many entries, two of which begin it."""
    root = folder / ".pam"
    pamctl.init_store(root).close()
    layout = StoreLayout(root)
    path = layout.scope(SCOPE).ledger
    head = hashlib.sha256(path.read_bytes().split(b"\n")[1]).hexdigest()
    lines: list[bytes] = []
    with path.open("ab") as ledger:
        for n in range(3, entries + 1):
            line = orjson.dumps(_entry(n, head), option=orjson.OPT_SORT_KEYS)
            head = hashlib.sha256(line).hexdigest()
            lines.append(line + b"\n")
            if len(lines) == _WRITE_LINES or n == entries:
                ledger.write(b"".join(lines))
                lines.clear()
    return layout


def _entry(n: int, head: str) -> dict[str, object]:
    """An event as a grant would leave it, which commits no version."""
    body = {
        "actor": {"actor_id": "actor:local:bench", "actor_kind": "human"},
        "event_id": f"evt:{n:032x}",
        "event_type": "access_denied",
        "object_id": f"mem:{n}",
        "operation_id": f"op:{n:032x}",
        "payload": {"operation": "read", "reason": "nothing was to be seen here"},
        "recorded_at": "2026-01-01T00:00:00.000000Z",
        "scope_id": SCOPE,
        "sequence": n - 2,
    }
    return {"n": n, "tx": n, "i": 1, "of": 1, "kind": "event", "prev": head, "body": body}


class Prover:
    """Proves one event after the other, from all over a ledger."""

    def __init__(self, layout: StoreLayout, entries: int) -> None:
        self._ledger = LedgerCheckpoints(layout, layout.scope(SCOPE))
        self._entries = entries
        self._last = 0

    def __call__(self) -> None:
        self._last = (self._last + 611_953) % (self._entries - 2)
        assert self._ledger.prove_event(self._last + 1, None).holds()


def main(entries: int, rounds: int) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        large, small = make_ledger(Path(one), entries), make_ledger(Path(other), SMALL)
        provers = Prover(large, entries), Prover(small, SMALL)
        for name, prover in zip((f"{entries:,}", f"{SMALL:,}"), provers, strict=True):
            start = time.perf_counter()
            prover()
            print(
                f"the first proof, which makes the tree, {name} entries: "
                f"{time.perf_counter() - start:.2f} s"
            )
        words = [PAMCTL, "checkpoint", "prove", "--event"]
        commands = (
            command([*words, str(entries // 2), "--store", str(large.root)]),
            command([*words, str(SMALL // 2), "--store", str(small.root)]),
        )
        print(HEADER)
        what = f"at {entries:,} entries / at {SMALL:,}"
        target = "< 2"
        print(Comparison(f"`checkpoint prove` {what}", *in_turn(*commands, rounds), target).row())
        inside = in_turn(*provers, rounds * 20)
        print(Comparison(f"the proof alone {what}", *inside, "").row())


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000,
        int(sys.argv[2]) if len(sys.argv) > 2 else 25,
    )
