"""Operations of PAMSPEC §10 that look at a scope, now and as it was."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.property.machine.requests import TYPES, WORDS, actors, names, scopes
from tests.property.machine.side_by_side import SideBySide
from tests.property.model.tables import DIMENSIONS, STATES, TRUSTED


class Looks(SideBySide):
    """Random looks, whose answers and refusals are the model's."""

    @rule(
        scope_id=scopes,
        actor=actors,
        name=names,
        back=st.sampled_from((None, 0, 1, 2)),
        at=st.sampled_from((None, 0.2, 0.5, 1.0)),
    )
    def read(
        self, scope_id: str, actor: str, name: str, back: int | None, at: float | None
    ) -> None:
        arguments: dict[str, Any] = {"object_id": name}
        number = sequence = None
        if back is not None:
            number, arguments["version_id"] = self.seen(scope_id, name, back)
            number = number or 0
        elif at is not None:
            sequence = int(at * len(self.model[scope_id].events))
            arguments["at_sequence"] = sequence
        both = self.look(
            scope_id,
            actor,
            "read",
            arguments,
            lambda scope: scope.read(actor, name, number, sequence),
        )
        if both is not None:
            envelope, (version, shown) = both
            self.compare(scope_id, name, version, shown, envelope)

    @rule(scope_id=scopes, actor=actors, name=names)
    def history(self, scope_id: str, actor: str, name: str) -> None:
        both = self.look(
            scope_id,
            actor,
            "history",
            {"object_id": name},
            lambda scope: scope.history(actor, name),
        )
        if both is not None:
            answer, expected = both
            assert len(answer["items"]) == len(expected)
            for envelope, (version, shown) in zip(answer["items"], expected, strict=True):
                self.compare(scope_id, name, version, shown, envelope)

    @rule(scope_id=scopes, actor=actors)
    def log(self, scope_id: str, actor: str) -> None:
        both = self.look(scope_id, actor, "log", {}, lambda scope: scope.log(actor))
        if both is not None:
            answer, expected = both
            assert [self.told(scope_id, event) for event in answer["items"]] == [
                (event.kind, event.named, event.number) for event in expected
            ]
            sequences = [event["sequence"] for event in answer["items"]]
            assert sequences == sorted(set(sequences))

    @rule(
        scope_id=scopes,
        actor=actors,
        wanted=st.dictionaries(
            st.sampled_from(DIMENSIONS), st.integers(1, 3), min_size=0, max_size=2
        ),
        any_state=st.booleans(),
        object_type=st.sampled_from((None, None, *TYPES)),
        word=st.sampled_from((None, *WORDS)),
        at=st.sampled_from((None, None, 0.3, 0.8)),
    )
    def query(
        self,
        scope_id: str,
        actor: str,
        wanted: dict[str, int],
        any_state: bool,
        object_type: str | None,
        word: str | None,
        at: float | None,
    ) -> None:
        arguments: dict[str, Any] = {"any_state": any_state, "limit": 100}
        states: dict[str, tuple[str, ...]] = {}
        for dimension in DIMENSIONS:
            if dimension in wanted:
                states[dimension] = STATES[dimension][: wanted[dimension]]
                arguments[f"{dimension}_state"] = list(states[dimension])
            elif not any_state:
                states[dimension] = (TRUSTED[dimension],)
        if object_type is not None:
            arguments["object_type"] = [object_type]
        if word is not None:
            arguments["text"] = word
        sequence = None
        if at is not None:
            sequence = int(at * len(self.model[scope_id].events))
            arguments["as_of"] = sequence
        both = self.look(
            scope_id,
            actor,
            "query",
            arguments,
            lambda scope: scope.query(actor, states, object_type, word, sequence),
        )
        if both is not None:
            self.compare_found(scope_id, both[0]["items"], both[1], in_order=word is None)
