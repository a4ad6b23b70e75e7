"""`--verify` of `read` and `history`: what the signatures of versions are worth here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pamctl.cli.terminal.presentation import Column

if TYPE_CHECKING:
    from pamctl.cli.invocation import Invocation

Verify = Annotated[
    bool,
    typer.Option(
        "--verify",
        help="Check the signature, and say what it is worth under the store's keyring: answers"
        " 'envelope' and 'verification'.",
    ),
]


def verified(call: Invocation, envelopes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each envelope with the judgement on its signature."""
    from pamctl.projection.profiles.pam_trust import KnownKeys
    from pamctl.projection.version_trust import version_trust
    from pamctl.store.keyring import Keyring

    known = KnownKeys(Keyring(call.store.layout.keys))
    return [
        {"envelope": envelope, "verification": version_trust(known, envelope)}
        for envelope in envelopes
    ]


def card(pair: Mapping[str, Any]) -> dict[str, str]:
    """The judgement as lines for people."""
    found = pair["verification"]
    rows = {"signature": found["signature"], "trust": found["derived_trust"]}
    named = ("authorship", "key_id", "custodian_key_id", "original", "problem")
    return rows | {name.replace("_", " "): found[name] for name in named if found[name]}


COLUMNS = (
    Column("N", lambda pair: str(pair["envelope"]["sequence"]), whole=True),
    Column("VERSION", lambda pair: str(pair["envelope"]["version_id"])),
    Column("ACTOR", lambda pair: str(pair["envelope"]["actor"]["actor_id"])),
    Column("SIGNATURE", lambda pair: str(pair["verification"]["signature"])),
    Column("TRUST", lambda pair: str(pair["verification"]["derived_trust"])),
    Column("KEY", lambda pair: str(pair["verification"]["key_id"] or "-")),
)
