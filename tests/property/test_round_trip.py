"""Whatever a store holds: exported, imported elsewhere and exported again it is the same bytes,
the copy answers as the original does, and a checker finds nothing in it."""

from __future__ import annotations

import contextlib
import io
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pamctl
from pamctl.audit.bundle import verify_bundle
from pamctl.cli.checking import checked
from pamctl.errors import PamError
from pamctl.service.store import Store
from tests.authority import terms
from tests.conftest import FixedClock, FixedEntropy

SCOPE, OTHER = "workspace:default", "project:other"
ACTOR = {"actor_id": "actor:local:owner", "actor_kind": "human"}
SEEN = {"activity": "noted"}
ACTIONS = (
    "create",
    "create",
    "strange",
    "update",
    "move",
    "hold",
    "redact",
    "redact some",
    "erase",
    "delete",
    "delete and erase",
    "restore",
    "relate",
    "delegate",
    "snapshot",
    "several",
    "elsewhere",
)
CONTENTS: tuple[Any, ...] = (
    "tea",
    {"title": "plan", "steps": [1, 2.5, None, True]},
    {"𐀀": "sorted by UTF-16", "\ue000": "\u0000 and \u2028"},
    [],
    -0.5e-7,
)

steps = st.lists(
    st.tuples(st.sampled_from(ACTIONS), st.integers(0, 5), st.integers(0, 4)),
    min_size=3,
    max_size=18,
)


class Doing:
    """Does random things to a store; what is refused is left."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.names: list[str] = []

    def perform(self, operation: str, **arguments: Any) -> None:
        given = {"scope_id": SCOPE, "actor": ACTOR, **arguments}
        with contextlib.suppress(PamError):
            self.store.perform(operation, given)

    def do(self, action: str, which: int, content: int) -> None:
        made = {"object_type": "claim", "canonical_content": CONTENTS[content], "provenance": SEEN}
        if action in ("create", "strange", "several", "elsewhere"):
            self._make(action, made)
            return
        if not self.names:
            return
        name = self.names[which % len(self.names)]
        row = self.store.open_scope(SCOPE, fresh=True).index.current(name)
        assert row is not None
        on = {"object_id": name, "expected_version_id": row.version_id}
        basis = {"policy_basis": "policy:test"}
        match action:
            case "update":
                self.perform("update", **on, canonical_content=CONTENTS[content], provenance=SEEN)
            case "move":
                target = ("corroborated", "disputed", "rejected")[content % 3]
                self.perform("transition", **on, dimension="validation", target_state=target)
            case "hold":
                held = row.retention_state == "legal_hold"
                target = "retained" if held else "legal_hold"
                self.perform(
                    "transition", **on, **basis, dimension="retention", target_state=target
                )
            case "redact" | "erase":
                self.perform("redact", **on, **basis, erase=action == "erase")
            case "redact some":
                self.perform("redact", **on, **basis, paths=["/title"])
            case "delete" | "delete and erase":
                self.perform("delete", **on, **basis, erase=action != "delete")
            case "restore":
                self.perform(
                    "transition",
                    **on,
                    **basis,
                    dimension="availability",
                    target_state="available",
                )
            case "relate":
                self.perform(
                    "relate",
                    source_object_id=name,
                    target_object_id=self.names[0],
                    relationship_type="com.example.odd",
                    directionality="directed",
                    provenance=SEEN,
                )
            case "delegate":
                with contextlib.suppress(PamError):
                    self.store.perform("grant_delegation", terms("read"))
            case "snapshot":
                self.perform("snapshot_create")

    def _make(self, action: str, made: dict[str, Any]) -> None:
        name = f"mem:{len(self.names)}"
        if action == "elsewhere":
            self.perform("create", **{**made, "scope_id": OTHER})
            return
        if action == "strange":
            made |= {"object_type": "com.example.odd", "schema_id": "https://example.com/odd"}
        self.names.append(name)
        if action != "several":
            self.perform("create", **made, object_id=name, idempotency_key=name)
            return
        with self.store.group() as group:
            for number in range(3):
                given = {"scope_id": SCOPE, "actor": ACTOR, **made}
                more = {"object_id": name} if number == 0 else {}
                group.perform("create", {**given, **more})


def exported(store: Store) -> bytes:
    target = io.BytesIO()
    pamctl.export_bundle(store, target, actor=ACTOR)
    return target.getvalue()


def answers(store: Store) -> list[Any]:
    found: list[Any] = []
    for scope in store.scope_list()["items"]:
        asked = {"scope_id": scope["scope_id"], "actor": ACTOR}
        items = store.query(**asked, any_state=True)["items"]
        found += [scope, items, store.log(**asked)["items"], store.head(scope["scope_id"])]
        found += [store.history(**asked, object_id=item["object_id"]) for item in items]
    return found


def anew(folder: Path) -> Store:
    return pamctl.init_store(folder / ".pam", clock=FixedClock(), entropy=FixedEntropy())


@settings(max_examples=16, suppress_health_check=list(HealthCheck))
@given(steps, st.integers(0, 17))
def test_what_was_imported_is_exported_as_it_was(
    done: list[tuple[str, int, int]], carried_after: int
) -> None:
    """Once on the way, and once at the end: the second import goes on from the first."""
    with tempfile.TemporaryDirectory() as folder:
        origin = anew(Path(folder) / "origin")
        copy = pamctl.init_store(Path(folder) / "copy" / ".pam")
        doing = Doing(origin)
        for number, step in enumerate(done):
            doing.do(*step)
            if number == carried_after:
                pamctl.import_bundle(copy, io.BytesIO(exported(origin)))
        bundle = exported(origin)
        assert exported(origin) == bundle
        verdict = verify_bundle(lambda: io.BytesIO(bundle), _folder(folder, "scratch"))
        assert verdict["valid"], verdict["findings"]
        pamctl.import_bundle(copy, io.BytesIO(bundle))
        assert answers(copy) == answers(origin)
        late = pamctl.init_store(Path(folder) / "late" / ".pam")
        pamctl.import_bundle(late, io.BytesIO(bundle))
        assert exported(late) == bundle
        assert answers(late) == answers(origin)
        again = pamctl.import_bundle(late, io.BytesIO(bundle))
        assert {scope["action"] for scope in again["scopes"]} == {"unchanged"}
        mapped = {scope["scope_id"]: scope["scope_id"] + "-anew" for scope in again["scopes"]}
        pamctl.import_bundle(late, io.BytesIO(bundle), map_scopes=mapped)
        twice = pamctl.import_bundle(late, io.BytesIO(bundle), map_scopes=mapped)
        assert {scope["action"] for scope in twice["scopes"]} == {"unchanged"}
        for store in (origin, copy, late):
            store.close()
            found = checked(store.path)
            assert found["clean"], found["findings"]


def _folder(folder: str, name: str) -> Path:
    path = Path(folder) / name
    path.mkdir()
    return path
