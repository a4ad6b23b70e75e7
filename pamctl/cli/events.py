"""How events look in a table."""

from __future__ import annotations

from pamctl.cli.presentation import Column, moment

EVENT_COLUMNS = (
    Column("SEQUENCE", lambda event: str(event["sequence"]), whole=True),
    Column("RECORDED", lambda event: moment(event["recorded_at"]), whole=True),
    Column("EVENT", lambda event: str(event["event_type"])),
    Column("OBJECT", lambda event: str(event.get("object_id", "-"))),
    Column("ACTOR", lambda event: str(event["actor"]["actor_id"])),
)
