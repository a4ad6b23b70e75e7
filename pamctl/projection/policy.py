"""The selection policy: the document that decides what a projection holds.

`schemas/selection-policy.schema.json` is its form, `docs/selection-policy.md` says what each
member does. Its exact bytes are committed to before anything is selected (MPR §4.2, §7
step 2), so they are kept as they came.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pamctl.encoding.canonical import canonical
from pamctl.encoding.strict_json import parse
from pamctl.errors import InvalidRequest
from pamctl.model.documents import check
from pamctl.model.envelopes import DEFAULT_RETRIEVAL
from pamctl.projection import tokens
from pamctl.projection.choice import Candidate, Facts, Limits, Quota
from pamctl.projection.source import OpenedSource

THE_REQUEST = "request"
"""As `text`: search for the words of the recall request."""

_TRUST = ("derived_trust", "authorship", "author_key_id_b64u")
_FILTERED_MEMBERS = ("object_type", "schema_id")


@dataclass(frozen=True, slots=True)
class SelectionPolicy:
    """A selection policy that was read from its bytes.

    document: what it says. limits: its bounds, tokenizer and quotas.
    """

    document: Mapping[str, Any]
    limits: Limits

    def query(self, request: bytes) -> dict[str, Any]:
        """The arguments of the query that finds the eligible objects, in order.

        Raises InvalidRequest when the request is to be searched for and is not UTF-8.
        """
        arguments = dict(self.document.get("filters", {}))
        if "order_by" in self.document:
            arguments["order_by"] = self.document["order_by"]
        text = self.document.get("text")
        if text == THE_REQUEST:
            try:
                arguments["text"] = request.decode("utf-8")
            except UnicodeDecodeError as cause:
                raise InvalidRequest(
                    "the policy searches for the words of the request, which is not UTF-8"
                ) from cause
        elif text is not None:
            arguments["text"] = text
        return arguments

    def unmet(self, facts: Facts, candidate: Candidate, opened: OpenedSource) -> str | None:
        """Which of the rules on trust, provenance and quality an object does not meet."""
        document = self.document
        if "trust" in document:
            missed = _untrusted(document["trust"], opened.native)
            if missed is not None:
                return missed
        if "provenance" not in document and "quality" not in document:
            return None
        envelope = facts(candidate)
        missed = _unproven(document.get("provenance", {}), envelope.get("provenance", {}))
        signals = envelope.get("quality_signals", {})
        for name, bounds in document.get("quality", {}).items():
            missed = missed or _out_of_bounds(name, signals.get(name), bounds)
        return missed

    def unfound(self, facts: Facts, candidate: Candidate) -> str:
        """Why the policy's query does not find an object, as far as its envelope tells."""
        filters, envelope = self.document.get("filters", {}), facts(candidate)
        for name, default in DEFAULT_RETRIEVAL.items():
            wanted = filters.get(name, None if filters.get("any_state") else default)
            if wanted is not None and name in envelope and envelope[name] not in _listed(wanted):
                return f"{name} is {envelope[name]}; the policy wants {_spoken(wanted)}"
        for name in _FILTERED_MEMBERS:
            wanted = filters.get(name)
            if wanted is not None and envelope.get(name) not in _listed(wanted):
                has = f"{name} is {envelope[name]}" if name in envelope else f"it has no {name}"
                return f"{has}; the policy wants {_spoken(wanted)}"
        if "text" in self.document:
            return "the words that the policy searches for do not find it, or its filters do not"
        return "the filters of the policy do not find it"


def parse_policy(data: bytes, *, what: str = "the selection policy") -> SelectionPolicy:
    """The policy that `data` spells. Raises InvalidRequest for what its schema refuses, for
    an unknown tokenizer, and for a bound of tokens without one."""
    document = parse(data, what=what)
    check("selection-policy", document)
    return SelectionPolicy(document, _limits(document))


def _limits(document: Mapping[str, Any]) -> Limits:
    bounds, quotas = document.get("limits", {}), document.get("quotas", ())
    wanted = any("tokens" in some for some in (bounds, *quotas))
    if wanted and "tokenizer" not in document:
        raise InvalidRequest(
            "the selection policy limits tokens and names no tokenizer",
            hint=f"add a tokenizer, one of {', '.join(tokens.TOKENIZERS)}",
            pointer="/tokenizer",
        )
    return Limits(
        **bounds,
        count_tokens=tokens.counter(document["tokenizer"]) if wanted else None,
        quotas=tuple(_quota(**quota) for quota in quotas),
        at_limit=document.get("at_limit", "skip"),
    )


def _quota(by: str, **bounds: int) -> Quota:
    def key(envelope: Mapping[str, Any], opened: OpenedSource) -> Any:
        if by in _TRUST:
            return opened.native[by]  # type: ignore[literal-required]
        if by == "source_ref":
            return envelope.get("provenance", {}).get(by)
        if by == "actor_id":
            return envelope.get("actor", {}).get(by)
        return envelope.get(by)

    return Quota(by, key, **bounds)


def merge_policy(data: bytes, additions: Mapping[str, Any]) -> bytes:
    """A policy with members of another laid over it: `filters`, `limits` and `trust` by
    name, the others as a whole. Canonical bytes; the bytes as they came when nothing is
    added. Raises InvalidRequest for what the schema refuses."""
    if not additions:
        return data
    document = parse(data, what="the selection policy")
    check("selection-policy", document)
    for name, value in additions.items():
        if isinstance(value, Mapping):
            value = {**document.get(name, {}), **value}
        document[name] = value
    return canonical(document)


def _untrusted(wanted: Mapping[str, Any], native: Mapping[str, Any]) -> str | None:
    for name in _TRUST:
        if name in wanted and native[name] not in wanted[name]:
            return f"{name} is {native[name]}; the policy wants {_spoken(wanted[name])}"
    if "custody_present" in wanted and native["custody_present"] is not wanted["custody_present"]:
        return f"custody_present is {str(native['custody_present']).lower()}"
    return None


def _unproven(wanted: Mapping[str, Any], provenance: Mapping[str, Any]) -> str | None:
    if "activity" in wanted and provenance.get("activity") not in wanted["activity"]:
        return f"its activity is {provenance.get('activity')}"
    if "source_ref_present" in wanted and (
        ("source_ref" in provenance) is not wanted["source_ref_present"]
    ):
        return "it names a source" if "source_ref" in provenance else "it names no source"
    evidence = len(provenance.get("evidence_refs", ()))
    if evidence < wanted.get("evidence_at_least", 0):
        return f"it names {evidence} pieces of evidence"
    if "source_confidence" in wanted:
        found = provenance.get("source_confidence")
        return _out_of_bounds("source_confidence", found, wanted["source_confidence"])
    return None


def _out_of_bounds(name: str, found: float | None, bounds: Mapping[str, Any]) -> str | None:
    if found is None:
        return None if bounds.get("missing") == "accept" else f"it has no {name}"
    if found < bounds.get("at_least", 0):
        return f"{name} is {found}, below {bounds['at_least']}"
    if found > bounds.get("at_most", 1):
        return f"{name} is {found}, above {bounds['at_most']}"
    return None


def _listed(value: Any) -> list[Any]:
    return [value] if isinstance(value, str) else list(value)


def _spoken(wanted: Any) -> str:
    return " or ".join(str(value) for value in _listed(wanted))
