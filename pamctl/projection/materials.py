"""What a record commits to, as bytes, and the checks of it. MPR §8 steps 4 to 6.

A piece that is absent is noted and reported at the end, so that an absence never hides a
mismatch. Fragments are compared with the projection where they lie in it, so the
projection is hashed once and never copied.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pamctl.encoding.digests import sha256_digest
from pamctl.encoding.strict_json import parse
from pamctl.errors import InvalidRequest
from pamctl.projection.reasons import Reason, Refusal
from pamctl.projection.record import NativeResult
from pamctl.projection.source import OpenedSource, SourceProfile, SourceRefused

_CHUNK_BYTES = 1 << 20
_NATIVE_MEMBERS = frozenset(NativeResult.__annotations__)


@dataclass(frozen=True, slots=True)
class Materials:
    """The bytes that a full verification recomputes commitments from; None where absent.

    request, policy, trust_snapshot: what `selection_context` commits to.
    projection: the whole projection.
    sources, fragments: by position; a short sequence lacks the rest.
    native_results: by position, what the relying party's own source verification found;
        None at a position where it refused the object. Left out as a whole, the objects
        are opened by their profile, where that is possible. Results that came with the
        record prove nothing and do not belong here.
    """

    request: bytes | None = None
    policy: bytes | None = None
    trust_snapshot: bytes | None = None
    projection: bytes | None = None
    sources: Sequence[bytes | None] = ()
    fragments: Sequence[bytes | None] = ()
    native_results: Sequence[NativeResult | None] | None = None


def parse_native_results(data: bytes) -> list[NativeResult | None]:
    """What a relying party's own source verification found, as JSON: an array with an
    object of the members of NativeResult for each position, null where it refused one.
    Raises InvalidRequest."""
    results = parse(data, what="the native results")
    if not isinstance(results, list) or not all(
        result is None or (isinstance(result, dict) and result.keys() == _NATIVE_MEMBERS)
        for result in results
    ):
        raise InvalidRequest(
            "the native results are no array of null and of objects with exactly "
            + ", ".join(NativeResult.__annotations__)
        )
    return results


def check_materials(
    record: dict[str, Any], materials: Materials, profile: SourceProfile | None
) -> None:
    """Steps 4 to 6 of MPR §8 over a record whose shape and signature hold.

    profile: the record's source profile where it is known here. Raises Refusal.
    """
    missing: list[str] = []
    _check_selection_context(record["selection_context"], materials, missing)
    delivered = record["delivered"]
    _check_source_digests(delivered, materials.sources, missing)
    opened: list[OpenedSource | None] = [None] * len(delivered)
    if materials.native_results is None:
        opened = _open_sources(delivered, materials.sources, profile, missing)
    else:
        _check_given_results(delivered, materials.native_results, missing)
    framing = record["selection_context"]["context_frame_profile"]
    framed_by = profile if profile and profile.context_frame_profile == framing else None
    _check_fragments(delivered, materials.fragments, opened, framed_by, missing)
    _check_projection(record, materials, missing)
    if missing:
        raise Refusal(
            "material_missing",
            f"not there to be checked: {', '.join(missing[:3])}"
            + (f" and {len(missing) - 3} more" if len(missing) > 3 else ""),
            missing=missing[:100],
            missing_count=len(missing),
        )


def _check_selection_context(
    context: dict[str, Any], materials: Materials, missing: list[str]
) -> None:
    """Step 4: the request, the policy and the trust snapshot."""
    commitments: tuple[tuple[str, bytes | None, str, Reason], ...] = (
        (
            "request",
            materials.request,
            context["recall_request_digest"],
            "recall_request_digest_mismatch",
        ),
        (
            "policy",
            materials.policy,
            context["selection_policy_digest"],
            "selection_policy_digest_mismatch",
        ),
        (
            "trust_snapshot",
            materials.trust_snapshot,
            context["trust_snapshot_digest"],
            "trust_snapshot_digest_mismatch",
        ),
    )
    for name, data, committed, reason in commitments:
        if data is None:
            missing.append(name)
        else:
            _same_digest(data, committed, reason, f"the {name}")


def _check_source_digests(
    delivered: list[dict[str, Any]], sources: Sequence[bytes | None], missing: list[str]
) -> None:
    """Step 5, the source objects: the digest of each, as supplied."""
    if len(sources) > len(delivered):
        raise Refusal(
            "source_object_digest_mismatch",
            f"there are {len(sources)} source objects for {len(delivered)} entries",
        )
    for position, entry in enumerate(delivered):
        source = sources[position] if position < len(sources) else None
        if source is None:
            missing.append(f"sources/{position}")
        elif sha256_digest(source) != entry["object"]["sealed_object_digest"]:
            raise Refusal(
                "source_object_digest_mismatch",
                f"the source object at position {position} is not the one committed to",
                position=position,
            )


def _check_given_results(
    delivered: list[dict[str, Any]], given: Sequence[NativeResult | None], missing: list[str]
) -> None:
    """Step 5, the native results, where the relying party found them itself."""
    if len(given) > len(delivered):
        raise _relabelled(len(delivered), "there is a native result, but no such entry")
    for position, entry in enumerate(delivered):
        if position < len(given):
            _same_native_result(entry, given[position], position)
        else:
            missing.append(f"native_results/{position}")


def _open_sources(
    delivered: list[dict[str, Any]],
    sources: Sequence[bytes | None],
    profile: SourceProfile | None,
    missing: list[str],
) -> list[OpenedSource | None]:
    """Step 5, the native results, as the source profile finds them now; what was opened."""
    opened: list[OpenedSource | None] = [None] * len(delivered)
    for position, source in enumerate(sources):
        if source is None:
            continue
        try:
            result = profile.open(source) if profile else None
        except SourceRefused as refused:
            raise _relabelled(position, f"the source profile refuses it: {refused}") from None
        if result is None:
            missing.append(f"native_results/{position}")
            continue
        opened[position] = result
        _same_native_result(delivered[position], result.native, position)
    return opened


def _same_native_result(entry: dict[str, Any], native: NativeResult | None, position: int) -> None:
    if native is None:
        raise _relabelled(position, "the source profile refuses it")
    for name, recorded in (*entry["object"].items(), *entry.items()):
        if name in _NATIVE_MEMBERS:
            found = native.get(name)
            # 1, 1.0 and True are equal in Python, and different results.
            if type(found) is not type(recorded) or found != recorded:
                raise _relabelled(position, f"{name} is not what the source profile found", name)


def _relabelled(position: int, problem: str, member: str | None = None) -> Refusal:
    details = {} if member is None else {"member": member}
    return Refusal(
        "native_source_result_mismatch",
        f"the object at position {position}: {problem}",
        position=position,
        **details,
    )


def _check_fragments(
    delivered: list[dict[str, Any]],
    fragments: Sequence[bytes | None],
    opened: list[OpenedSource | None],
    framed_by: SourceProfile | None,
    missing: list[str],
) -> None:
    """Step 6, the fragments: their digests, and that they are what the profile frames.

    A fragment can be signed and still carry another label or another text than its source
    object. Where the source was opened, it is framed again; else its labels are compared.
    """
    for position, entry in enumerate(delivered):
        fragment = fragments[position] if position < len(fragments) else None
        if fragment is None:
            missing.append(f"fragments/{position}")
            continue
        if sha256_digest(fragment) != entry["context_fragment_digest"]:
            raise Refusal(
                "fragment_digest_mismatch",
                f"the fragment at position {position} is not the one committed to",
                position=position,
            )
        if framed_by is None:
            continue
        source = opened[position]
        if source is not None:
            agrees = source.fragment == fragment
        else:
            agrees = framed_by.labels_agree(fragment, entry)
        if not agrees:
            raise Refusal(
                "context_frame_profile_mismatch",
                f"the fragment at position {position} is not what "
                f"{framed_by.context_frame_profile} makes of its source",
                position=position,
            )


def _check_projection(record: dict[str, Any], materials: Materials, missing: list[str]) -> None:
    """Step 6, the whole: concatenation, length, digest, UTF-8."""
    projection = materials.projection
    if projection is None:
        missing.append("projection")
        return
    fragments = materials.fragments
    if len(fragments) > len(record["delivered"]):
        raise Refusal(
            "projection_fragment_concatenation_mismatch",
            f"there are {len(fragments)} fragments for {len(record['delivered'])} entries",
        )
    if len(fragments) == len(record["delivered"]) and None not in fragments:
        _is_concatenation(projection, fragments)
    committed = record["projection"]
    if len(projection) != committed["byte_length"]:
        raise Refusal(
            "projection_length_mismatch",
            f"the projection has {len(projection)} bytes, not {committed['byte_length']}",
        )
    _same_digest(projection, committed["digest"], "projection_digest_mismatch", "the projection")
    if not _is_utf8(projection):
        raise Refusal("projection_not_utf8", "the projection is not UTF-8")


def _is_concatenation(projection: bytes, fragments: Sequence[bytes | None]) -> None:
    offset = 0
    for fragment in fragments:
        assert fragment is not None
        if not projection.startswith(fragment, offset):
            break
        offset += len(fragment)
    else:
        if offset == len(projection):
            return
    raise Refusal(
        "projection_fragment_concatenation_mismatch",
        f"the projection is not its fragments in order; they part after byte {offset}",
        offset=offset,
    )


def _is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(data)
    try:
        for start in range(0, len(view), _CHUNK_BYTES):
            decoder.decode(view[start : start + _CHUNK_BYTES])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _same_digest(data: bytes, committed: str, reason: Reason, what: str) -> None:
    found = sha256_digest(data)
    if found != committed:
        raise Refusal(reason, f"{what} is not the one committed to", found=found)
