"""Small facts about envelopes, and the rules on them that no schema can state."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pamctl.encoding.timestamps import instant
from pamctl.errors import PolicyDenied
from pamctl.limits import IDENTIFIER_CHARS_MAX
from pamctl.model.vocabulary import STANDARD_OBJECT_TYPES

DEFAULT_RETRIEVAL: Mapping[str, str] = {
    "lifecycle_state": "active",
    "availability_state": "available",
    "retention_state": "retained",
    "validation_state": "corroborated",
}
"""What a query that names no states retrieves. PAMSPEC §11."""

_EXTENSION_TYPE = (
    r"(?:[a-z0-9]+(?:\.[a-z0-9-]+)+\.[a-z][a-z0-9-]*"
    r"|[a-z][a-z0-9+.-]*:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+)\Z"
)


def is_extension_type(object_type: object) -> bool:
    """Whether this is the name of an extension type: a reverse-domain name of at least
    three labels, or an absolute URI. PAMSPEC §8.2."""
    return (
        isinstance(object_type, str)
        and object_type not in STANDARD_OBJECT_TYPES
        and len(object_type) <= IDENTIFIER_CHARS_MAX
        and re.match(_EXTENSION_TYPE, object_type) is not None
    )


def tombstone_content() -> dict[str, bool]:
    """What stands for the content of an object that was deleted or redacted. PAMSPEC §9.6."""
    return {"tombstone": True}


def semantic_checks(envelope: Mapping[str, Any]) -> None:
    """Refuse what a well-formed envelope, of whatever family, must not say.

    Raises PolicyDenied, with the rule as policy_rule_id: `attestation_window_inverted` for
    an attestation of any actor in it that ends before it begins (PAMSPEC §8.1), and
    `delegation_window_inverted` for such a grant (§18.2).
    """
    check_attestation(envelope["actor"])
    check_attestation(envelope["provenance"].get("actor", {}), at="/provenance/actor")
    if "delegation_id" in envelope:
        check_attestation(envelope["granting_actor"], at="/granting_actor")
        check_attestation(envelope["delegated_actor"], at="/delegated_actor")
        _check_window(envelope, "", "delegation_window_inverted")


def check_attestation(actor: Mapping[str, Any], *, at: str = "/actor") -> None:
    """Refuse an actor whose attestation ends before it begins. `at` is where it stands.
    Raises PolicyDenied."""
    attestation = actor.get("attestation")
    if attestation is not None:
        _check_window(attestation, f"{at}/attestation", "attestation_window_inverted")


def _check_window(window: Mapping[str, Any], at: str, rule: str) -> None:
    not_before, not_after = window.get("not_before"), window.get("not_after")
    if not_before is None or not_after is None or instant(not_before) <= instant(not_after):
        return
    raise PolicyDenied(
        f"{at}/not_after is {not_after}, before not_before, which is {not_before}",
        policy_rule_id=rule,
        pointer=f"{at}/not_after",
    )
