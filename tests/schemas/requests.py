"""What the requests of several operations have in common, and what is wrong with them."""

from __future__ import annotations

from pamctl.limits import IDEMPOTENCY_KEY_CHARS_MAX
from tests.schemas.tables import MISSING, Fault, merged

HERE = {"scope_id": "workspace:garden"}

ROSE = merged(HERE, {"object_id": "mem:rose"})

KEYED = {"operation_id": "op:1", "idempotency_key": "k" * IDEMPOTENCY_KEY_CHARS_MAX}

WRITING_FAULTS = [
    Fault("/scope_id", MISSING),
    Fault("/scope_id", "garden"),
    Fault("/actor", MISSING),
    Fault("/actor/actor_id", MISSING, code="invalid_object"),
    Fault("/actor", "actor:local:user", code="invalid_object"),
    Fault("/operation_id", 4),
    Fault("/idempotency_key", ""),
    Fault("/idempotency_key", "k" * (IDEMPOTENCY_KEY_CHARS_MAX + 1)),
    Fault("/scope", "workspace:garden"),
]
