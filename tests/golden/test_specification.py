"""`store-format/` says what is true: its examples recompute, its ids and links hold together,
and a reader written from it alone reads what pamctl wrote."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from pamctl.store.layout import scope_folder
from tests.golden import second_reader, worked_example
from tests.golden.make_store_v1 import OTHER_SCOPE, SCOPE
from tests.golden.test_store_v1 import EVENTS, GOLDEN, STATES

PAGES = Path(__file__).resolve().parents[2] / "store-format"
LEDGER = Path("scopes/workspace-default-911e6bc44c96/ledger.jsonl")


def text_of(page: str) -> str:
    return (PAGES / page).read_text(encoding="utf-8")


# The second reader


def test_the_second_reader_reads_the_golden_store() -> None:
    scopes = second_reader.read_store(GOLDEN)
    assert sorted(scopes) == sorted([SCOPE, OTHER_SCOPE])
    scope = scopes[SCOPE]
    assert [(event["event_type"], event["object_id"]) for event in scope.events] == EVENTS
    assert {
        object_id: (
            envelope["lifecycle_state"],
            envelope["availability_state"],
            envelope["retention_state"],
            envelope["validation_state"],
            envelope["sequence"],
        )
        for object_id, envelope in scope.current().items()
    } == STATES


def test_both_readers_agree_on_the_head() -> None:
    from pamctl.store.directory import StoreDirectory
    from pamctl.store.ledger import Ledger
    from pamctl.store.records import START

    for scope_id, scope in second_reader.read_store(GOLDEN).items():
        layout = StoreDirectory.open(GOLDEN).scope(scope_id)
        *_, last = Ledger(layout).transactions(START)
        end = scope.end
        assert (end.offset, end.entries, end.sequence, end.head) == (
            last.after.offset,
            last.after.entries,
            last.after.sequence,
            last.after.head,
        )


@given(
    st.floats(allow_nan=False, allow_infinity=False)
    | st.integers(-400, 400).map(lambda exponent: float(f"1.5e{exponent % 308}"))
    | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), st.booleans())
    | st.text(st.characters(exclude_categories=["Cs"]))
)
def test_the_second_reader_spells_as_rfc_8785_does(value: object) -> None:
    assert second_reader.canonical(value) == rfc8785.dumps(value)  # type: ignore[arg-type]


def edited(data: bytes) -> bytes:
    return data.replace(b"policy:spring-review", b"policy:autumn-review", 1)


DAMAGED: dict[str, tuple[Path, Callable[[bytes], bytes], str | None]] = {
    "edited": (LEDGER, edited, "ledger-chain-broken"),
    "line left out": (LEDGER, lambda a: b"".join(a.splitlines(True)[:5] + a.splitlines(True)[6:]),
                      "ledger-chain-broken"),
    "spaces": (LEDGER, lambda a: a.replace(b'"n":7', b'"n": 7'), "ledger-line-not-canonical"),
    "carriage returns": (LEDGER, lambda a: a.replace(b"\n", b"\r\n"), "ledger-line-not-canonical"),
    "conflict marker": (LEDGER, lambda a: b"<<<<<<< HEAD\n" + a, "ledger-line-not-json"),
    "torn": (LEDGER, lambda a: a + b'{"body":', None),
    "zeros": (LEDGER, lambda a: a + b"\x00" * 100, None),
    "tail cut": (LEDGER, lambda a: b"".join(a.splitlines(True)[:-1]), None),
}  # fmt: skip


@pytest.mark.parametrize(("name", "change", "finding"), DAMAGED.values(), ids=DAMAGED.keys())
def test_the_second_reader_names_what_is_broken(
    tmp_path: Path, name: Path, change: Callable[[bytes], bytes], finding: str | None
) -> None:
    copy = Path(shutil.copytree(GOLDEN, tmp_path / ".pam"))
    (copy / name).write_bytes(change((copy / name).read_bytes()))
    assert second_reader.finding(copy) == finding


def test_the_second_reader_misses_no_version(tmp_path: Path) -> None:
    for number, path in enumerate(sorted(GOLDEN.glob("scopes/*/versions/*/*.json"))):
        copy = Path(shutil.copytree(GOLDEN, tmp_path / f"{number}"))
        victim = copy / path.relative_to(GOLDEN)
        victim.write_bytes(victim.read_bytes().replace(b"2026", b"2027", 1))
        assert second_reader.finding(copy) == "version-altered"
        victim.unlink()
        assert second_reader.finding(copy) == "version-missing"


# The examples


def test_the_worked_example_is_the_golden_stores() -> None:
    assert text_of("worked-example.md") == worked_example.page()


def gardener() -> dict[str, str]:
    return {"actor_id": "actor:local:gardener", "actor_kind": "human"}


def test_the_request_digest_recomputes() -> None:
    scope = second_reader.read_store(GOLDEN)[SCOPE]
    record = scope.records["page 7"]
    made = record["result"]["version_id"]
    (version,) = [v for v in scope.versions if v["envelope"]["version_id"] == made]
    preimage = version["salt"].encode() + worked_example.request_of(version)
    assert record["request_digest"] == "sha256:" + hashlib.sha256(preimage).hexdigest()
    assert preimage.decode() in text_of("worked-example.md")
    policy = scope.records["no tools"]
    request = {"scope_id": SCOPE, "policy": scope.policy, "actor": gardener()}
    assert policy["request_digest"] == second_reader.request_digest(
        "scope_policy", request, policy["salt"]
    )
    refusal = scope.records["impossible"]
    tea = scope.current()["mem:tea"]
    request = {
        "scope_id": SCOPE,
        "object_id": "mem:tea",
        "expected_version_id": tea["version_id"],
        "dimension": "lifecycle",
        "target_state": "scratch",
        "actor": gardener(),
        "operation_id": "op:left-out",
        "idempotency_key": "left out",
    }
    assert refusal["request_digest"] == second_reader.request_digest(
        "transition", request, refusal["salt"]
    )


def test_the_folders_recompute() -> None:
    rows = re.findall(r"^\| `(\S+:\S+)` \| `(\S+)` \|$", text_of("layout.md"), re.MULTILINE)
    assert len(rows) == 3
    for scope_id, folder in rows:
        assert scope_folder(scope_id) == folder == second_reader.folder_of(scope_id)


def test_the_git_files_are_as_the_page_shows_them() -> None:
    blocks = re.findall(r"```\n(.*?)```", text_of("git.md"), re.DOTALL)
    assert [block.encode() for block in blocks] == [
        (GOLDEN / ".gitattributes").read_bytes(),
        (GOLDEN / ".gitignore").read_bytes(),
    ]


def test_the_bounds_are_the_ones_that_are_kept() -> None:
    from pamctl import limits

    page = text_of("encoding.md")
    for bound in (limits.DOCUMENT_BYTES_MAX, limits.CONTENT_BYTES_MAX):
        assert f"{bound:,} bytes" in page
    assert f"| nesting | {limits.DEPTH_MAX} levels |" in page
    assert f"| an identifier | {limits.IDENTIFIER_CHARS_MAX} characters |" in page
    assert f"| an idempotency key | {limits.IDEMPOTENCY_KEY_CHARS_MAX} characters |" in page


def test_the_kinds_are_those_of_the_schema() -> None:
    schema = json.loads((PAGES.parent / "schemas/ledger-entry.schema.json").read_bytes())
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", text_of("ledger.md"), re.MULTILINE)
    kinds = [name for name, _ in rows[rows.index(next(row for row in rows if row[0] == "scope")) :]]
    assert sorted(kinds) == sorted(schema["properties"]["kind"]["enum"])


def test_the_events_that_commit_a_version_are_those_of_the_schema() -> None:
    schema = json.loads((PAGES.parent / "schemas/event.schema.json").read_bytes())
    committing = schema["if"]["properties"]["event_type"]["enum"]
    assert set(committing) == second_reader.COMMITTING
    assert all(f"`{name}`" in text_of("ledger.md") for name in committing)


# The pages


def invariants() -> list[tuple[str, str, str, str]]:
    return re.findall(
        r"^\| `([^`]+)` \| (\w+) \| (.+) \| ([\w-]+) \|$", text_of("invariants.md"), re.MULTILINE
    )


def test_every_invariant_has_one_id_a_grade_and_a_page() -> None:
    ids = [finding for finding, *_ in invariants()]
    assert len(ids) > 50
    assert len(set(ids)) == len(ids)
    for finding, grade, _, page in invariants():
        assert re.fullmatch(r"[a-z]+(-[a-z]+)+", finding)
        assert grade in ("must", "should", "notice")
        assert (PAGES / f"{page}.md").is_file(), finding


def test_every_finding_that_a_page_names_is_an_invariant() -> None:
    known = {finding for finding, *_ in invariants()}
    for path in PAGES.glob("*.md"):
        named = set(re.findall(r"\(`([a-z]+(?:-[a-z]+)+)`\)", path.read_text(encoding="utf-8")))
        assert named <= known, path.name
    in_reader = re.findall(r'Damage\("([a-z-]+)"', Path(second_reader.__file__).read_text())
    assert set(in_reader) <= known


def test_every_link_leads_somewhere_and_every_page_is_listed() -> None:
    for path in PAGES.glob("*.md"):
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text(encoding="utf-8")):
            assert "://" in target or (path.parent / target).exists(), (path.name, target)
    listed = set(re.findall(r"^\| \[([\w-]+\.md)\]", text_of("README.md"), re.MULTILINE))
    assert listed | {"README.md"} == {path.name for path in PAGES.glob("*.md")}
