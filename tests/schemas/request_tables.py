"""What the operations accept as arguments."""

from __future__ import annotations

from tests.schemas.changing_tables import CHANGING
from tests.schemas.looking_tables import LOOKING
from tests.schemas.scope_tables import OF_SCOPES

REQUEST_TABLES = {
    f"requests/{operation}": table
    for operation, table in {**CHANGING, **LOOKING, **OF_SCOPES}.items()
}
