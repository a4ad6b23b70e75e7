"""What a query costs in a large scope: pages, late pages, words.

    python -m benchmarks.query [FOLDER] [--objects 1000000] [--small 10000] [--rounds 15]

Makes two stores of one scope each, a small and a large one (`generated_store`), in FOLDER, where
it finds them the next time. Making a million objects takes some twelve minutes; measuring, two.

- First pages: the same query of the large scope and of the small one, in turn.
- Late pages: the thousandth page of 50 and the first, of the large scope.
- Words: a lexical query with its answer decoded, and a bare query of SQLite for the same words
  over the same text, which fetches the text of as many rows. The bare one neither filters nor
  reads memories.

All in one process, in processor time; each query once before it is measured: what the first one
of its kind pays in a large scope, for an index that is kept, is told apart.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pamctl
from benchmarks import generated_store
from benchmarks.measure import HEADER, Comparison, in_turn
from pamctl.index.lexical import fts_expression
from pamctl.service.store import Store

SCOPE = generated_store.scope_ids(1)[0]
TRUSTED = {"validation_state": ["corroborated"]}
PAGES: dict[str, dict[str, Any]] = {
    "trusted": {},
    "one type": {"object_type": ["decision"], "any_state": True},
    "two types, one actor": {
        "object_type": ["task", "entity"],
        "actor_id": ["actor:local:member-3"],
        "any_state": True,
    },
    "one source": {"source_ref": ["urn:conversation:0:7#9"], "any_state": True},
    "one hour of observation": {
        "any_state": True,
        "temporal": {
            "basis": "observed_at",
            "from": "2024-03-02T09:00:00Z",
            "until": "2024-03-02T10:00:00Z",
        },
    },
    "newest first": {"order_by": ["committed_at:desc"], "any_state": True},
    "an expression of the index": {
        "where": ['object_type = "decision" and not provenance.activity = "imported"'],
        "any_state": True,
    },
    "an expression of envelopes": {"where": ["content.weight > 0.5"], "any_state": True},
}
LATE: dict[str, dict[str, Any]] = {
    "ledger order": {"any_state": True},
    "newest first": {"order_by": ["committed_at:desc"], "any_state": True},
    "one type": {"object_type": ["observation"], "any_state": True},
}
PAGE, LATE_PAGE = 50, 1000


def asked(store: Store, **query: Any) -> dict[str, Any]:
    answer: dict[str, Any] = store.query(scope_id=SCOPE, **{"limit": PAGE, **query})
    return answer


def first_pages(small: Store, large: Store, rounds: int) -> list[Comparison]:
    """Of each query, its page of the large scope against that of the small one."""
    rows = []
    for name, query in PAGES.items():
        begun = time.perf_counter()
        found = len(asked(large, **query)["items"])
        once = time.perf_counter() - begun
        print(f"  {name}: {found} items; asked for the first time {once:.2f} s", flush=True)
        ours, peer = _in_turn(_asking(large, query), _asking(small, query), rounds)
        rows.append(Comparison(f"first page, {name}", ours, peer, "≤ 1.5"))
    return rows


def late_pages(large: Store, rounds: int) -> list[Comparison]:
    """The thousandth page against the first. A cursor is of its query, whatever the limit."""
    rows = []
    for name, query in LATE.items():
        cursor: dict[str, Any] = {}
        for _ in range((LATE_PAGE - 1) * PAGE // 999):
            answer = asked(large, **query, **cursor, limit=999)
            cursor = {"cursor": answer["next_cursor"]}
        late, first = _in_turn(_asking(large, {**query, **cursor}), _asking(large, query), rounds)
        rows.append(Comparison(f"page {LATE_PAGE}, {name}", late, first, "≤ 1.5"))
    return rows


def words(large: Store, rounds: int) -> list[Comparison]:
    """A question in words against SQLite alone."""
    rows = []
    file = large.path / "index" / f"{large.open_scope(SCOPE).layout.root.name}.sqlite"
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as bare:
        for text in _questions(bare):
            expression = fts_expression(text)
            (matching,) = bare.execute(
                "SELECT count(*) FROM text WHERE text MATCH ?", (expression,)
            ).fetchone()

            def ask_sqlite(expression: str | None = expression) -> object:
                return bare.execute(
                    "SELECT rowid, strings, names FROM text WHERE text MATCH ? "
                    "ORDER BY bm25(text, 1.0, 0.1), rowid LIMIT ?",
                    (expression, PAGE),
                ).fetchall()

            ours, peer = _in_turn(
                _asking(large, {"text": text, "any_state": True}), ask_sqlite, max(rounds // 3, 3)
            )
            rows.append(Comparison(f"words, {matching:,} match", ours, peer, "≤ 1.5"))
    return rows


_in_turn = partial(in_turn, clock=time.process_time)


def _asking(store: Store, query: dict[str, Any]) -> Callable[[], object]:
    return lambda: asked(store, **query)


def _questions(database: sqlite3.Connection) -> list[str]:
    """Two words, seldom to frequent."""
    database.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, text, row)")
    found = []
    for fewest in (20, 1_000, 20_000, 100_000):
        rows = database.execute(
            "SELECT term FROM temp.words WHERE doc >= ? AND length(term) = 6 "
            "ORDER BY doc, term LIMIT 2",
            (fewest,),
        ).fetchall()
        if len(rows) == 2:
            found.append(" ".join(term for (term,) in rows))
    return found


def store_of(folder: Path, objects: int) -> Store:
    """A store of one scope with so many objects, made where it is not there."""
    path = folder / f"objects-{objects}" / ".pam"
    if not path.exists():
        print(f"  making {objects:,} objects", flush=True)
        generated_store.generate(path, objects, scopes=1, jobs=1)
    return pamctl.open_store(path)


def main() -> None:
    parser = argparse.ArgumentParser(description="What a query costs in a large scope.")
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--objects", type=int, default=1_000_000)
    parser.add_argument("--small", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        small, large = store_of(folder, given.small), store_of(folder, given.objects)
        with closing(small), closing(large):
            rows = first_pages(small, large, given.rounds)
            rows += late_pages(large, given.rounds)
            rows += words(large, given.rounds)
    print("\n".join([HEADER, *(row.row() for row in rows)]))


if __name__ == "__main__":
    main()
