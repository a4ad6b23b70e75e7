"""Holds what ledgers say against what is there, one part of the facts at a time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pamctl.audit.facts import ADDRESS, OBJECT, Facts, Group, gathered
from pamctl.audit.findings import Findings
from pamctl.audit.transitions import DELETED, EARLIER_NOT_GIVEN, PROMOTION, illegal_step

# Places of what `versions._described` gives.
_IDENT, _VERSION_ID, _NUMBER, _STATES, _SCOPE, _ACTOR, _RECORDED, _ENDS = range(8)


def compare_addresses(
    scratch: Path,
    part: int,
    facts: Facts,
    findings: Findings,
    *,
    scopes: Mapping[str, str],
    complete: Mapping[str, int],
    folders: Mapping[str, str],
    brought: Mapping[str, int],
) -> None:
    """Versions that are named with those that are there.

    scopes: scope ids by folder. complete: by folder, how many entries stand in complete
    transactions; what later ones name was not committed. folders: folders by scope id.
    brought: by folder, the last entry that an import brought; up to there versions may have
    come without their content.
    """
    for folder, address, group in gathered(scratch, ADDRESS, part):
        _Address(folder, scopes[folder], address, group, findings, facts, folders).compare(
            complete[folder], brought.get(folder, 0)
        )


class _Address:
    """Everything about one address."""

    def __init__(
        self,
        folder: str,
        scope_id: str,
        address: str,
        group: Group,
        findings: Findings,
        facts: Facts,
        folders: Mapping[str, str],
    ) -> None:
        self._folder = folder
        self._scope_id = scope_id
        self._address = address
        self._group = group
        self._findings = findings
        self._facts = facts
        self._folders = folders

    def compare(self, complete: int, brought: int) -> None:
        group = self._group
        named = group.get("committed", [])
        committed = sorted(values for values in named if values[0] <= complete)
        erasures = [values for values in group.get("erasure", []) if values[0] <= complete]
        versions, stubs = group.get("version", []), group.get("stub", [])
        withheld = group.get("withheld", [])
        damaged = "damaged" in group
        if not committed:
            if not named and "named" not in group:
                self._orphans(versions, [*stubs, *withheld])
            return
        for again in committed[1:]:
            self._report("version-committed-twice", "two entries commit this version", again[1])
        if not (versions or stubs or withheld or damaged or erasures):
            self._report("version-missing", "the version is nowhere", committed[0][1])
        if erasures:
            for place, offset, *_ in versions:
                self._found("erasure-incomplete", "the version was erased", place, offset)
            self._stubs(stubs, erasures[0])
        elif stubs:
            for place, offset, *_ in stubs:
                if versions:
                    self._found("version-orphaned", "a stub beside its version", place, offset)
                elif not damaged:
                    self._found(
                        "erasure-without-authority", "nothing permits this stub", place, offset
                    )
        for place, offset, *_ in withheld:
            if versions:
                self._found("version-orphaned", "a stub beside its version", place, offset)
            elif committed[0][0] > brought:
                message = "no import brought this version without its content"
                self._found("withheld-without-custody", message, place, offset)
        described = versions[0][2:] if versions else None
        if described is not None:
            self._mismatch(committed[0], described)
        elif withheld:
            described = withheld[0][2]
            self._mismatch(committed[0], described)
        elif stubs and stubs[0][5] is not None:
            described = stubs[0][5]
        self._pass_on(committed[0], described)

    def _orphans(self, versions: list[Any], stubs: list[Any]) -> None:
        for place, offset, *described in versions:
            self._facts.put(
                OBJECT, self._folder, described[_VERSION_ID], "orphan", self._address, place, offset
            )
        for place, offset, *_ in stubs:
            self._found("version-orphaned", "no entry names this stub", place, offset)

    def _stubs(self, stubs: list[Any], erasure: list[Any]) -> None:
        _, _, event_id, erased_at, version_id, digest = erasure
        for place, offset, erased, at, stub_digest, described in stubs:
            wrong = (
                erased != [self._address, event_id]
                or at != erased_at
                or (digest is not None and digest != stub_digest)
                or (version_id is not None and described[_VERSION_ID] != version_id)
            )
            if wrong:
                self._found("stub-mismatch", "the stub is not what its entry says", place, offset)

    def _mismatch(self, committed: list[Any], described: list[Any]) -> None:
        _, offset, _, _, ident, version_id, actor, recorded_at, *_ = committed
        pairs = (
            ("object", ident, described[_IDENT]),
            ("version_id", version_id, described[_VERSION_ID]),
            ("scope", self._scope_id, described[_SCOPE]),
            ("actor", actor, described[_ACTOR]),
            ("recorded_at", recorded_at, described[_RECORDED]),
        )
        wrong = [name for name, said, is_ in pairs if said != is_]
        if wrong:
            self._report(
                "event-version-mismatch",
                f"the event and its version disagree on {', '.join(wrong)}",
                offset,
            )

    def _pass_on(self, committed: list[Any], described: list[Any] | None) -> None:
        """What there is to say of this version as one of its object's."""
        n, offset, sequence, _, ident, version_id, _, _, condition, tx = committed
        put = self._facts.put
        number = states = None
        if described is not None:
            number, states = described[_NUMBER], described[_STATES]
            version_id = described[_VERSION_ID]
            for scope_id, end in described[_ENDS] or ():
                folder = self._folders.get(scope_id)
                if folder is not None:
                    put(OBJECT, folder, end, "end", self._folder, ident, offset)
        if ident is not None:
            put(
                OBJECT,
                self._folder,
                ident,
                "version",
                sequence,
                n,
                number,
                states,
                condition,
                offset,
                tx,
            )
        if version_id is not None:
            put(OBJECT, self._folder, version_id, "id", self._address, offset)

    def _report(self, id_: str, message: str, offset: int) -> None:
        self._findings.add(
            id_,
            message,
            scope_id=self._scope_id,
            path=f"scopes/{self._folder}/ledger.jsonl",
            offset=offset,
            subject=self._address,
        )

    def _found(self, id_: str, message: str, place: str, offset: int | None) -> None:
        self._findings.add(
            id_,
            message,
            scope_id=self._scope_id,
            path=place,
            offset=offset,
            subject=self._address,
        )


def compare_objects(
    scratch: Path, part: int, findings: Findings, *, scopes: Mapping[str, str]
) -> None:
    """The versions of each object with one another, and what relationships say is there."""
    for folder, key, group in gathered(scratch, OBJECT, part):
        where = {"scope_id": scopes[folder], "path": f"scopes/{folder}/ledger.jsonl"}
        if "version" in group:
            versions = sorted(group["version"], key=lambda one: one[1])
            promotions = {tx for (tx,) in group.get("promoted", [])}
            _lineage(versions, promotions, findings, key, where)
        elif "end" in group:
            for source, relationship, offset in group["end"]:
                findings.add(
                    "relationship-dangling",
                    f"an end of {relationship} is no object of its scope",
                    scope_id=scopes[source],
                    path=f"scopes/{source}/ledger.jsonl",
                    offset=offset,
                    subject=key,
                )
        for place, offset in group.get("vector", []):
            if "id" not in group:
                findings.add(
                    "embedding-orphaned",
                    "the vector is of no version of the scope",
                    scope_id=scopes[folder],
                    path=place,
                    offset=offset,
                    subject=key,
                )
        addresses = dict(group.get("id", []))
        for address in list(addresses)[1:]:
            findings.add(
                "version-id-reused",
                f"a second version has the id {key}",
                **where,
                offset=addresses[address],
                subject=address,
            )
        if "bare" not in group:
            for address, place, offset in group.get("orphan", []):
                findings.add(
                    "version-orphaned",
                    "no entry names this version",
                    scope_id=scopes[folder],
                    path=place,
                    offset=offset,
                    subject=address,
                )


def _lineage(
    versions: list[list[Any]],
    promotions: set[int],
    findings: Findings,
    ident: str,
    where: Mapping[str, str],
) -> None:
    """An object's versions in the order of their entries. Nothing is said of the step to and
    from one that is not there to be looked at."""
    before: list[Any] | None = None
    expected = 1
    for _, _, number, states, condition, offset, tx in versions:
        if number is None:
            before = None
            expected += 1
            continue
        if number != expected and not (expected == 1 and condition == EARLIER_NOT_GIVEN):
            findings.add(
                "version-sequence-gap",
                f"the version has number {number}; by the ledger it should be {expected}",
                **where,
                offset=offset,
                subject=ident,
            )
        expected = number + 1
        if before is not None and before[DELETED] == "deleted":
            findings.add(
                "tombstone-followed",
                "a version follows the object's tombstone",
                **where,
                offset=offset,
                subject=ident,
            )
        elif before is not None:
            wrong = illegal_step(before, states, PROMOTION if tx in promotions else condition)
            if wrong is not None:
                findings.add("transition-illegal", wrong, **where, offset=offset, subject=ident)
        before = states
