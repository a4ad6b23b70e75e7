"""What a query costs in a large scope: pages, late pages, words.

    python -m benchmarks.query [FOLDER] [--objects 1000000] [--small 10000] [--rounds 15] [--words]

Makes two stores of one scope each, a small and a large one (`generated_store`), in FOLDER, where
it finds them the next time. Making a million objects takes some twelve minutes; measuring, two.

- First pages: the same query of the large scope and of the small one, in turn.
- Late pages: the thousandth page of 50 and the first, of the large scope.
- Words: a lexical query with its answer decoded, and SQLite alone, which fetches the same rows:
  the same words over the same text, joined with a table that a program would keep beside it,
  of the columns that are filtered by and the stored line of each version. It decodes nothing, and
  checks nothing against an address. That both find the same is checked first.

All in one process, in processor time, without the collection of garbage, as in a command; each
query once before it is measured: what the first one of its kind pays in a large scope, for an
index that is kept, is told apart.
"""

from __future__ import annotations

import argparse
import gc
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import orjson

import pamctl
from benchmarks import generated_store
from benchmarks.measure import HEADER, Comparison, in_turn
from pamctl.index.lexical import fts_expression
from pamctl.service.store import Store
from pamctl.store.versions import bytes_at

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
_BEST = """
    SELECT line FROM (
        SELECT rowid AS place, bm25(text, 1.0, 0.1) AS score FROM text
        WHERE text MATCH ? ORDER BY score LIMIT ?
    ) JOIN beside.memory ON since = place ORDER BY score
"""
_BEST_OF = """
    SELECT line FROM text CROSS JOIN beside.memory ON since = text.rowid
    WHERE text MATCH ? AND current AND {} ORDER BY bm25(text, 1.0, 0.1), object_id LIMIT ?
"""
WORDED: dict[str, tuple[dict[str, Any], str]] = {
    "any state": ({"any_state": True}, _BEST),
    "trusted": ({}, _BEST_OF.format("trusted")),
    "a rare filter": (
        {
            "any_state": True,
            "object_type": ["decision"],
            "actor_id": ["actor:local:member-3"],
        },
        _BEST_OF.format("object_type = 'decision' AND actor_id = 'actor:local:member-3'"),
    ),
}
"""A lexical query, and what finds the same in SQLite alone. The first of them finds what is
superseded as well: so it need not look at other versions than those that it returns."""
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
    with closing(_peer(large)) as bare:
        for text in _questions(bare):
            expression = fts_expression(text)
            (matching,) = bare.execute(
                "SELECT count(*) FROM text WHERE text MATCH ?", (expression,)
            ).fetchone()
            for name, (query, statement) in WORDED.items():
                ours = _asking(large, {"text": text, **query})
                peer = partial(_ask_sqlite, bare, statement, str(expression))
                if statement != _BEST and _named(ours()["items"]) != _named(
                    orjson.loads(line)["envelope"] for (line,) in peer()
                ):
                    raise SystemExit(f"{text}, {name}: SQLite finds something else")
                taken = _in_turn(ours, peer, rounds * 20 if matching < 10_000 else rounds)
                rows.append(Comparison(f"words, {matching:,} match, {name}", *taken, "≤ 1.5"))
    return rows


def _named(envelopes: Iterable[dict[str, Any]]) -> set[str]:
    return {envelope["version_id"] for envelope in envelopes}


def _peer(large: Store) -> sqlite3.Connection:
    """The text of the large scope's index, and beside it what a program of its own would keep."""
    file = large.path / "index" / f"{large.open_scope(SCOPE).layout.root.name}.sqlite"
    beside = large.path.parent / "peer.sqlite"
    if not beside.exists():
        _keep_beside(large, file, beside)
    bare = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
    bare.execute("ATTACH ? AS beside", (f"{beside.absolute().as_uri()}?mode=ro",))
    return bare


def _keep_beside(large: Store, index: Path, beside: Path) -> None:
    scope = large.open_scope(SCOPE)
    with closing(sqlite3.connect(beside)) as made, closing(sqlite3.connect(index)) as known:
        made.execute(
            "CREATE TABLE memory (since INTEGER PRIMARY KEY, current INTEGER, trusted INTEGER, "
            "object_type TEXT, actor_id TEXT, version_id TEXT, object_id TEXT, line BLOB)"
        )
        found = known.execute(
            "SELECT since, until IS NULL, lifecycle_state = 3 AND availability_state = 1 AND "
            "retention_state = 1 AND validation_state = 2, object_type, actor_id, version_id, "
            'object_id, pack, "offset", length FROM version ORDER BY since'
        )
        for *columns, pack, offset, length in found:
            line = bytes_at(scope.layout.pack_file(pack.hex()), offset, length)
            made.execute("INSERT INTO memory VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [*columns, line])
        made.commit()


def _ask_sqlite(bare: sqlite3.Connection, statement: str, expression: str) -> list[Any]:
    return bare.execute(statement, (expression, PAGE)).fetchall()


_in_turn = partial(in_turn, clock=time.process_time)


def _asking(store: Store, query: dict[str, Any]) -> Callable[[], dict[str, Any]]:
    return lambda: asked(store, **query)


def _questions(database: sqlite3.Connection) -> list[str]:
    """Two words, from those that few texts hold to those that many do; the first such that some
    forty match."""
    database.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, text, row)")
    found = [_for_forty(database)]
    for fewest in (1_000, 20_000, 100_000):
        words = _two_words(database, fewest)
        if words is not None:
            found.append(" ".join(words))
    return found


def _two_words(database: sqlite3.Connection, fewest: int) -> tuple[str, str] | None:
    """Two that stand in so many texts, or a few more."""
    rows = database.execute(
        "SELECT term FROM temp.words WHERE doc >= ? AND length(term) = 6 "
        "ORDER BY doc, term LIMIT 2",
        (fewest,),
    ).fetchall()
    return (rows[0][0], rows[1][0]) if len(rows) == 2 else None


def _for_forty(database: sqlite3.Connection) -> str:
    """Either of two seldom words, or both of two that are less so."""
    fewest = 20
    while (words := _two_words(database, fewest)) is not None:
        for text in (" ".join(words), " AND ".join(words)):
            ((count,),) = database.execute(
                "SELECT count(*) FROM text WHERE text MATCH ?", (fts_expression(text),)
            ).fetchall()
            if 30 <= count <= 60:
                return text
        fewest += fewest // 4
    raise SystemExit("no two words have some forty matches")


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
    parser.add_argument("--words", action="store_true", help="the lexical queries alone")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        small, large = store_of(folder, given.small), store_of(folder, given.objects)
        gc.disable()
        with closing(small), closing(large):
            rows = []
            if not given.words:
                rows += first_pages(small, large, given.rounds)
                rows += late_pages(large, given.rounds)
            rows += words(large, given.rounds)
    print("\n".join([HEADER, *(row.row() for row in rows)]))


if __name__ == "__main__":
    main()
