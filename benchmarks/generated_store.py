"""A store of any size with realistic content, the same for the same seed.

    python -m benchmarks.generated_store FOLDER [--objects N] [--scopes N] [--seed N] [--jobs N]

N objects in so many scopes, and about 1.3 N versions: three of ten objects were changed once. Words
are made of syllables and drawn as often as words of a language are (Zipf), so that an index
of them has a few long lists and many short ones. Scopes differ in size, as they do in life:
the largest has a sixth of everything where there are twenty.

Time and randomness come from the seed too, so that two stores of one seed and one release
are the same byte for byte, whatever the number of jobs.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import accumulate, islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pamctl
from pamctl.service.store import Store

SCOPES = 20
CHANGED = 0.3
"""Of ten objects, three have a second version."""

GROUP_OBJECTS = 2000
_BEGIN = datetime(2024, 3, 1, 8, tzinfo=UTC)
_STEP_NS = 30_000_000_000
_VOCABULARY_WORDS = 20_000
_ONSETS = ("b", "br", "d", "f", "g", "gl", "h", "k", "l", "m", "n", "p", "r", "s", "st", "t", "v")
_RHYMES = ("a", "e", "i", "o", "u", "an", "el", "in", "or", "ei", "au", "ist", "en", "ung")
_TYPES = ("observation", "claim", "decision", "task", "entity", "summary", "artifact")
_TYPE_WEIGHTS = (40, 25, 8, 10, 8, 6, 3)
_ACTIVITIES = ("observed", "extracted", "summarized", "imported")
_MARKS = ("", "", "", "", " – naïvely", " 日本語", " ☕")

Request = tuple[str, dict[str, Any]]


def scope_ids(scopes: int = SCOPES) -> list[str]:
    """The scopes of a generated store, the largest first."""
    return [f"workspace:team-{number:02d}" for number in range(1, scopes + 1)]


def scope_sizes(objects: int, scopes: int = SCOPES) -> list[int]:
    """How many objects each scope has, the largest first; all of them together `objects`."""
    weights = [1 / (number + 3) for number in range(scopes)]
    bounds = [round(objects * part / sum(weights)) for part in accumulate(weights)]
    return [end - start for start, end in zip([0, *bounds], bounds, strict=False)]


def object_id(scope_number: int, number: int) -> str:
    """The id of an object of the scope with this place in `scope_ids`, both from 0."""
    return f"mem:{scope_number:02d}:{number:07d}"


def generate(
    path: Path, objects: int, *, scopes: int = SCOPES, seed: int = 1, jobs: int = 2
) -> None:
    """Make the store in the directory `path`, which must not be there."""
    first, *others = scope_ids(scopes)
    with closing(pamctl.init_store(path, default_scope=first, **_sources(seed))) as store:
        for scope_id in others:
            store.scope_create(scope_id=scope_id, actor=_actor(0))
    sizes = scope_sizes(objects, scopes)
    tasks = [(path, number, sizes[number], scopes, seed) for number in range(scopes)]
    if jobs == 1 or objects < GROUP_OBJECTS:
        for task in tasks:
            _fill(*task)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for done in [pool.submit(_fill, *task) for task in tasks]:
            done.result()


def creates(number: int, objects: int, *, scopes: int = SCOPES, seed: int = 1) -> Iterator[Request]:
    """The keyed creates that fill a scope, as operations and arguments."""
    chance = random.Random(f"{seed} {number}")
    words = _Words(random.Random(seed), chance)
    scope_id = scope_ids(scopes)[number]
    for serial in range(objects):
        observed = (_BEGIN + timedelta(seconds=30 * serial)).strftime("%Y-%m-%dT%H:%M:%SZ")
        yield (
            "create",
            {
                "scope_id": scope_id,
                "object_type": chance.choices(_TYPES, _TYPE_WEIGHTS)[0],
                "object_id": object_id(number, serial),
                "canonical_content": _content(chance, words, serial),
                "actor": _actor(chance.randrange(5)),
                "provenance": {
                    "activity": chance.choice(_ACTIVITIES),
                    "source_ref": f"urn:conversation:{number}:{serial // 40}#{serial % 40}",
                    "observed_at": observed,
                    "source_confidence": round(chance.uniform(0.5, 1), 2),
                },
                "observed_at": observed,
                "validation_state": chance.choices(("unverified", "corroborated"), (3, 1))[0],
                "idempotency_key": f"import:{number}:{serial}",
            },
        )


def _fill(path: Path, number: int, objects: int, scopes: int, seed: int) -> None:
    """Write a scope: groups of creates, each followed by changes to what is there by then."""
    chance = random.Random(f"{seed} {number} changes")
    words = _Words(random.Random(seed), chance)
    requests = creates(number, objects, scopes=scopes, seed=seed)
    unchanged: list[tuple[str, str]] = []
    changes_due = 0.0
    with closing(pamctl.open_store(path, **_sources(f"{seed} {number}", hours=1))) as store:
        while group := list(islice(requests, GROUP_OBJECTS)):
            unchanged += _create(store, group)
            changes_due += len(group) * CHANGED
            chance.shuffle(unchanged)
            chosen, unchanged = unchanged[: int(changes_due)], unchanged[int(changes_due) :]
            changes_due -= len(chosen)
            # Whoever was not chosen may be later; memory stays bounded all the same.
            del unchanged[4 * GROUP_OBJECTS :]
            _change(store, scope_ids(scopes)[number], chosen, chance, words)


def _create(store: Store, group: list[Request]) -> list[tuple[str, str]]:
    with store.group() as writing:
        writing.foresee(arguments for _, arguments in group)
        made = [writing.perform(operation, arguments) for operation, arguments in group]
    return [(result["object_id"], result["version_id"]) for result in made]


def _change(
    store: Store,
    scope_id: str,
    chosen: list[tuple[str, str]],
    chance: random.Random,
    words: _Words,
) -> None:
    with store.group() as writing:
        for identifier, version_id in chosen:
            request: dict[str, Any] = {
                "scope_id": scope_id,
                "object_id": identifier,
                "expected_version_id": version_id,
                "actor": _actor(chance.randrange(5)),
            }
            if chance.random() < 0.8:
                request["provenance"] = {"activity": "corrected"}
                request["merge_patch"] = {"text": words.sentence(chance.randint(6, 40))}
                writing.perform("update", request)
            else:
                request |= {"dimension": "lifecycle", "target_state": "archived"}
                writing.perform("transition", request)


class _Words:
    """Words of a made-up language, some of them far more often than others."""

    def __init__(self, making: random.Random, chance: random.Random) -> None:
        found: dict[str, None] = {}
        while len(found) < _VOCABULARY_WORDS:
            syllables = making.choices((1, 2, 3), (1, 5, 4))[0]
            parts = (making.choice(_ONSETS) + making.choice(_RHYMES) for _ in range(syllables))
            found["".join(parts)] = None
        self._words = list(found)
        weights = (1 / (rank + 2.7) for rank in range(_VOCABULARY_WORDS))
        self._weights = list(accumulate(weights))
        self._chance = chance

    def sentence(self, length: int) -> str:
        """So many words, and now and then what is not of the Latin alphabet."""
        drawn = self._chance.choices(self._words, cum_weights=self._weights, k=length)
        return " ".join(drawn) + self._chance.choice(_MARKS)


def _content(chance: random.Random, words: _Words, serial: int) -> dict[str, Any]:
    """What a memory holds: mostly the turn of a conversation, sometimes a long note."""
    length = chance.randint(120, 300) if chance.random() < 0.02 else chance.randint(6, 40)
    content: dict[str, Any] = {"text": words.sentence(length)}
    if chance.random() < 0.6:
        content["speaker"] = words.sentence(1)
    if chance.random() < 0.3:
        content["topics"] = [words.sentence(1) for _ in range(chance.randint(1, 4))]
    if chance.random() < 0.2:
        content |= {"turn": serial, "weight": round(chance.random(), 3)}
    return content


def _actor(number: int) -> dict[str, str]:
    kinds = ("human", "agent")
    return {"actor_id": f"actor:local:member-{number}", "actor_kind": kinds[number % 2]}


def _sources(seed: int | str, *, hours: int = 0) -> dict[str, Any]:
    """A clock that starts so many hours late and goes on by half a minute with each look, and
    randomness from a seed."""
    chance = random.Random(f"{seed} sources")
    start = int((_BEGIN + timedelta(hours=hours)).timestamp())
    ticks = iter(range(start * 10**9, 2**62, _STEP_NS))
    return {"clock": lambda: next(ticks), "entropy": chance.randbytes}


def main() -> None:
    parser = argparse.ArgumentParser(description="Make a store of a given size.")
    parser.add_argument("folder", type=Path, help="where `.pam` is made")
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--scopes", type=int, default=SCOPES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    generate(
        given.folder / ".pam",
        given.objects,
        scopes=given.scopes,
        seed=given.seed,
        jobs=given.jobs,
    )


if __name__ == "__main__":
    main()
