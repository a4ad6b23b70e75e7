"""Random operations by several actors in several scopes, compared with a model of the draft.

Two thousand steps belong to the ordinary tests. For more:

    PAM_STATE_MACHINE_RUNS=1000 python -m pytest tests/property/test_state_machine.py

which is fifty steps a run, and looks for the shortest run that fails.
"""

from __future__ import annotations

import io
import os

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import invariant, precondition, rule

import pamctl
from pamctl.service.store import Store
from tests.property.machine.boundaries import Boundaries
from tests.property.machine.changes import Changes
from tests.property.machine.crossing import Crossing
from tests.property.machine.lending import Lending
from tests.property.machine.looks import Looks
from tests.property.machine.requests import OWNER, SCOPES, actor_object

MORE = os.environ.get("PAM_STATE_MACHINE_RUNS")
RUNS = int(MORE or 40)
STEPS_OF_A_RUN = 50

# To make a failure short takes minutes, and hundreds of runs; ordinary tests only show it.
PHASES = (Phase.generate, Phase.shrink) if MORE else (Phase.generate,)


class Memory(Changes, Looks, Boundaries, Lending, Crossing):
    """All of it, with interruptions; and at the end another store takes over what became of it."""

    def teardown(self) -> None:
        bundle = self.carried_away(self.store)
        copy = pamctl.init_store(self.folder / "copy" / ".pam", default_scope=SCOPES[0])
        pamctl.import_bundle(copy, io.BytesIO(bundle), actor=actor_object(OWNER))
        again = self.carried_away(copy)
        copy.close()
        super().teardown()
        assert again == bundle

    def carried_away(self, store: Store) -> bytes:
        bundle = io.BytesIO()
        pamctl.export_bundle(store, bundle, scope_ids=SCOPES, actor=actor_object(OWNER))
        return bundle.getvalue()

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = pamctl.open_store(self.folder / ".pam")

    @precondition(lambda self: any(scope.events for scope in self.model.values()))
    @rule()
    def lose_the_index(self) -> None:
        self.store.close()
        for file in (self.folder / ".pam" / "index").glob("*"):
            file.unlink()
        self.store = pamctl.open_store(self.folder / ".pam")

    @invariant()
    def the_ledgers_are_as_long_as_they_should_be(self) -> None:
        for scope_id, scope in self.model.items():
            assert self.store.head(scope_id)["sequence"] == len(scope.events)


Memory.TestCase.settings = settings(
    max_examples=RUNS,
    stateful_step_count=STEPS_OF_A_RUN,
    phases=PHASES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
TestMemory = Memory.TestCase
