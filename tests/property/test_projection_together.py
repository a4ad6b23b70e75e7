"""Sources that are opened together are judged as each of them alone, whatever they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pamctl.encoding.digests import sha256_digest
from pamctl.errors import InternalError
from pamctl.limits import DEPTH_MAX
from pamctl.projection.candidates import Candidates
from pamctl.projection.choice import Candidate, Limits
from pamctl.projection.materials import Materials
from pamctl.projection.produce import Projection, produce
from pamctl.projection.profiles.pam import PamProfile
from pamctl.projection.source import Opening, SourceRefused, open_all
from pamctl.projection.verify import Verifier
from tests.projections import ADAPTER, CREATED_AT_NS, EVALUATED_AT, NOW, policy
from tests.unit.test_projection_pam_profile import SALT, envelope, version
from tests.unit.test_projection_pam_trust import AUTHOR, OWNER, SNAPSHOT, STRANGER, kept, signed

PROFILE = PamProfile()


def spelled(**members: Any) -> bytes:
    """A version as orjson spells it, which is not always the canonical spelling."""
    document = {"envelope": envelope(**members), "salt": SALT}
    return orjson.dumps(document, option=orjson.OPT_SORT_KEYS)


def nested(levels: int) -> Any:
    value: Any = "deep"
    for _ in range(levels):
        value = [value]
    return value


GOOD = [
    version(),
    version(canonical_content={"tea": [4, 0.5, None, True], "ö": "\u2028"}),
    version(canonical_content=1e300),
    version(canonical_content={"\U0001f375": 1, "\uffff": 2}),
    version(object_type="urn:example:a]b=c%20d", schema_id="urn:example:s"),
    version(observed_at="2026-08-01T00:00:00+02:00"),
    version(quality_signals={"assessed_confidence": 1}),
    version(quality_signals={"assessed_confidence": 1e-7}),
    version(integrity={"digest": "x", "algorithm": "sha"}),
    version(canonical_content=nested(DEPTH_MAX - 2)),
    signed(OWNER),
    signed(AUTHOR, canonical_content="Milk first."),
    signed(STRANGER),
    kept(AUTHOR, OWNER),
]
BAD = [
    b"",
    b"{}",
    b'{"envelope":1,"salt":""}',
    b"\xff",
    version(availability_state="redacted"),
    version(recorded_at="2026-02-30T09:00:00Z"),
    version(extra=1),
    version().replace(b'"sequence":1', b'"sequence":1.0'),
    version().replace(b'"sequence":1', b'"sequence":1,"sequence":1'),
    version().replace(b",", b", ", 1),
    version() + b"\n",
    signed(OWNER).replace(b"Tea is at four.", b"Tea is at five."),
    spelled(canonical_content=1e16),
    spelled(canonical_content=[1.0]),
    spelled(canonical_content=-0.0),
    spelled(canonical_content=2**60),
    spelled(canonical_content={"\U0001f375": 1, "\uffff": 2}),
    spelled(canonical_content=nested(DEPTH_MAX - 1)),
    spelled(quality_signals={"assessed_confidence": 1.0}),
    spelled(sequence=2**53),
]
BAD.append(
    spelled(provenance={**envelope()["provenance"], "source_confidence": 1.0}),
)


def alone(source: bytes, snapshot: bytes | None) -> Any:
    try:
        return PROFILE.open(source, snapshot)
    except SourceRefused as refused:
        return refused.reason, str(refused)


def together(sources: Sequence[bytes], snapshot: bytes | None) -> list[Any]:
    found = PROFILE.open_all(sources, [sha256_digest(source) for source in sources], snapshot)
    return [(one.reason, str(one)) if isinstance(one, SourceRefused) else one for one in found]


@pytest.mark.parametrize("snapshot", [SNAPSHOT, None, b"none"])
@pytest.mark.parametrize("source", [*GOOD, *BAD])
def test_each_is_judged_as_alone(source: bytes, snapshot: bytes | None) -> None:
    expected = alone(source, snapshot)
    assert (type(expected) is tuple) is (
        source in BAD or (snapshot == b"none" and is_signed(source))
    )
    assert together([source], snapshot) == [expected]
    assert together([version(), source, version()], snapshot)[1] == expected


def is_signed(source: bytes) -> bool:
    return b"urn:pamctl:version-" in source


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A version of which a byte was changed, or a stretch taken out or doubled."""
    source = draw(st.sampled_from([*GOOD, *BAD]))
    start = draw(st.integers(0, len(source)))
    end = draw(st.integers(start, min(len(source), start + 9)))
    put = draw(st.sampled_from([b"", source[start:end] * 2, b"1.0", b"\\u0000", b"e1", b'"', b"0"]))
    return source[:start] + put + source[end:]


sources = st.lists(st.sampled_from(GOOD) | damaged(), max_size=6)


@given(sources, st.sampled_from([SNAPSHOT, None]))
@example([], SNAPSHOT)
@example(GOOD * 11, SNAPSHOT)
@example([*GOOD * 10, *BAD], SNAPSHOT)
def test_opened_together_as_one_by_one(found: list[bytes], snapshot: bytes | None) -> None:
    assert together(found, snapshot) == [alone(source, snapshot) for source in found]


class OneByOne:
    """pamctl's profile as a plug-in would be that opens one source at a time."""

    source_profile = PROFILE.source_profile
    context_frame_profile = PROFILE.context_frame_profile

    def open(self, source: bytes, trust_snapshot: bytes | None) -> Opening:
        return PROFILE.open(source, trust_snapshot)

    def labels_agree(self, fragment: bytes, labels: Any) -> bool:
        return PROFILE.labels_agree(fragment, labels)


def projected() -> Projection:
    chosen = [one for one in GOOD if isinstance(PROFILE.open(one, SNAPSHOT), tuple)]
    items = [Candidate(str(n), one, PROFILE.open(one, SNAPSHOT)) for n, one in enumerate(chosen)]  # type: ignore[arg-type]
    return produce(
        Candidates(
            PROFILE.source_profile, PROFILE.context_frame_profile, SNAPSHOT, EVALUATED_AT, items
        ),
        request=b"tea?",
        policy=b"{}",
        select=lambda: [item.name for item in items],
        limits=Limits(),
        adapter=ADAPTER,
        clock=lambda: CREATED_AT_NS,
        entropy=bytes,
    )


PROJECTION = projected()
COUNT = len(PROJECTION.sources)
pieces = st.dictionaries(
    st.integers(0, COUNT), st.none() | damaged() | st.sampled_from(PROJECTION.fragments), max_size=3
)


def with_changes(given: Sequence[bytes], changes: dict[int, bytes | None]) -> list[bytes | None]:
    changed: list[bytes | None] = [*given, None]
    for position, piece in changes.items():
        changed[position] = piece
    return changed if COUNT in changes else changed[:COUNT]


@given(pieces, pieces, st.sampled_from([SNAPSHOT, None, b"another"]), st.integers(0, COUNT + 1))
@example({}, {}, SNAPSHOT, COUNT + 1)
def test_a_verifier_finds_the_same_either_way(
    of_sources: dict[int, bytes | None],
    of_fragments: dict[int, bytes | None],
    snapshot: bytes | None,
    kept_fragments: int,
) -> None:
    materials = Materials(
        request=PROJECTION.request,
        policy=PROJECTION.policy,
        trust_snapshot=snapshot,
        projection=PROJECTION.text,
        sources=with_changes(PROJECTION.sources, of_sources),
        fragments=with_changes(PROJECTION.fragments, of_fragments)[:kept_fragments],
    )
    verdicts = [
        Verifier(policy(), at=NOW, find_profile={PROFILE.source_profile: profile}.get).verify(
            PROJECTION.record_text, materials, all_reasons=True
        )
        for profile in (PROFILE, OneByOne())
    ]
    assert verdicts[0] == verdicts[1]
    if not of_sources and not of_fragments and snapshot == SNAPSHOT:
        assert verdicts[0]["valid"] is (kept_fragments >= COUNT)


class Forgetful(OneByOne):
    def open_all(self, sources: Sequence[bytes], *_: Any) -> list[Opening]:
        return [self.open(source, SNAPSHOT) for source in sources[1:]]


def test_a_profile_answers_for_all_that_it_is_given() -> None:
    digests = [sha256_digest(source) for source in GOOD]
    with pytest.raises(InternalError, match=f"was given {len(GOOD)} objects"):
        open_all(Forgetful(), GOOD, digests, SNAPSHOT)


def test_the_order_of_what_is_told_is_that_of_the_steps() -> None:
    """Opened or not, sources come before fragments, and both by position."""
    sources = [None, *PROJECTION.sources[1:-1], BAD[4]]
    first, second, *others = PROJECTION.fragments
    fragments = [first, second + b" ", *others]
    materials = Materials(
        PROJECTION.request,
        PROJECTION.policy,
        SNAPSHOT,
        PROJECTION.text,
        sources=sources,
        fragments=fragments,
    )
    verdict = Verifier(policy(), at=NOW).verify(PROJECTION.record_text, materials, all_reasons=True)
    assert [fault["reason"] for fault in verdict["details"]["failures"]] == [
        "source_object_digest_mismatch",
        "native_source_result_mismatch",
        "fragment_digest_mismatch",
        "context_frame_profile_mismatch",
        "projection_fragment_concatenation_mismatch",
        "material_missing",
    ]
