"""A bundle as Markdown for people: what is in each scope now, and what happened.

Text from the store is escaped, so that it is read and does nothing: no link, no HTML, no
heading of its own. Content stands in a fence that is longer than any run in it. What is
withheld from the bundle is withheld here, and said to be. In memory is one line at a time, and
where the newest version of each object stands.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any

import orjson

from pamctl.encoding.visible_text import visible
from pamctl.model.bundles import Item
from pamctl.model.vocabulary import IDENTIFIERS

# Behind the first word of a line these mean something, and the addresses that readers of
# Markdown make links of by themselves.
_SPECIAL = re.compile(
    r"[\\`*{}\[\]<>&~|!$@#]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|:(?=//)|(?<=www)\.", re.IGNORECASE
)
_FENCE = re.compile("`{3,}")
_STATES = ("lifecycle_state", "availability_state", "retention_state", "validation_state")
_TIMES = ("observed_at", "asserted_at", "valid_from", "valid_until")
_COPY_BYTES = 1 << 20


def write_markdown(items: Iterable[Item], target: IO[bytes]) -> None:
    """Write the bundle that `items` are the lines of. The same bundle gives the same bytes."""
    with (
        tempfile.TemporaryFile(prefix="pamctl-markdown-") as versions,
        tempfile.TemporaryFile(prefix="pamctl-markdown-") as events,
    ):
        scope: _Scope | None = None
        for item in items:
            if item.kind == "header":
                target.write(_heading(item.value).encode())
            elif item.kind == "scope":
                if scope is not None:
                    scope.write(target)
                scope = _Scope(item.value, versions, events)
            elif scope is not None:
                scope.take(item)
        if scope is not None:
            scope.write(target)


class _Scope:
    """One scope: the newest version of everything in one file, events in another."""

    def __init__(self, scope_id: str, versions: IO[bytes], events: IO[bytes]) -> None:
        self._scope_id = scope_id
        self._versions = versions
        self._events = events
        for file in (versions, events):
            file.seek(0)
            file.truncate()
        self._places: dict[tuple[str, str], tuple[int, int]] = {}
        self._end = 0
        self._undisclosed = 0

    def take(self, item: Item) -> None:
        """The next line of the scope."""
        if item.kind == "leaf":
            self._undisclosed += 1
        elif item.kind == "ledger":
            entry = orjson.loads(item.data)
            if entry["kind"] == "event":
                self._events.write(_event(entry["body"]).encode())
            elif entry["kind"] == "policy":
                self._events.write(_policy(entry["body"]).encode())
        elif item.kind in ("version", "stub"):
            self._version(orjson.loads(item.data), withheld=item.kind == "stub")

    def _version(self, value: Mapping[str, Any], *, withheld: bool) -> None:
        envelope = value["envelope"]
        member = next(name for name in IDENTIFIERS if name in envelope)
        text = _thing(envelope, envelope[member], withheld=withheld).encode()
        self._versions.write(text)
        self._places[member, envelope[member]] = (self._end, len(text))
        self._end += len(text)

    def write(self, target: IO[bytes]) -> None:
        """The scope's part of the document."""
        target.write(f"\n## Scope {plain(self._scope_id)}\n".encode())
        for member, heading in (
            ("object_id", "Memories"),
            ("relationship_id", "Relationships"),
            ("delegation_id", "Delegations"),
        ):
            found = [place for (kind, _), place in self._places.items() if kind == member]
            if found:
                target.write(f"\n### {heading} ({len(found)})\n".encode())
                for start, length in found:
                    self._versions.seek(start)
                    target.write(self._versions.read(length))
        target.write(b"\n### What happened\n\n")
        if self._undisclosed:
            target.write(f"{self._undisclosed} entries are not disclosed.\n\n".encode())
        self._events.seek(0)
        for piece in _pieces(self._events):
            target.write(piece)


def plain(text: Any) -> str:
    """A text as Markdown that shows it in one line and means nothing, behind other text."""
    shown = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
    return _SPECIAL.sub(r"\\\g<0>", " ".join(visible(shown).split()))


def fenced(content: Any) -> str:
    """Content in a fence that nothing in it can close."""
    if isinstance(content, str):
        kind, text = "", content
    else:
        kind, text = "json", json.dumps(content, ensure_ascii=False, indent=2, sort_keys=True)
    runs = (len(run) for run in _FENCE.findall(text))
    fence = "`" * max(3, 1 + max(runs, default=2))
    return f"{fence}{kind}\n{visible(text)}\n{fence}\n"


def _heading(header: Mapping[str, Any]) -> str:
    lines = ["# Memory", ""]
    lines += [
        f"- {plain(scope['scope_id'])} of {plain(scope['store_id'])}: {scope['entries']} entries, "
        f"head {scope['head']}"
        for scope in header["scopes"]
    ]
    if header["withheld"]:
        lines += ["", "Something was withheld from this export."]
    return "\n".join(lines) + "\n"


def _thing(envelope: Mapping[str, Any], identifier: str, *, withheld: bool) -> str:
    lines = ["", f"#### {plain(identifier)}", ""]
    kind = envelope.get("object_type", envelope.get("relationship_type"))
    states = ", ".join(envelope[name] for name in _STATES if name in envelope)
    rows = {
        "Type": kind,
        "States": states or None,
        "Version": f"{envelope['sequence']}, {envelope['version_id']}",
        "Written": f"{envelope['committed_at']} by {envelope['actor']['actor_id']}"
        if "committed_at" in envelope
        else None,
        "From": envelope.get("source_object_id"),
        "To": envelope.get("target_object_id"),
        **{name.replace("_", " ").capitalize(): envelope.get(name) for name in _TIMES},
        **_provenance(envelope.get("provenance", {})),
    }
    lines += [f"- {name}: {plain(value)}" for name, value in rows.items() if value is not None]
    text = "\n".join(lines) + "\n"
    if withheld:
        return f"{text}\nIts content is not in this export.\n"
    if "canonical_content" in envelope:
        return f"{text}\n{fenced(envelope['canonical_content'])}"
    return text


def _provenance(provenance: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "Activity": provenance.get("activity"),
        "Source": provenance.get("source_ref"),
        "Evidence": ", ".join(provenance["evidence_refs"])
        if provenance.get("evidence_refs")
        else None,
        "Made from": provenance.get("transformation_parent"),
    }


def _event(body: Mapping[str, Any]) -> str:
    about = body.get("object_id", body.get("relationship_id", ""))
    payload = body.get("payload", {})
    parts = [f"{plain(body['event_type'].replace('_', ' '))} {plain(about)}".rstrip()]
    if "from" in payload and "to" in payload:
        parts.append(f"from {plain(payload['from'])} to {plain(payload['to'])}")
    if "policy_basis" in payload:
        parts.append(f"on the basis of {plain(payload['policy_basis'])}")
    who = plain(body["actor"]["actor_id"])
    return f"{body['sequence']}. {plain(body['recorded_at'])}, {who}: {', '.join(parts)}\n"


def _policy(body: Mapping[str, Any]) -> str:
    effect = plain(body["policy"]["default_effect"])
    who = plain(body["actor"]["actor_id"])
    return f"- {plain(body['recorded_at'])}, {who}: a policy, which by default says {effect}\n"


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(_COPY_BYTES):
        yield piece
