"""The check of a store as commands want it: with its indexes, which an auditor does not read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pamctl.audit.check import check_store
from pamctl.audit.derived import IndexPosition, add_index
from pamctl.audit.pins import Pins
from pamctl.cli.scratch import scratch_folder
from pamctl.index.position import position_in_file
from pamctl.store.layout import StoreLayout


def checked(
    root: Path, *, scope_id: str | None = None, jobs: int = 1, pins: Pins | None = None
) -> dict[str, Any]:
    """The answer of the check, with what the indexes say of themselves held against it."""
    with scratch_folder("fsck") as scratch:
        answer = check_store(root, scratch, scope_id=scope_id, jobs=jobs, pins=pins)
    layout = StoreLayout(root)
    for scope in answer["scopes"]:
        path = layout.index_file(layout.scope(scope["scope_id"]))
        damaged = is_damaged(answer, scope["scope_id"])
        if path.is_file() and not path.is_symlink() and not damaged:
            found = position_in_file(path)
            index = None if found is None else IndexPosition(*found)
            add_index(answer, root, scope["scope_id"], f"index/{path.name}", index)
    return answer


def is_damaged(answer: Mapping[str, Any], scope_id: str) -> bool:
    """Whether something was found that makes the ledger of a scope nothing to go by."""
    return any(
        finding["severity"] == "must" and finding.get("scope_id") == scope_id
        for finding in answer["findings"]
    )
