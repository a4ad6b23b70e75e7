"""Step 1 of MPR §7: every candidate opened by its source profile, under a trust snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import orjson

from pamctl.errors import InternalError
from pamctl.projection.choice import Candidate, Facts, Passing
from pamctl.projection.profiles import pam, pam_trust
from pamctl.projection.profiles.pam_trust import KnownKeys
from pamctl.projection.source import OpenedSource, Opening, SourceRefused, open_all
from pamctl.service.selection import ReadableVersion, ReadableVersions, readable_versions

if TYPE_CHECKING:
    from pamctl.service.store import Store
    from pamctl.store.keyring import Keyring


def no_facts(candidate: Candidate) -> Mapping[str, Any]:
    """The facts of a memory format whose objects say nothing of themselves."""
    return {}


@dataclass(frozen=True, slots=True)
class Candidates:
    """Every object that the selection may choose from, opened by its source profile.

    source_profile, context_frame_profile: the names that the record carries.
    trust_snapshot: the trust state that the objects were opened under.
    trust_evaluated_at: when, RFC 3339 in UTC.
    items: all of them at hand, or passing by while they are chosen from.
    facts: reads what an object says of itself, where a policy asks for it.
    """

    source_profile: str
    context_frame_profile: str
    trust_snapshot: bytes
    trust_evaluated_at: str
    items: Sequence[Candidate] | Passing
    facts: Facts = no_facts


class _OfAScope:
    """The candidates of a scope, opened as they pass, all under one trust snapshot. No two
    have one name: each is another row of the index, which holds no version twice."""

    def __init__(self, versions: ReadableVersions, profile: pam.PamProfile, trust: bytes) -> None:
        self._versions = versions
        self._profile = profile
        self._trust_snapshot = trust

    def __iter__(self) -> Iterator[Candidate]:
        return chain.from_iterable(map(self._opened, self._versions.groups()))

    def again(self, names: Sequence[str]) -> Iterator[Candidate]:
        return chain.from_iterable(map(self._opened, self._versions.among(names)))

    def _opened(self, versions: Sequence[ReadableVersion]) -> list[Candidate]:
        sources = [version.data for version in versions]
        addresses = [version.address for version in versions]
        results = open_all(self._profile, sources, addresses, self._trust_snapshot)
        return [
            Candidate(version_id, source, _decided(result), object_id, address)
            for (object_id, version_id, address, source), result in zip(
                versions, results, strict=True
            )
        ]


def open_candidates(
    store: Store, keyring: Keyring, *, scope_id: str, actor: Mapping[str, Any]
) -> tuple[Candidates, int]:
    """All Memory Objects of a scope that the actor may be shown and whose content can be
    read, in their versions current now; and the ledger sequence that they are read at. They
    are read and opened while they are chosen from."""
    head = store.head(scope_id)
    evaluated_at = store.sources.now()
    known = KnownKeys(keyring)
    snapshot = pam_trust.trust_snapshot(
        known.owner_key_id,
        known.accepted_key_ids,
        head["head"],
        head["sequence"],
        known.earlier_owner_key_ids,
    )
    profile = pam.PamProfile(known)
    versions = readable_versions(store, scope_id=scope_id, actor=actor, as_of=head["sequence"])
    candidates = Candidates(
        source_profile=profile.source_profile,
        context_frame_profile=profile.context_frame_profile,
        trust_snapshot=snapshot,
        trust_evaluated_at=evaluated_at,
        items=_OfAScope(versions, profile, snapshot),
        facts=_envelope,
    )
    return candidates, head["sequence"]


def _decided(result: Opening) -> OpenedSource | SourceRefused:
    """Under a trust snapshot, this profile opens every version or refuses it."""
    if result is None:
        raise InternalError("a version was neither opened nor refused")
    return result


def _envelope(candidate: Candidate) -> Mapping[str, Any]:
    envelope: dict[str, Any] = orjson.loads(candidate.source)["envelope"]
    return envelope
