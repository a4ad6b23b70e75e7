"""What a record commits to, as bytes, and the checks of it. MPR §8 steps 4 to 6.

Each check yields what it finds wrong, in order, so that whoever wants the first fault pays
for no more, and whoever wants all of them gets all. A piece that is absent is noted and
reported at the end, so that an absence never hides a mismatch. Fragments are compared with
the projection where they lie in it, so the projection is hashed once and never copied.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from pamctl.encoding.digests import sha256_digest
from pamctl.encoding.strict_json import parse
from pamctl.errors import InvalidRequest
from pamctl.named_tuples import NamedTuple
from pamctl.projection.entries import Entries
from pamctl.projection.reasons import Reason, Refusal
from pamctl.projection.record import NativeResult, ReadRecord
from pamctl.projection.source import OpenedSource, Opening, SourceProfile, SourceRefused, open_all

_CHUNK_BYTES = 1 << 20
OPENED_TOGETHER = 64
"""Source objects that are held open at a time: only what is found is kept of them."""
_NATIVE = tuple(NativeResult.__annotations__)
_NATIVE_MEMBERS = frozenset(_NATIVE)
_in_native = itemgetter(*_NATIVE)


class Materials(NamedTuple):
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
            + ", ".join(_NATIVE)
        )
    return results


def material_faults(
    record: ReadRecord, materials: Materials, profile: SourceProfile | None
) -> Iterator[Refusal]:
    """What steps 4 to 6 of MPR §8 find wrong, over a record whose shape holds.

    profile: the record's source profile where it is known here.
    """
    missing: list[str] = []
    members, entries = record.members, record.entries
    yield from context_faults(members["selection_context"], materials, missing)
    digests = _digests(materials.sources[: entries.count])
    yield from _source_faults(entries, materials.sources, digests, missing)
    framed: list[bool | None] = [None] * entries.count
    if materials.native_results is None:
        yield from _opening_faults(entries, materials, digests, profile, framed, missing)
    else:
        yield from _given_faults(entries, materials.native_results, missing)
    yield from _fragment_faults(entries, materials.fragments, missing)
    framing = members["selection_context"]["context_frame_profile"]
    if profile is not None and profile.context_frame_profile == framing:
        yield from _frame_faults(entries, materials.fragments, framed, profile)
    yield from projection_faults(members["projection"], entries.count, materials, missing)
    if missing:
        yield Refusal(
            "material_missing",
            f"not there to be checked: {', '.join(missing[:3])}"
            + (f" and {len(missing) - 3} more" if len(missing) > 3 else ""),
            missing=missing[:100],
            missing_count=len(missing),
        )


def context_faults(
    context: Mapping[str, Any], materials: Materials, missing: list[str]
) -> Iterator[Refusal]:
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
            yield from _digest_faults(data, committed, reason, f"the {name}")


def _digests(pieces: Sequence[bytes | None]) -> list[str | None]:
    return [None if piece is None else sha256_digest(piece) for piece in pieces]


def _source_faults(
    entries: Entries,
    sources: Sequence[bytes | None],
    digests: Sequence[str | None],
    missing: list[str],
) -> Iterator[Refusal]:
    """Step 5, the source objects: the digest of each, as supplied."""
    if len(sources) > entries.count:
        yield Refusal(
            "source_object_digest_mismatch",
            f"there are {len(sources)} source objects for {entries.count} entries",
        )
    for position in _unlike(digests, entries.sealed_object_digest, "sources", missing):
        yield Refusal(
            "source_object_digest_mismatch",
            f"the source object at position {position} is not the one committed to",
            position=position,
        )


def _unlike(
    digests: Sequence[str | None], committed: Sequence[str], what: str, missing: list[str]
) -> Iterator[int]:
    """Positions whose piece has another digest than was committed to; of the absent ones
    it takes note."""
    if tuple(digests) == committed:
        return
    for position, digest in enumerate(committed):
        found = digests[position] if position < len(digests) else None
        if found is None:
            missing.append(f"{what}/{position}")
        elif found != digest:
            yield position


def _given_faults(
    entries: Entries, given: Sequence[NativeResult | None], missing: list[str]
) -> Iterator[Refusal]:
    """Step 5, the native results, where the relying party found them itself."""
    if len(given) > entries.count:
        yield _relabelled(entries.count, "there is a native result, but no such entry")
    if _are_as_recorded(entries, given):
        return
    for position in range(entries.count):
        if position < len(given):
            yield from _label_faults(entries, given[position], position)
        else:
            missing.append(f"native_results/{position}")


def _are_as_recorded(entries: Entries, given: Sequence[Any]) -> bool:
    """Whether the native results are the recorded ones, column by column; False where a
    closer look must tell."""
    results = [native for native in given if isinstance(native, dict)]
    if not results or len(results) != len(given) or len(given) != entries.count:
        return False
    try:
        found = dict(zip(_NATIVE, zip(*map(_in_native, results), strict=True), strict=True))
    except KeyError:
        return False
    # 1, 1.0 and True are equal in Python, and different results.
    return (
        set(map(type, found["format_version"])) == {int}
        and set(map(type, found["custody_present"])) == {bool}
        and all(column == getattr(entries, name) for name, column in found.items())
    )


def _opening_faults(
    entries: Entries,
    materials: Materials,
    digests: Sequence[str | None],
    profile: SourceProfile | None,
    framed: list[bool | None],
    missing: list[str],
) -> Iterator[Refusal]:
    """Step 5, the native results, as the source profile finds them now. Fills `framed`: of each
    source that was opened, whether the fragment at its position is what the profile frames."""
    present = [position for position, digest in enumerate(digests) if digest is not None]
    results: list[NativeResult | SourceRefused | None] = []
    for start in range(0, len(present), OPENED_TOGETHER):
        positions = present[start : start + OPENED_TOGETHER]
        for position, opened in zip(
            positions, _opened(materials, digests, positions, profile), strict=True
        ):
            if not isinstance(opened, OpenedSource):
                results.append(opened)
                continue
            results.append(opened.native)
            if position < len(materials.fragments):
                framed[position] = opened.fragment == materials.fragments[position]
    if _are_as_recorded(entries, results):
        return
    for position, result in zip(present, results, strict=True):
        if result is None:
            missing.append(f"native_results/{position}")
        elif isinstance(result, SourceRefused):
            yield _relabelled(position, f"the source profile refuses it: {result}")
        else:
            yield from _label_faults(entries, result, position)


def _opened(
    materials: Materials,
    digests: Sequence[str | None],
    positions: Sequence[int],
    profile: SourceProfile | None,
) -> list[Opening]:
    """What the profile makes of the source objects at these positions, all of which are there."""
    if profile is None:
        return [None] * len(positions)
    sources, known = materials.sources, [digests[position] or "" for position in positions]
    pieces = [sources[position] or b"" for position in positions]
    return open_all(profile, pieces, known, materials.trust_snapshot)


def _label_faults(
    entries: Entries, native: NativeResult | None, position: int
) -> Iterator[Refusal]:
    if native is None:
        yield _relabelled(position, "the source profile refuses it")
        return
    for name in _NATIVE:
        found, recorded = native.get(name), getattr(entries, name)[position]
        # 1, 1.0 and True are equal in Python, and different results.
        if type(found) is not type(recorded) or found != recorded:
            yield _relabelled(position, f"{name} is not what the source profile found", name)


def _relabelled(position: int, problem: str, member: str | None = None) -> Refusal:
    details = {} if member is None else {"member": member}
    return Refusal(
        "native_source_result_mismatch",
        f"the object at position {position}: {problem}",
        position=position,
        **details,
    )


def _fragment_faults(
    entries: Entries, fragments: Sequence[bytes | None], missing: list[str]
) -> Iterator[Refusal]:
    """Step 6, the fragments: the digest of each."""
    digests = _digests(fragments[: entries.count])
    for position in _unlike(digests, entries.context_fragment_digest, "fragments", missing):
        yield Refusal(
            "fragment_digest_mismatch",
            f"the fragment at position {position} is not the one committed to",
            position=position,
        )


def _frame_faults(
    entries: Entries,
    fragments: Sequence[bytes | None],
    framed: Sequence[bool | None],
    profile: SourceProfile,
) -> Iterator[Refusal]:
    """Step 6, the fragments: whether each is what the profile frames.

    A fragment can be signed and still carry another label or another text than its source
    object. Where the source was opened, it is framed again; else its labels are compared.
    """
    for position, (fragment, agrees) in enumerate(zip(fragments, framed, strict=False)):
        if fragment is None:
            continue
        if agrees is None:
            agrees = profile.labels_agree(fragment, entries.labels_at(position))
        if not agrees:
            yield Refusal(
                "context_frame_profile_mismatch",
                f"the fragment at position {position} is not what "
                f"{profile.context_frame_profile} makes of its source",
                position=position,
            )


def projection_faults(
    committed: Mapping[str, Any], count: int, materials: Materials, missing: list[str]
) -> Iterator[Refusal]:
    """Step 6, the whole: concatenation, length, digest, UTF-8."""
    projection, fragments = materials.projection, materials.fragments
    if projection is None:
        missing.append("projection")
        return
    if len(fragments) > count:
        yield Refusal(
            "projection_fragment_concatenation_mismatch",
            f"there are {len(fragments)} fragments for {count} entries",
        )
    elif len(fragments) == count and None not in fragments:
        parts_after = _parting(projection, fragments)
        if parts_after is not None:
            yield Refusal(
                "projection_fragment_concatenation_mismatch",
                f"the projection is not its fragments in order; they part after byte {parts_after}",
                offset=parts_after,
            )
    if len(projection) != committed["byte_length"]:
        yield Refusal(
            "projection_length_mismatch",
            f"the projection has {len(projection)} bytes, not {committed['byte_length']}",
        )
    yield from _digest_faults(
        projection, committed["digest"], "projection_digest_mismatch", "the projection"
    )
    if not _is_utf8(projection):
        yield Refusal("projection_not_utf8", "the projection is not UTF-8")


def _parting(projection: bytes, fragments: Sequence[bytes | None]) -> int | None:
    """Where the projection ceases to be its fragments in order; None where it never does."""
    offset = 0
    for fragment in fragments:
        assert fragment is not None
        if not projection.startswith(fragment, offset):
            return offset
        offset += len(fragment)
    return None if offset == len(projection) else offset


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


def _digest_faults(data: bytes, committed: str, reason: Reason, what: str) -> Iterator[Refusal]:
    found = sha256_digest(data)
    if found != committed:
        yield Refusal(reason, f"{what} is not the one committed to", found=found)
