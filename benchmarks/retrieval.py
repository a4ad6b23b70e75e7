"""Finding the turns of a conversation that answer a question: how many of them are among the
first 5, 10 and 20.

    python -m benchmarks.retrieval [DATA]

DATA is a folder with `turns.jsonl` and `questions.jsonl` (LoCoMo, reshaped; it does not come
with pamctl), by default ../shared/data/locomo. Every conversation is a scope, every turn a
memory with the content `{"speaker", "text", "turn"}`, as in examples/conversations. Every
question is asked as it stands, and evidence recall is the share of the turns named as its
evidence that come back; it is averaged over questions.

- lexical: `pamctl query --text QUESTION`.
- built-in: `pamctl query --space space:pamctl-hashed-text:1 --text QUESTION`.
- hybrid: `pamctl query --hybrid --text QUESTION`.
- model, and hybrid with it: the same in the space of examples/embedder, where the package that
  brings its weights is installed.
- BM25: the library bm25s, as it comes, over the same text in the same run. With stemming too,
  where PyStemmer is installed, because pamctl stems.

All of it is one configuration; nothing is chosen by question or by conversation.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pamctl
from pamctl.bindings import embedding
from pamctl.bindings.embedder import Embedder
from pamctl.errors import PamError
from pamctl.index.content_text import content_text
from pamctl.rules.spaces import BUILT_IN
from pamctl.service.store import Store

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data" / "locomo"
EMBEDDER = ROOT / "examples" / "embedder"
ACTOR = {"actor_id": "actor:local:bench", "actor_kind": "human"}
DEPTHS = (5, 10, 20)

Ranked = Sequence[str]
Ask = Callable[[str, str], Ranked]
"""The turns that are found for a conversation and a question, best first."""


def main(data: Path) -> None:
    """Prints the tables of README.md."""
    turns, questions = _lines(data / "turns.jsonl"), _lines(data / "questions.jsonl")
    with tempfile.TemporaryDirectory() as folder:
        store = pamctl.init_store(Path(folder) / ".pam")
        load(store, turns)
        systems: dict[str, Ask] = {}
        for stemmed in (False, True):
            ranker = bm25(turns, stemmed=stemmed)
            if ranker is not None:
                systems["bm25s, stemmed" if stemmed else "bm25s"] = ranker
        systems["lexical"] = asking(store)
        builtin(store, turns)
        systems["built-in"] = asking(store, embedding_space_id=BUILT_IN)
        systems["hybrid"] = asking(store, embedding_space_id=BUILT_IN, hybrid=True)
        space = model(store, turns)
        if space is not None:
            vectors = question_vectors(space, questions)
            systems["model"] = asking(store, space, vectors)
            systems["hybrid, model"] = asking(store, space, vectors, hybrid=True)
        report({name: recall(ask, questions) for name, ask in systems.items()})


def load(store: Store, turns: Sequence[Mapping[str, Any]]) -> None:
    """Every turn as a memory in the scope of its conversation."""
    with store.group() as group:
        for number, turn in enumerate(turns):
            request = {
                "scope_id": scope_of(turn),
                "object_type": "observation",
                "object_id": f"mem:{turn['turn_id']}",
                "canonical_content": content_of(turn),
                "observed_at": turn["session_at"],
                "actor": ACTOR,
                "provenance": {"activity": "observed", "source_ref": f"urn:turn:{number}"},
                "operation_id": f"op:{number}",
            }
            group.perform("create", request)


def scope_of(turn: Mapping[str, Any]) -> str:
    return f"conversation:{turn['conversation']}"


def content_of(turn: Mapping[str, Any]) -> dict[str, str]:
    return {"speaker": turn["speaker"], "text": turn["text"], "turn": turn["turn_id"]}


def asking(
    store: Store,
    space: str | None = None,
    vectors: Mapping[str, Sequence[float]] | None = None,
    **more: Any,
) -> Ask:
    """`pamctl query` through the Python API."""

    def ask(conversation: str, question: str) -> Ranked:
        asked: dict[str, Any] = {"text": question, **more}
        if space is not None and vectors is not None:
            asked.update(embedding_space_id=space, vector=vectors[question])
            if not more.get("hybrid"):
                del asked["text"]
        answer = store.query(
            scope_id=f"conversation:{conversation}",
            any_state=True,
            limit=max(DEPTHS),
            **asked,
        )
        return [item["canonical_content"]["turn"] for item in answer["items"]]

    return ask


def builtin(store: Store, turns: Sequence[Mapping[str, Any]]) -> None:
    """The vectors of the built-in embedder."""
    for scope_id in dict.fromkeys(map(scope_of, turns)):
        embedding.run_builtin(_in(store, scope_id), embedding.Tally(), advance=lambda _: None)


def model(store: Store, turns: Sequence[Mapping[str, Any]]) -> str | None:
    """The vectors of examples/embedder; returns their space, or None where it cannot run."""
    descriptor = json.loads((EMBEDDER / "space.json").read_bytes())
    try:
        with embedder() as program:
            program.vectors({"probe": "probe"})
            for scope_id in dict.fromkeys(map(scope_of, turns)):
                perform = _in(store, scope_id)
                perform("space_add", {"space": descriptor, "operation_id": f"op:{scope_id}"})
                embedding.run(
                    perform,
                    descriptor["embedding_space_id"],
                    program.vectors,
                    embedding.Tally(),
                    batch=500,
                    advance=lambda _: None,
                )
    except PamError as error:
        print(f"no model: {error.message}", file=sys.stderr)
        return None
    return str(descriptor["embedding_space_id"])


def embedder() -> Embedder:
    return Embedder(
        [sys.executable, str(EMBEDDER / "embedder.py")],
        patience_sec=120,
    )


def question_vectors(
    space: str, questions: Sequence[Mapping[str, Any]]
) -> dict[str, list[int | float]]:
    texts = dict.fromkeys(question["question"] for question in questions)
    with embedder() as program:
        return program.vectors({text: text for text in texts})


def bm25(turns: Sequence[Mapping[str, Any]], *, stemmed: bool) -> Ask | None:
    """bm25s with its defaults: Lucene's BM25, English stop words. None where a package is not
    installed."""
    try:
        import bm25s

        stemmer = None
        if stemmed:
            import Stemmer

            stemmer = Stemmer.Stemmer("english")
    except ImportError as missing:
        print(f"no {missing.name}", file=sys.stderr)
        return None
    indexes: dict[str, tuple[Any, list[str]]] = {}
    by_conversation: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for turn in turns:
        by_conversation[turn["conversation"]].append(turn)

    def tokens(texts: Sequence[str]) -> Any:
        return bm25s.tokenize(list(texts), stopwords="en", stemmer=stemmer, show_progress=False)

    for conversation, its in by_conversation.items():
        index = bm25s.BM25()
        index.index(tokens([content_text(content_of(t))[0] for t in its]), show_progress=False)
        indexes[conversation] = index, [turn["turn_id"] for turn in its]

    def ask(conversation: str, question: str) -> Ranked:
        index, names = indexes[conversation]
        found, scores = index.retrieve(tokens([question]), k=max(DEPTHS), show_progress=False)
        return [names[n] for n, score in zip(found[0], scores[0], strict=True) if score > 0]

    return ask


def recall(
    ask: Ask, questions: Sequence[Mapping[str, Any]]
) -> dict[str, tuple[int, tuple[float, ...]]]:
    """By category, and over all: how many questions, and the mean recall at each depth."""
    shares: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for question in questions:
        evidence = set(question["evidence_turn_ids"])
        found = ask(question["conversation"], question["question"])
        share = tuple(len(evidence & set(found[:k])) / len(evidence) for k in DEPTHS)
        shares[f"category {question['category']}"].append(share)
        shares["all"].append(share)
    return {
        name: (len(rows), tuple(sum(column) / len(rows) for column in zip(*rows, strict=True)))
        for name, rows in sorted(shares.items())
    }


def report(results: Mapping[str, Mapping[str, tuple[int, tuple[float, ...]]]]) -> None:
    """A row a system, a group of columns a category; then the same over all questions."""
    for part in next(iter(results.values())):
        count = next(iter(results.values()))[part][0]
        print(f"\n{part}, {count} questions\n")
        print("| | " + " | ".join(f"at {k}" for k in DEPTHS) + " |")
        print("|---|" + "---|" * len(DEPTHS))
        for name, table in results.items():
            print(f"| {name} | " + " | ".join(f"{share:.3f}" for share in table[part][1]) + " |")


def _in(store: Store, scope_id: str) -> embedding.Perform:
    def perform(operation: str, members: dict[str, Any]) -> Any:
        return store.perform(operation, {"scope_id": scope_id, "actor": ACTOR, **members})

    return perform


def _lines(path: Path) -> list[dict[str, Any]]:
    with path.open("rb") as lines:
        return [json.loads(line) for line in lines]


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DATA)
