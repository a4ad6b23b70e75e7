"""Every byte of a record and of its material, flipped once: each flip is refused, or proven to
be white space between the tokens of the record's own JSON, where it says the same.

The short form takes a few seconds; `--thorough` flips every byte to every other value.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from pamctl.encoding import base64url
from pamctl.encoding.canonical import canonical
from pamctl.projection.materials import Materials
from pamctl.projection.reasons import REASONS
from pamctl.projection.trust import parse_trust_policy
from pamctl.projection.verify import Verifier
from tests.vectors.own_projection_vectors import FILE

VECTORS: dict[str, Any] = json.loads(FILE.read_bytes())
RECORDS = {record["name"]: record for record in VECTORS["records"]}
_WHITE = b" \t\n\r"

# One bit; a space to a newline and back; upper to lower case; out of ASCII.
_SHORT = (0x01, 0x2A, 0x20, 0x80)
_EVERY = tuple(range(1, 256))


def verifier() -> Verifier:
    policy = parse_trust_policy(canonical({**VECTORS["trust_policy"], "single_use": False}))
    return Verifier(policy, at=VECTORS["verification_time"])


def materials(name: str) -> Materials:
    def decoded(value: Any) -> Any:
        if isinstance(value, str):
            return base64url.decode(value)
        return [decoded(piece) for piece in value] if isinstance(value, list) else value

    return Materials(**{n: decoded(v) for n, v in RECORDS[name]["materials"].items()})


def flips(data: bytes, masks: tuple[int, ...]) -> Iterator[tuple[int, bytes]]:
    for index, byte in enumerate(data):
        for mask in masks:
            yield index, data[:index] + bytes([byte ^ mask]) + data[index + 1 :]


def spellings(record: dict[str, Any]) -> dict[str, bytes]:
    return {
        "canonical": canonical(record),
        "for people": json.dumps(record, indent=1).encode(),
        "on one line": json.dumps(record).encode(),
    }


@pytest.mark.parametrize("spelling", ["canonical", "for people", "on one line"])
@pytest.mark.parametrize("name", ["apertomemory", "pam"])
def test_every_flip_of_the_record(name: str, spelling: str, thorough: bool) -> None:
    record = json.loads(RECORDS[name]["record_text"])
    text, judge = spellings(record)[spelling], verifier()
    assert judge.verify(text)["valid"]
    harmless = 0
    for index, flipped in flips(text, _EVERY if thorough else _SHORT):
        verdict = judge.verify(flipped)
        if not verdict["valid"]:
            assert verdict["reason"] in REASONS
            continue
        # White space for white space, outside of any string, and so the same record.
        assert text[index] in _WHITE
        assert flipped[index] in _WHITE
        assert canonical(json.loads(flipped)) == canonical(record)
        harmless += 1
    assert (harmless > 0) is (spelling != "canonical")


@pytest.mark.parametrize("name", ["apertomemory", "pam", "body: decomposed (NFD)"])
def test_every_flip_of_the_material(name: str, thorough: bool) -> None:
    text, judge = RECORDS[name]["record_text"].encode(), verifier()
    whole = materials(name)
    assert judge.verify(text, whole)["valid"]
    masks = _EVERY if thorough else (0x01, 0x80)
    flipped_bytes = 0
    for member in Materials._fields:
        value = getattr(whole, member)
        if member == "native_results":
            continue
        pieces = [value] if isinstance(value, bytes) else value
        for position, piece in enumerate(pieces):
            for _, flipped in flips(piece, masks):
                changed: Any = flipped
                if not isinstance(value, bytes):
                    changed = [*pieces[:position], flipped, *pieces[position + 1 :]]
                verdict = judge.verify(text, whole._replace(**{member: changed}))
                assert not verdict["valid"]
                assert verdict["reason"] in REASONS
                flipped_bytes += 1
    assert flipped_bytes > 500


@pytest.mark.parametrize("name", ["pam", "pam, signed"])
def test_sources_that_the_profile_opens_itself(name: str, thorough: bool) -> None:
    """Where the verifier finds the native results for itself, the same holds."""
    text, judge = RECORDS[name]["record_text"].encode(), verifier()
    whole = materials(name)._replace(native_results=None)
    assert judge.verify(text, whole)["valid"]
    for position, source in enumerate(whole.sources):
        assert source is not None
        for _, flipped in flips(source, _EVERY if thorough else (0x01,)):
            sources = [*whole.sources[:position], flipped, *whole.sources[position + 1 :]]
            assert not judge.verify(text, whole._replace(sources=sources))["valid"]
