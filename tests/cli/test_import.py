"""`pamctl import`, as the installed program."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Program
from tests.conftest import clean_environment
from tests.shared import shared_path

DEFAULT = "workspace:default"
ELSEWHERE = "elsewhere/.pam"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """What `bundle` begins with, made once: a folder to be copied, and the memory's result."""
    folder = tmp_path_factory.mktemp("prepared")
    program = Program(folder, clean_environment(folder))
    assert program("init").status == 0
    made: dict[str, Any] = program(
        *("create", "--type", "claim", "--content", '{"text": "tea"}')
    ).json
    assert program("export", "--output", "a.jsonl").status == 0
    assert program("init", "elsewhere").status == 0
    return folder, made


@pytest.fixture
def bundle(pamctl: Program, prepared: tuple[Path, dict[str, Any]]) -> dict[str, Any]:
    """A store and a bundle `a.jsonl` of its one memory, and an empty store elsewhere; the
    memory's result."""
    folder, made = prepared
    shutil.copytree(folder, pamctl.folder, dirs_exist_ok=True)
    return made


@pytest.fixture
def in_store(request: pytest.FixtureRequest, pamctl: Program) -> Program:
    """The program where there is a store: that of `bundle`, where it is asked for."""
    if "bundle" not in request.fixturenames:
        assert pamctl("init").status == 0
    return pamctl


def elsewhere(program: Program, *words: str, **how: Any) -> Any:
    return program(*words, "--store", ELSEWHERE, **how)


def test_a_scope_is_taken_over(in_store: Program, bundle: dict[str, Any]) -> None:
    answer = elsewhere(in_store, "import", "a.jsonl").json
    (scope,) = answer["scopes"]
    assert (scope["action"], scope["entries"], scope["versions"]) == ("adopted", 3, 1)
    read = elsewhere(in_store, "read", bundle["object_id"]).json
    assert read == in_store("read", bundle["object_id"]).json
    assert elsewhere(in_store, "export").stdout == (in_store.folder / "a.jsonl").read_bytes()
    assert elsewhere(in_store, "fsck").json["clean"]
    assert elsewhere(in_store, "status").json["scopes"][0]["head"] == scope["head"]


def test_importing_twice_changes_nothing(in_store: Program, bundle: dict[str, Any]) -> None:
    elsewhere(in_store, "import", "a.jsonl")
    before = _files(in_store.folder / ELSEWHERE)
    answer = elsewhere(in_store, "import", "a.jsonl").json
    assert [scope["action"] for scope in answer["scopes"]] == ["unchanged"]
    assert _files(in_store.folder / ELSEWHERE) == before


def test_a_dry_run_changes_nothing(in_store: Program, bundle: dict[str, Any]) -> None:
    before = _files(in_store.folder / ELSEWHERE)
    answer = elsewhere(in_store, "import", "--dry-run", "a.jsonl").json
    assert answer["dry_run"] is True
    assert answer["scopes"][0]["action"] == "adopted"
    assert _files(in_store.folder / ELSEWHERE) == before


def test_a_copy_goes_on_and_the_next_import_goes_on_with_it(
    in_store: Program, bundle: dict[str, Any]
) -> None:
    elsewhere(in_store, "import", "a.jsonl")
    updated = in_store(
        "update", bundle["object_id"], "--expect", bundle["version_id"], "--content", '"green"'
    ).json
    bundle_again = in_store("export").stdout
    answer = elsewhere(in_store, "import", "-", stdin=bundle_again).json
    assert [scope["action"] for scope in answer["scopes"]] == ["extended"]
    found = elsewhere(in_store, "read", bundle["object_id"]).json
    assert found["version_id"] == updated["version_id"]
    assert elsewhere(in_store, "import", "a.jsonl").json["scopes"][0]["action"] == "behind"
    assert elsewhere(in_store, "fsck").json["clean"]


def test_a_scope_that_has_gone_another_way_is_refused(
    in_store: Program, bundle: dict[str, Any]
) -> None:
    elsewhere(in_store, "import", "a.jsonl")
    for store in (".pam", ELSEWHERE):
        done = in_store("create", "--type", "claim", "--content", "1", "--store", store)
        assert done.status == 0
    in_store("export", "--output", "b.jsonl")
    before = _files(in_store.folder / ELSEWHERE)
    failed = elsewhere(in_store, "import", "b.jsonl")
    assert (failed.status, failed.error["code"]) == (4, "version_conflict")
    (scope,) = failed.error["details"]["scopes"]
    assert len(scope["objects"]) == 2
    assert {bool(one["here"]) for one in scope["objects"]} == {True, False}
    assert "--map-scope" in failed.error["details"]["hint"]
    assert _files(in_store.folder / ELSEWHERE) == before


def test_objects_are_recorded_anew_in_a_scope_of_ones_own(
    in_store: Program, bundle: dict[str, Any]
) -> None:
    mapped = f"{DEFAULT}=project:tea"
    answer = elsewhere(in_store, "import", "a.jsonl", "--map-scope", mapped).json
    (scope,) = answer["scopes"]
    assert (scope["scope_id"], scope["action"]) == ("project:tea", "recorded")
    found = elsewhere(in_store, "read", bundle["object_id"], "--scope", "project:tea").json
    original = in_store("read", bundle["object_id"]).json
    assert {**found, "integrity": None} == {
        **original,
        "scope_id": "project:tea",
        "integrity": None,
    }
    again = elsewhere(in_store, "import", "a.jsonl", "--map-scope", mapped).json
    assert again["scopes"][0]["action"] == "unchanged"
    assert elsewhere(in_store, "fsck").json["clean"]


def test_an_object_with_another_history_is_reported(
    in_store: Program, bundle: dict[str, Any]
) -> None:
    name = bundle["object_id"]
    elsewhere(in_store, "create", "--type", "claim", "--content", "1", "--id", name)
    in_store("export", "--object", name, "-o", "b.jsonl")
    failed = elsewhere(in_store, "import", "b.jsonl", "--map-scope", f"{DEFAULT}={DEFAULT}")
    assert (failed.status, failed.error["code"]) == (4, "version_conflict")
    (clash,) = failed.error["details"]["objects"]
    assert clash["object_id"] == name
    assert "another history" in clash["reason"]


def test_a_legal_hold_here_refuses_an_import_over_it(
    in_store: Program, bundle: dict[str, Any]
) -> None:
    """Also where it was released at the origin: here somebody has to release it."""
    name, mapped = bundle["object_id"], f"{DEFAULT}=project:tea"
    basis = ("--policy-basis", "court")
    held = in_store(
        "transition", name, "retention", "legal_hold", "--expect", bundle["version_id"], *basis
    ).json
    in_store("export", "--output", "b.jsonl")
    assert elsewhere(in_store, "import", "b.jsonl", "--map-scope", mapped).status == 0
    released = in_store(
        "transition", name, "retention", "retained", "--expect", held["version_id"], *basis
    )
    assert released.status == 0, released.stderr
    in_store("export", "--output", "c.jsonl")
    failed = elsewhere(in_store, "import", "c.jsonl", "--map-scope", mapped)
    assert (failed.status, failed.error["code"]) == (8, "legal_hold")
    assert failed.error["details"]["object_ids"] == [name]
    found = elsewhere(in_store, "read", name, "--scope", "project:tea").json
    assert found["retention_state"] == "legal_hold"


def test_a_tombstone_here_is_not_undone(in_store: Program, bundle: dict[str, Any]) -> None:
    name, mapped = bundle["object_id"], f"{DEFAULT}=project:tea"
    elsewhere(in_store, "import", "a.jsonl", "--map-scope", mapped)
    words = ("delete", name, "--expect", bundle["version_id"], "--policy-basis", "done")
    assert elsewhere(in_store, *words, "--scope", "project:tea").status == 0
    in_store("update", name, "--expect", bundle["version_id"], "--content", '"later"')
    in_store("export", "--output", "b.jsonl")
    failed = elsewhere(in_store, "import", "b.jsonl", "--map-scope", mapped)
    assert (failed.status, failed.error["code"]) == (4, "version_conflict")
    assert elsewhere(in_store, "read", name, "--scope", "project:tea").status == 9


def test_a_selection_needs_a_scope_of_ones_own(in_store: Program, bundle: dict[str, Any]) -> None:
    in_store("export", "--object", bundle["object_id"], "-o", "b.jsonl")
    failed = elsewhere(in_store, "import", "b.jsonl")
    assert (failed.status, failed.error["code"]) == (2, "invalid_request")
    assert "--map-scope" in failed.error["details"]["hint"]


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("a.jsonl", "--map-scope", "project:tea"), 2),
        (("a.jsonl", "--map-scope", "workspace:none=project:tea"), 2),
        (("a.jsonl", "--map-scope", f"{DEFAULT}=no scope id"), 2),
        (("a.jsonl", "--map-scope", f"{DEFAULT}=a:b", "--map-scope", f"{DEFAULT}=a:c"), 2),
        (("none.jsonl",), 2),
        (("elsewhere",), 2),
        (("cut.jsonl",), 10),
        (("edited.jsonl",), 10),
        (("nothing.jsonl",), 10),
    ],
)
def test_bad_input_is_refused_and_nothing_changes(
    in_store: Program, bundle: dict[str, Any], words: tuple[str, ...], status: int
) -> None:
    data = (in_store.folder / "a.jsonl").read_bytes()
    (in_store.folder / "cut.jsonl").write_bytes(data[:-40])
    (in_store.folder / "edited.jsonl").write_bytes(data.replace(b'"tea"', b'"tee"'))
    (in_store.folder / "nothing.jsonl").write_bytes(b"")
    before = _files(in_store.folder / ELSEWHERE)
    failed = elsewhere(in_store, "import", *words)
    assert failed.status == status, failed.stderr
    assert failed.error["message"]
    assert _files(in_store.folder / ELSEWHERE) == before


def test_policy_can_refuse_imports(in_store: Program, bundle: dict[str, Any]) -> None:
    elsewhere(in_store, "import", "a.jsonl")
    policy = elsewhere(in_store, "scope", "show", DEFAULT).json["policy"]
    rule = {"rule_id": "rule:closed", "effect": "deny", "operations": ["import"]}
    (in_store.folder / "policy.json").write_text(json.dumps({**policy, "rules": [rule]}))
    assert (
        elsewhere(in_store, "scope", "policy", DEFAULT, "--policy-file", "policy.json").status == 0
    )
    failed = elsewhere(in_store, "import", "a.jsonl")
    assert (failed.status, failed.error["policy_rule_id"]) == (7, "rule:closed")


@pytest.mark.shared
@pytest.mark.parametrize(
    "name",
    ["claim-creation", "claim-with-quality-signals", "tool-invocation", "working-memory"],
)
def test_a_dump_of_another_implementation(in_store: Program, name: str) -> None:
    file = shared_path("vectors", "pamspec", "vectors", "valid", f"{name}.json")
    given = json.loads(file.read_bytes())
    answer = in_store("import", str(file)).json
    assert [scope["action"] for scope in answer["scopes"]] == ["recorded"]
    name = given.get("object_id") or given["relationship_id"]
    found = in_store("read", name, "--scope", given["scope_id"], "--version", given["version_id"])
    assert found.json == given
    assert in_store("import", str(file)).json["scopes"][0]["action"] == "unchanged"
    assert in_store("fsck").json["clean"]


@pytest.mark.shared
def test_a_relationship_needs_its_ends(in_store: Program) -> None:
    file = shared_path("vectors", "pamspec", "vectors", "valid", "relationship-creation.json")
    failed = in_store("import", str(file))
    assert (failed.status, failed.error["code"]) == (10, "invalid_object")
    assert failed.error["details"]["relationship_id"] == "rel:001"


def _files(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and "index" not in path.parts and path.name != "lock"
    }
