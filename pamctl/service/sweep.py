"""Removing what was erased, once that is committed; and what a writer that died in between
did not get to. `store-format/commit-and-recovery.md`."""

from __future__ import annotations

from pathlib import Path

from pamctl.errors import ServiceUnavailable
from pamctl.service.open_scope import OpenScope
from pamctl.store.custody import packs_brought
from pamctl.store.erasure import remove, unfinished


def sweep(scope: OpenScope, quarantine: Path) -> list[str]:
    """Remove what the ledger says was erased and is still in the scope's files: version
    files and packs, what dead writers left, and the index. Returns sentences for the user.

    The caller holds the scope's lock, and the index is at the ledger's head. A writer does
    this before it acknowledges anything; nearly always there is nothing to do.
    """
    erasures, layout = scope.index.erasures, scope.layout
    if not erasures.are_due():
        return []
    due = [scope.entry(place)["body"] for place in erasures.due()]
    bodies = {body["address"]: body for body in due}
    brought, given_way = packs_brought(layout)
    replaced = {**erasures.replaced_packs(), **given_way}
    traces, addresses, packs = unfinished(layout, bodies, replaced)
    notices: list[str] = []
    if traces:
        from pamctl.store.leftovers import erase_from_leftovers

        notices = erase_from_leftovers(
            layout,
            quarantine / layout.root.name,
            traces,
            committed=erasures.addresses(),
            announced={*scope.index.packs(), *replaced, *brought},
        )
    remove(layout, bodies, addresses, packs)
    if layout.embeddings.is_dir():
        _forget_vectors(scope)
    if addresses or packs or erasures.have_remnants():
        delay = _clear_index(scope)
        if delay is not None:
            return [*notices, f"{delay}; the next command that writes clears it of what was erased"]
    scope.index.erasures.note_swept()
    return notices


def _clear_index(scope: OpenScope) -> str | None:
    """Make the index anew; why that could not be done, or not done with, None when it was.
    Nothing that was erased can be asked for by then, so it may wait."""
    try:
        cleared = scope.rebuild_index()
    except ServiceUnavailable as error:
        return error.message
    return None if cleared else "the index file cannot be cleared while others read or own it"


def _forget_vectors(scope: OpenScope) -> None:
    """Take away the vectors of versions that were erased."""
    from pamctl.store.embeddings import lock, stored_spaces

    with lock(scope.layout):
        for _, space in stored_spaces(scope.layout):
            gone = {
                object_id
                for object_id, version_id in space.held()
                if (version := scope.index.version(version_id)) is None or version.erased
            }
            if gone:
                space.take_away(gone)
