"""A bundle as W3C PROV (PROV-DM in PROV-JSON): who made what from what, for tools that read that.

    version            entity, specializationOf its object
    event              activity, wasAssociatedWith its actor
    actor              agent
    event and version  wasGeneratedBy; used the version before it
    version and actor  wasAttributedTo
    next version       wasDerivedFrom the one before, as a prov:Revision
    source, parent     wasDerivedFrom, as a prov:PrimarySource where it is the source
    evidence           used by the activity
    deletion, erasure  wasInvalidatedBy

What is withheld from the bundle is withheld here: such a version has no prov:value. Of entries
of which only the digest is disclosed nothing is said. Nothing is held but identifiers: each
section is written to a file of its own, and the sections are put together at the end.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from hashlib import sha256
from typing import IO, Any

import orjson

from pamctl.encoding.canonical import canonical
from pamctl.model.bundles import Item
from pamctl.model.vocabulary import IDENTIFIERS

_SECTIONS = (
    "entity",
    "activity",
    "agent",
    "specializationOf",
    "wasGeneratedBy",
    "used",
    "wasDerivedFrom",
    "wasAttributedTo",
    "wasAssociatedWith",
    "wasInvalidatedBy",
)
_STANDARD_PREFIXES = {
    "agent": "urn:pam:agent:",
    "pam": "urn:pam:vocabulary:",
    "ref": "urn:pam:reference:",
}
_AGENT_TYPES = {"human": "prov:Person", "organization": "prov:Organization"}
_STATED = (
    "object_type",
    "relationship_type",
    "sequence",
    "schema_id",
    "lifecycle_state",
    "availability_state",
    "retention_state",
    "validation_state",
    "observed_at",
    "asserted_at",
    "valid_from",
    "valid_until",
    "source_object_id",
    "target_object_id",
    "target_scope_id",
)
_ENDING = ("object_deleted", "object_redacted")


def write_prov(items: Iterable[Item], target: IO[bytes]) -> None:
    """Write the bundle that `items` are the lines of as one PROV-JSON document and a newline.
    The same bundle gives the same bytes."""
    with ExitStack() as stack:
        files: dict[str, IO[bytes]] = {
            name: stack.enter_context(tempfile.TemporaryFile(prefix="pamctl-prov-"))
            for name in _SECTIONS
        }
        document = _Document(files)
        for item in items:
            document.take(item)
        document.write(target)


class _Document:
    """PROV-JSON on its way: a file for each section."""

    def __init__(self, files: Mapping[str, IO[bytes]]) -> None:
        self._files = files
        self._prefixes = dict(_STANDARD_PREFIXES)
        self._stores: dict[str, str] = {}
        self._scope = ""
        self._seen: set[str] = set()
        # Of each object of the scope, the version before; and of the ledger, the event before.
        self._last: dict[str, str] = {}
        self._event: Mapping[str, Any] = {}
        self._relations = 0

    def take(self, item: Item) -> None:
        """The next line."""
        if item.kind == "header":
            self._stores = {one["scope_id"]: one["store_id"] for one in item.value["scopes"]}
        elif item.kind == "scope":
            self._scope = f"scope{len(self._prefixes) - len(_STANDARD_PREFIXES) + 1}"
            stored = self._stores.get(item.value, "")
            self._prefixes[self._scope] = f"urn:pam:scope:{stored}/{item.value}#"
            self._last = {}
        elif item.kind == "ledger":
            self._ledger(orjson.loads(item.data))
        elif item.kind == "leaf":
            self._event = {}
        elif item.kind in ("version", "stub"):
            self._version(orjson.loads(item.data), withheld=item.kind == "stub")

    def write(self, target: IO[bytes]) -> None:
        """The document."""
        target.write(b'{"prefix":' + canonical(self._prefixes))
        for name, file in self._files.items():
            file.seek(0)
            if first := file.read(1 << 20):
                target.write(b',"%b":{' % name.encode())
                # Each member has a comma before it; that of the first is not wanted.
                target.write(first[1:])
                while more := file.read(1 << 20):
                    target.write(more)
                target.write(b"}")
        target.write(b"}\n")

    def _ledger(self, entry: Mapping[str, Any]) -> None:
        self._event, body = {}, entry["body"]
        if entry["kind"] == "erasure":
            activity, version = self._own(body["event_id"]), self._own(body["version_id"])
            self._relate(
                "wasInvalidatedBy",
                {"prov:entity": version, "prov:activity": activity, "prov:time": body["erased_at"]},
                {"prov:type": _name("pam:erasure")},
            )
        if entry["kind"] != "event":
            return
        self._event = body
        activity, time = self._own(body["event_id"]), body["recorded_at"]
        facts: dict[str, Any] = {
            "prov:startTime": time,
            "prov:endTime": time,
            "prov:type": _name(f"pam:{body['event_type']}"),
            "pam:sequence": body["sequence"],
        }
        basis = body.get("payload", {}).get("policy_basis")
        if basis is not None:
            facts["pam:policy_basis"] = basis
        self._put("activity", activity, facts)
        who = {"prov:activity": activity, "prov:agent": self._agent(body["actor"])}
        acting = body["actor"].get("delegation_id")
        more = {} if acting is None else {"pam:delegation": acting}
        self._relate("wasAssociatedWith", who, more)

    def _version(self, value: Mapping[str, Any], *, withheld: bool) -> None:
        envelope = value["envelope"]
        member = next(name for name in IDENTIFIERS if name in envelope)
        identifier, version = envelope[member], self._own(envelope["version_id"])
        facts = {f"pam:{name}": envelope[name] for name in _STATED if name in envelope}
        facts["prov:type"] = _name(f"pam:{member.removesuffix('_id')}_version")
        if withheld:
            facts["pam:withheld"] = True
        elif "canonical_content" in envelope:
            content = canonical(envelope["canonical_content"]).decode()
            facts["prov:value"] = {"$": content, "type": "xsd:string"}
        self._put("entity", version, facts)
        thing = self._own(identifier)
        if thing not in self._seen:
            self._seen.add(thing)
            self._put("entity", thing, {"prov:type": _name(f"pam:{member.removesuffix('_id')}")})
        self._relate(
            "specializationOf", {"prov:specificEntity": version, "prov:generalEntity": thing}
        )
        agent = self._agent(envelope["actor"])
        self._relate("wasAttributedTo", {"prov:entity": version, "prov:agent": agent})
        self._made(version, identifier)
        self._sources(version, envelope.get("provenance", {}))
        self._last[identifier] = version

    def _made(self, version: str, identifier: str) -> None:
        """How a version came about: by the event on the line before, from the one before it."""
        before, event = self._last.get(identifier), self._event
        if "event_id" not in event:
            return
        activity = self._own(event["event_id"])
        made = {
            "prov:entity": version,
            "prov:activity": activity,
            "prov:time": event["recorded_at"],
        }
        self._relate("wasGeneratedBy", made)
        if before is None:
            return
        self._relate("used", {"prov:activity": activity, "prov:entity": before})
        derived = {
            "prov:generatedEntity": version,
            "prov:usedEntity": before,
            "prov:activity": activity,
        }
        self._relate("wasDerivedFrom", derived, {"prov:type": _name("prov:Revision")})
        if event["event_type"] in _ENDING:
            ended = {**made, "prov:entity": before}
            self._relate(
                "wasInvalidatedBy", ended, {"prov:type": _name(f"pam:{event['event_type']}")}
            )

    def _sources(self, version: str, provenance: Mapping[str, Any]) -> None:
        for name, kind in (
            ("source_ref", "prov:PrimarySource"),
            ("transformation_parent", "pam:transformation"),
        ):
            if name in provenance:
                source = self._reference(provenance[name])
                derived = {"prov:generatedEntity": version, "prov:usedEntity": source}
                self._relate("wasDerivedFrom", derived, {"prov:type": _name(kind)})
        if "event_id" in self._event:
            for text in provenance.get("evidence_refs", ()):
                activity = self._own(self._event["event_id"])
                used = {"prov:activity": activity, "prov:entity": self._reference(text)}
                self._relate("used", used, {"prov:role": _name("pam:evidence")})

    def _agent(self, actor: Mapping[str, Any]) -> str:
        name = f"agent:{actor['actor_id']}"
        if name not in self._seen:
            self._seen.add(name)
            kind = _AGENT_TYPES.get(actor["actor_kind"], "prov:SoftwareAgent")
            facts = {"prov:type": _name(kind), "pam:actor_kind": actor["actor_kind"]}
            self._put("agent", name, facts)
        return name

    def _reference(self, text: str) -> str:
        """The entity for something outside the store, of which only what it is called is known."""
        name = f"ref:{sha256(text.encode()).hexdigest()[:32]}"
        if name not in self._seen:
            self._seen.add(name)
            self._put("entity", name, {"prov:type": _name("pam:reference"), "prov:label": text})
        return name

    def _own(self, identifier: str) -> str:
        return f"{self._scope}:{identifier}"

    def _relate(
        self, section: str, ends: Mapping[str, str], more: Mapping[str, Any] | None = None
    ) -> None:
        self._relations += 1
        self._put(section, f"_:{self._relations}", {**ends, **(more or {})})

    def _put(self, section: str, name: str, value: Mapping[str, Any]) -> None:
        self._files[section].write(b"," + canonical(name) + b":" + canonical(dict(value)))


def _name(text: str) -> dict[str, str]:
    """A qualified name as the value of an attribute."""
    return {"$": text, "type": "prov:QUALIFIED_NAME"}
