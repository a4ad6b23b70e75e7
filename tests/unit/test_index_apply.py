"""How the index follows the ledger: all or nothing, in order, and forgetting what it must."""

from __future__ import annotations

from pathlib import Path

import pytest

from pamctl.errors import StoreDamaged
from pamctl.index import making
from pamctl.index.scope_index import ScopeIndex
from pamctl.index.structured_query import StructuredQuery
from pamctl.index.writing import LAID_BY, LEXICAL, TextTable
from pamctl.store.records import START, StoredVersion
from tests.hand_made_ledger import HandMadeLedger, bring_up_to_date, table_rows


@pytest.fixture
def ledger() -> HandMadeLedger:
    return HandMadeLedger()


def found(index: ScopeIndex, text: str, as_of: int | None = None) -> list[str]:
    """Versions of any state that hold `text`, best first."""
    return [row.version_id for row in index.search(StructuredQuery(text=text, as_of=as_of)).rows]


def test_transactions_for_another_position_change_nothing(ledger: HandMadeLedger) -> None:
    ledger.create("mem:a")
    index = ledger.index()
    ledger.create("mem:b")
    before = table_rows(index)
    assert not index.apply(START, ledger.transactions)
    assert table_rows(index) == before
    assert index.apply(index.position(), ledger.transactions[1:])
    assert index.position() == ledger.position


def test_no_transactions_are_taken_in_where_the_index_stands(ledger: HandMadeLedger) -> None:
    ledger.create("mem:a")
    index = ledger.index()
    assert index.apply(ledger.position, [])
    assert not index.apply(START, [])


def test_two_processes_on_one_file(ledger: HandMadeLedger, tmp_path: Path) -> None:
    path = tmp_path / "index" / "scope.sqlite"
    one, other = ScopeIndex(path), ScopeIndex(path)
    ledger.create("mem:a")
    assert one.apply(START, ledger.transactions)
    assert not other.apply(START, ledger.transactions)
    assert other.position() == ledger.position
    assert other.current("mem:a") == one.current("mem:a")
    ledger.revise("mem:a")
    assert other.apply(other.position(), ledger.transactions[1:])
    assert one.history("mem:a") == other.history("mem:a")
    one.close()
    other.close()


def test_a_version_id_that_returns_is_damage_and_changes_nothing(ledger: HandMadeLedger) -> None:
    ledger.create("mem:a")
    index = ledger.index()
    before = table_rows(index)
    ledger.create("mem:b")
    ledger.create("mem:c", version_id="ver:mem:a:1")
    with pytest.raises(StoreDamaged, match="an identifier again"):
        index.apply(index.position(), ledger.transactions[1:])
    assert table_rows(index) == before


def test_an_event_without_an_id_is_damage(ledger: HandMadeLedger) -> None:
    ledger.entry("event", {"sequence": 1, "event_type": "access_denied"})
    with pytest.raises(StoreDamaged, match="ledger entry 1 is an event without 'event_id'"):
        ScopeIndex(None).apply(START, ledger.transactions)


@pytest.mark.parametrize("path", [None, "scope.sqlite"])
def test_reset_forgets_everything(ledger: HandMadeLedger, tmp_path: Path, path: str | None) -> None:
    ledger.create("mem:a", "a needle in a haystack")
    index = ledger.index(tmp_path / path if path else None)
    assert found(index, "needle") == ["ver:mem:a:1"]
    index.reset()
    assert index.position() == START
    assert found(index, "needle") == []
    assert table_rows(index) == table_rows(ScopeIndex(None))
    bring_up_to_date(index, ledger)
    assert found(index, "needle") == ["ver:mem:a:1"]
    index.close()


def test_reset_leaves_no_bytes_of_what_was_forgotten(
    ledger: HandMadeLedger, tmp_path: Path
) -> None:
    for number in range(200):
        ledger.create(f"mem:{number}", f"needle{number} in a haystack " * 20)
    index = ledger.index(tmp_path / "scope.sqlite")
    bring_up_to_date(index, ledger)
    assert any(b"needle7" in path.read_bytes() for path in tmp_path.iterdir())
    index.reset()
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert "scope.sqlite" in files
    assert not [name for name, data in files.items() if b"needle" in data]
    index.close()


@pytest.mark.parametrize("state", ["partially_redacted", "redacted", "deleted"])
def test_text_that_may_no_longer_be_shown_leaves_with_the_commit(
    ledger: HandMadeLedger, state: str
) -> None:
    ledger.create("mem:a", "secret one")
    ledger.revise("mem:a", canonical_content="secret two")
    ledger.create("mem:b", "secret three")
    index = ledger.index()
    assert len(found(index, "secret", as_of=3)) == 2
    ledger.revise("mem:a", availability_state=state, canonical_content="what may be shown")
    bring_up_to_date(index, ledger)
    for as_of in (1, 2, 3, 4, None):
        assert "ver:mem:a" not in str(found(index, "secret", as_of))
    shown = ["ver:mem:a:3"] if state == "partially_redacted" else []
    assert found(index, "shown") == shown


def test_text_comes_back_with_the_version_that_restores_it(ledger: HandMadeLedger) -> None:
    ledger.create("mem:a", "old words")
    ledger.revise("mem:a", availability_state="redacted", canonical_content={"tombstone": True})
    ledger.revise("mem:a", availability_state="available", canonical_content="old words")
    index = ledger.index()
    assert found(index, "words") == ["ver:mem:a:3"]
    assert found(index, "words", as_of=1) == []


def test_an_erasure_takes_text_and_integrity_of_its_version(ledger: HandMadeLedger) -> None:
    ledger.create("mem:a", "first words", integrity={"digest": "d1"}, pack="cd" * 32)
    ledger.revise("mem:a", canonical_content="second words")
    index = ledger.index()
    address = next(iter(ledger.transactions[0].versions))
    assert not index.erasures.are_due()
    ledger.entry("erasure", {"address": address, "version_id": "ver:mem:a:1"})
    bring_up_to_date(index, ledger)
    first, second = index.history("mem:a")
    assert first.erased
    assert not second.erased
    assert index.erasures.are_due()
    addresses = index.erasures.addresses()
    assert addresses.has(address)
    assert addresses.has(second.address)
    assert not addresses.has("sha256:" + "0" * 64)
    assert first.lifecycle_state == "active"
    assert found(index, "first", as_of=1) == []
    assert found(index, "second") == ["ver:mem:a:2"]
    digests = StructuredQuery(integrity_digest=["d1"], as_of=1)
    assert index.search(digests).rows == []


def test_an_index_does_not_depend_on_how_the_ledger_was_read(ledger: HandMadeLedger) -> None:
    ledger.entry("scope", {"scope_id": "s"})
    ledger.create("mem:a", {"text": "one"})
    with ledger:
        ledger.create("mem:b", ["two"])
        ledger.revise("mem:a", canonical_content={"text": "three"})
        ledger.entry("idempotency", {"key": "k"})
    ledger.event("access_denied", object_id="mem:b")
    ledger.relate("rel:ab", "mem:a", "mem:b")
    ledger.revise("mem:a", "object_deleted", availability_state="deleted", gone=True)
    ledger.revise("mem:b", "availability_transitioned", availability_state="redacted")
    erased = ledger.create("mem:c", {"text": "four"}, integrity={"digest": "d"})
    stored = ledger.transactions[-1].entries[-1].version
    ledger.entry("erasure", {"version_id": erased["version_id"], "address": stored})
    ledger.revise("mem:b", availability_state="partially_redacted", canonical_content="five")
    ledger.entry("pack", {"name": "aa" * 32, "versions": 1})
    ledger.entry("pack", {"name": "bb" * 32, "versions": 1, "replaces": "aa" * 32})
    moved = StoredVersion(str(stored), {"version_id": erased["version_id"]}, "bb" * 32, 5, 50)
    ledger.transactions[-1] = ledger.transactions[-1]._replace(moved=(moved,))
    whole, pieces = ScopeIndex(None), ScopeIndex(None)
    assert whole.apply(START, ledger.transactions)
    for transaction in ledger.transactions:
        assert pieces.apply(pieces.position(), [transaction])
    assert table_rows(whole) == table_rows(pieces)
    made = ScopeIndex.made_of(iter(ledger.transactions))
    assert table_rows(made) == table_rows(whole)
    assert all(table_rows(made).values())
    for text in ("one", "two", "three", "four", "five", "linked"):
        assert found(made, text) == found(whole, text)
    made._database.execute("CREATE VIRTUAL TABLE words USING fts5vocab (text, row)")
    words = {word for (word,) in made._database.execute("SELECT term FROM words")}
    assert words == {"note", "linked", "five"}


@pytest.mark.parametrize("texts", [LAID_BY, LEXICAL])
def test_an_index_made_at_once_is_gone_on_with(
    ledger: HandMadeLedger, monkeypatch: pytest.MonkeyPatch, texts: TextTable
) -> None:
    assert making._text_table(ledger.index()._database) is LAID_BY
    monkeypatch.setattr(making, "_text_table", lambda _: texts)
    ledger.create("mem:a", "a needle in a haystack")
    made, usual = ScopeIndex.made_of(ledger.transactions), ledger.index()
    ledger.revise("mem:a", canonical_content="another needle")
    for index in (made, usual):
        bring_up_to_date(index, ledger)
    assert table_rows(made) == table_rows(usual)
    assert len(found(made, "needle")) == 1
    settings = "SELECT k, v FROM text_config WHERE k IN ('hashsize', 'automerge') ORDER BY k"
    assert made._database.execute(settings).fetchall() == [("automerge", 4), ("hashsize", 1 << 20)]
    made._database.execute("INSERT INTO text (text) VALUES ('integrity-check')")
    for name in ("index", "table"):
        names = f"SELECT name, sql FROM sqlite_schema WHERE type = '{name}' ORDER BY name"
        assert [*made._database.execute(names)] == [*usual._database.execute(names)]


def test_an_index_made_at_once_of_an_id_used_twice_is_damage(ledger: HandMadeLedger) -> None:
    ledger.create("mem:a")
    ledger.create("mem:b", version_id="ver:mem:a:1")
    with pytest.raises(StoreDamaged, match="uses an identifier again"):
        ScopeIndex.made_of(ledger.transactions)
