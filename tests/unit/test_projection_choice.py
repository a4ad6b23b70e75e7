"""Which candidates a selection policy delivers, and where each of the others ends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pamctl.errors import InvalidRequest, PolicyDenied
from pamctl.projection.choice import Candidate, Choice, choose
from pamctl.projection.policy import parse_policy
from pamctl.projection.source import OpenedSource, SourceRefused
from tests.projections import UNVERIFIED, native


def candidate(name: str, envelope: dict[str, Any] | None = None, **labels: Any) -> Candidate:
    """A candidate of a hundred bytes; the envelope is its source."""
    source = json.dumps({"object_id": name, **(envelope or {})}).encode()
    result = native(source, **labels)
    text = f"{name} ".encode()
    return Candidate(name, source, OpenedSource(result, text + b"x" * (100 - len(text))))


def chosen(policy: dict[str, Any], *items: Candidate) -> Choice:
    """What the policy makes of candidates that its query finds, in their order."""
    selection = parse_policy(json.dumps(policy).encode())

    def facts(one: Candidate) -> dict[str, Any]:
        envelope: dict[str, Any] = json.loads(one.source)
        return envelope

    choice = choose(
        items,
        [item.name for item in items],
        selection.limits,
        facts=facts,
        unmet=lambda one, opened: selection.unmet(facts, one, opened),
        unfound=lambda one, _: selection.unfound(facts, one),
    )
    # Every candidate is in exactly one place, and the counters say the same as the fates.
    assert sorted(fate.name for fate in choice.fates) == sorted(i.name for i in items)
    for reason, count in choice.excluded.items():
        assert sum(fate.place == reason for fate in choice.fates) == count
    return choice


def names(choice: Choice) -> str:
    return " ".join(one.name for one, _ in choice.chosen)


def why(choice: Choice, name: str) -> str:
    (found,) = (fate.why for fate in choice.fates if fate.name == name)
    return found


@pytest.mark.parametrize(
    ("trust", "delivered"),
    [
        ({"derived_trust": ["self"]}, "own"),
        ({"derived_trust": ["self", "trusted"]}, "own friend"),
        ({"derived_trust": ["unverified"]}, "stranger"),
        ({"authorship": ["signed"]}, "own"),
        ({"authorship": ["attested", "unknown"]}, "friend stranger"),
        ({"custody_present": True}, "friend"),
        ({"custody_present": False}, "own stranger"),
        ({"author_key_id_b64u": ["0FMJy9O1Xzs"]}, "own friend"),
        ({"author_key_id_b64u": ["AAAAAAAAAAA"]}, ""),
        ({"derived_trust": ["trusted"], "authorship": ["signed"]}, ""),
    ],
)
def test_trust_decides_by_what_the_source_profile_found(
    trust: dict[str, Any], delivered: str
) -> None:
    items = (
        candidate("own", derived_trust="self", authorship="signed", custody_present=False),
        candidate("friend"),
        candidate("stranger", **UNVERIFIED),
    )
    choice = chosen({"trust": trust}, *items)
    assert names(choice) == delivered
    assert choice.excluded["policy_filtered"] == 3 - len(delivered.split())


def test_content_cannot_claim_trust_that_its_profile_did_not_find() -> None:
    """An envelope that says `self` of itself is still what the profile says."""
    lie = {"derived_trust": "self", "authorship": "signed", "trust": "self"}
    choice = chosen({"trust": {"derived_trust": ["self"]}}, candidate("poison", lie, **UNVERIFIED))
    assert names(choice) == ""
    assert why(choice, "poison") == "derived_trust is unverified; the policy wants self"


ANY_OR_NONE = {"at_least": 0, "missing": "accept"}


@pytest.mark.parametrize(
    ("rules", "delivered"),
    [
        ({"provenance": {"activity": ["observed"]}}, "sure unsure"),
        ({"provenance": {"source_ref_present": True}}, "sure"),
        ({"provenance": {"source_ref_present": False}}, "unsure bare"),
        ({"provenance": {"evidence_at_least": 2}}, "sure"),
        ({"provenance": {"source_confidence": {"at_least": 0.5}}}, "sure"),
        ({"provenance": {"source_confidence": {"at_most": 0.5}}}, "unsure"),
        (
            {"provenance": {"source_confidence": {"at_least": 0, "missing": "accept"}}},
            "sure unsure bare",
        ),
        ({"quality": {"staleness_score": {"at_most": 0.2}}}, "sure"),
        ({"quality": {"staleness_score": {"at_most": 0.2, "missing": "accept"}}}, "sure bare"),
        ({"quality": {"staleness_score": {"at_least": 0.1, "at_most": 0.9}}}, "sure unsure"),
        ({"quality": {"evidence_strength": {"at_least": 0}}}, ""),
    ],
)
def test_provenance_and_quality_decide(rules: dict[str, Any], delivered: str) -> None:
    sure = {
        "provenance": {
            "activity": "observed",
            "source_ref": "urn:a",
            "evidence_refs": ["urn:1", "urn:2"],
            "source_confidence": 0.9,
        },
        "quality_signals": {"staleness_score": 0.2},
    }
    unsure = {
        "provenance": {"activity": "observed", "source_confidence": 0.1},
        "quality_signals": {"staleness_score": 0.8},
    }
    items = (candidate("sure", sure), candidate("unsure", unsure), candidate("bare"))
    choice = chosen(rules, *items)
    assert names(choice) == delivered
    assert choice.excluded["policy_filtered"] == 3 - len(delivered.split())


def test_a_long_object_is_passed_over_or_ends_the_selection() -> None:
    long = candidate("long")
    assert isinstance(long.result, OpenedSource)
    long = Candidate("long", long.source, OpenedSource(long.result.native, b"y" * 150))
    items = (candidate("a"), long, candidate("b"), candidate("c"))
    limits = {"limits": {"bytes": 220}}
    skipping = chosen({**limits, "at_limit": "skip"}, *items)
    assert names(skipping) == "a b"
    assert why(skipping, "long") == "no room: it takes 150 bytes, and 120 of 220 are left"
    stopping = chosen({**limits, "at_limit": "stop"}, *items)
    assert names(stopping) == "a"
    assert why(stopping, "b") == "behind long, which did not fit; the policy stops there"
    for choice, excluded in ((skipping, 2), (stopping, 3)):
        assert choice.excluded["context_limit"] == excluded
    with pytest.raises(PolicyDenied, match="all or nothing, and long does not fit"):
        chosen({**limits, "at_limit": "refuse"}, *items)
    assert names(chosen({"limits": {"bytes": 450}, "at_limit": "refuse"}, *items)) == "a long b c"


@pytest.mark.parametrize(
    ("quota", "delivered"),
    [
        ({"by": "source_ref", "objects": 1}, "a1 b1 none1"),
        ({"by": "source_ref", "bytes": 250}, "a1 a2 b1 none1 none2"),
        ({"by": "object_type", "objects": 3}, "a1 a2 b1"),
        ({"by": "actor_id", "objects": 2}, "a1 a2"),
        ({"by": "derived_trust", "objects": 0}, ""),
        ({"by": "author_key_id_b64u", "objects": 4}, "a1 a2 b1 none1"),
    ],
)
def test_nobody_takes_more_than_their_quota(quota: dict[str, Any], delivered: str) -> None:
    sources = {
        "a1": "urn:a",
        "a2": "urn:a",
        "b1": "urn:b",
        "none1": None,
        "none2": None,
        "a3": "urn:a",
    }
    items = [
        candidate(
            name,
            {
                "object_type": "claim",
                "actor": {"actor_id": "actor:1"},
                "provenance": {} if source is None else {"source_ref": source},
            },
        )
        for name, source in sources.items()
    ]
    # Out of room by a quota is out of room for that source alone, whatever at_limit says.
    choice = chosen({"quotas": [quota], "at_limit": "refuse"}, *items)
    assert names(choice) == delivered
    assert choice.excluded["context_limit"] == 6 - len(delivered.split())


def test_all_quotas_must_leave_room() -> None:
    items = [
        candidate(name, {"provenance": {"source_ref": name[0]}}) for name in ("a1", "b1", "c1")
    ]
    quotas = [{"by": "source_ref", "objects": 1}, {"by": "derived_trust", "objects": 2}]
    assert names(chosen({"quotas": quotas}, *items)) == "a1 b1"


def test_refused_sources_are_counted_by_their_reason_whatever_the_policy_says() -> None:
    refused = [
        Candidate(reason, b"", SourceRefused(reason, "for the test"))  # type: ignore[arg-type]
        for reason in ("authentication_failed", "schema_invalid")
    ]
    policy = {"trust": {"derived_trust": ["self"]}, "limits": {"objects": 0}}
    choice = chosen(policy, *refused)
    assert choice.excluded == {
        "authentication_failed": 1,
        "schema_invalid": 1,
        "policy_filtered": 0,
        "context_limit": 0,
    }


def test_tokens_are_counted_as_the_tokenizer_counts() -> None:
    bpe = pytest.importorskip("bpe_openai", reason="the extra tokens is not installed")
    count = len(bpe.get_encoding("cl100k_base").encode_ordinary("a " + "x" * 98))
    items = [candidate("a"), candidate("b"), candidate("c")]
    policy = {"tokenizer": "cl100k_base", "limits": {"tokens": 2 * count}}
    choice = chosen(policy, *items)
    assert names(choice) == "a b"
    assert why(choice, "c") == f"no room: it takes {count} tokens, and 0 of {2 * count} are left"
    quotas = {"tokenizer": "cl100k_base", "quotas": [{"by": "schema_id", "tokens": count}]}
    assert names(chosen(quotas, *items)) == "a"


def test_what_looks_like_a_control_token_is_text() -> None:
    pytest.importorskip("bpe_openai", reason="the extra tokens is not installed")
    from pamctl.projection.tokens import counter

    assert counter("o200k_base")(b"<|endoftext|>") > 1


def test_tokens_need_a_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    with pytest.raises(InvalidRequest, match="names no tokenizer"):
        parse_policy(b'{"limits": {"tokens": 5}}')
    with pytest.raises(InvalidRequest):
        parse_policy(b'{"limits": {"tokens": 5}, "tokenizer": "words"}')
    monkeypatch.setitem(sys.modules, "bpe_openai", None)
    with pytest.raises(InvalidRequest, match="none is installed"):
        parse_policy(b'{"limits": {"tokens": 5}, "tokenizer": "o200k_base"}')
    # A tokenizer that nothing is counted with is not asked for.
    assert parse_policy(b'{"tokenizer": "o200k_base"}').limits.count_tokens is None


@pytest.mark.parametrize(
    ("policy", "envelope", "reason"),
    [
        (
            {},
            {"validation_state": "unverified"},
            "validation_state is unverified; the policy wants corroborated",
        ),
        (
            {"filters": {"any_state": True}},
            {"validation_state": "unverified"},
            "the filters of the policy do not find it",
        ),
        (
            {"filters": {"object_type": ["task", "claim"]}},
            {"object_type": "decision"},
            "object_type is decision; the policy wants task or claim",
        ),
        ({"filters": {"schema_id": "urn:x"}}, {}, "it has no schema_id; the policy wants urn:x"),
        (
            {"text": "tea"},
            {},
            "the words that the policy searches for do not find it, or its filters do not",
        ),
    ],
)
def test_a_person_is_told_why_the_query_does_not_find_it(
    policy: dict[str, Any], envelope: dict[str, Any], reason: str
) -> None:
    selection = parse_policy(json.dumps(policy).encode())
    assert selection.unfound(lambda one: envelope, candidate("x")) == reason
