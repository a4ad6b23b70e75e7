"""Giving a whole Embedding Space its vectors: page by page of what is pending, batch by batch.

Every batch is kept before the next is worked out, so whoever is interrupted goes on from
there. A vector is of the version whose text was embedded, whatever happens meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pamctl.errors import ObjectDeleted, ObjectRedacted

Perform = Callable[[str, dict[str, Any]], Any]
"""Carries out an operation; scope and actor are its own business."""

Embed = Callable[[Mapping[str, str]], Mapping[str, list[int | float]]]
"""The vectors of texts, by id."""

_GONE = (ObjectDeleted, ObjectRedacted)


@dataclass
class Tally:
    """How far it got.

    embedded: vectors kept. without_text: memories without any text, which get none.
    gone: memories that were redacted or deleted while their vectors were worked out.
    """

    embedded: int = 0
    without_text: int = 0
    gone: int = 0


def run(
    perform: Perform,
    space_id: str,
    embed: Embed,
    tally: Tally,
    *,
    batch: int,
    advance: Callable[[int], None],
) -> None:
    """Embed all that is missing or stale in a space. Raises what `embed` and the operations
    do; `tally` tells then what was kept."""
    cursor = None
    while True:
        asked: dict[str, Any] = {"embedding_space_id": space_id, "cursor": cursor}
        page = perform("embedding_pending", asked)
        tally.without_text += page["without_text"]
        items = page["items"]
        for start in range(0, len(items), batch):
            part = {item["object_id"]: item for item in items[start : start + batch]}
            found = embed({name: item["text"] for name, item in part.items()})
            embeddings = [
                {
                    "object_id": name,
                    "version_id": item["version_id"],
                    "embedding_space_id": space_id,
                    "vector": found[name],
                }
                for name, item in part.items()
            ]
            _keep(perform, embeddings, tally)
            advance(len(part))
        cursor = page["next_cursor"]
        if cursor is None:
            return


def run_builtin(perform: Perform, tally: Tally, *, advance: Callable[[int], None]) -> str:
    """As `run`, by the built-in embedder, in its own space, whose id this returns."""
    cursor = None
    while True:
        page = perform("embedding_generate", {"cursor": cursor})
        tally.embedded += page["embedded"]
        tally.without_text += page["without_text"]
        advance(page["embedded"])
        cursor = page["next_cursor"]
        if cursor is None:
            return str(page["embedding_space_id"])


def _keep(perform: Perform, embeddings: list[dict[str, Any]], tally: Tally) -> None:
    while embeddings:
        try:
            tally.embedded += perform("embedding_put", {"embeddings": embeddings})["embedded"]
        except _GONE as error:
            place = _place(error.details.get("pointer"), len(embeddings))
            if place is None:
                raise
            del embeddings[place]
            tally.gone += 1
        else:
            return


def _place(pointer: Any, count: int) -> int | None:
    """The number of the embedding that an error is about."""
    parts = str(pointer).split("/")
    if len(parts) > 2 and parts[1] == "embeddings" and parts[2].isdigit():
        place = int(parts[2])
        return place if place < count else None
    return None
