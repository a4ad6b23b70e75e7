"""Changes to bytes such as break parsers: cut, doubled, moved, and words of JSON put in."""

from __future__ import annotations

import random

_WORDS = (
    *(b"\n", b"\r\n", b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\\ud800", b"\\u0000"),
    *(b"{", b"}", b"[", b"]", b'"', b",", b":", b"null", b"true", b"{}", b"[]", b'""', b" "),
    *(b"-0", b"-0.0", b"1e400", b"1e16", b"0.1e-7", b"9007199254740993", b"18446744073709551616"),
    *(b"[" * 200, b'{"a":' * 150, b"../../../etc/passwd", b"sha256:" + b"0" * 64),
)


def mutated(data: bytes, chance: random.Random, *, edits_max: int = 4) -> bytes:
    """`data` with some changes, which a seed of `chance` determines."""
    for _ in range(chance.randint(1, edits_max)):
        start = chance.randrange(len(data) + 1)
        end = min(len(data), start + chance.choice((0, 1, 2, 8, 64, 1024)))
        piece = data[start:end]
        new = chance.choice(
            (
                b"",
                piece * 2,
                piece[::-1],
                chance.choice(_WORDS),
                bytes(byte ^ 1 << chance.randrange(8) for byte in piece),
                chance.randbytes(chance.randint(1, 8)),
            )
        )
        if chance.random() < 0.1:
            lines = data.split(b"\n")
            chance.shuffle(lines)
            data = b"\n".join(lines)
        data = data[:start] + new + data[end:]
    return data
