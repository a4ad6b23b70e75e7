"""Which 32 bytes may be an Ed25519 public key (RFC 8032 §5.1.3), decided without a library.

`cryptography` takes any 32 bytes as a key. Under a point of small order a signature can be
made that verifies for many messages, and a point with a second spelling has a second key
id, so neither may be pinned or bound to anyone.
"""

from __future__ import annotations

_P = 2**255 - 19
_D = -121665 * pow(121666, -1, _P) % _P
_SIGN_BIT = 1 << 255
_ORDER_8_Y = 0x5FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
_SMALL_ORDER_YS = frozenset((0, 1, _P - 1, _ORDER_8_Y, _P - _ORDER_8_Y))
"""The y coordinates of the eight points whose order divides 8.

Order 1 has y = 1 and order 2 has y = -1. Order 4 doubles to order 2, which leaves y = 0.
Order 8 doubles to y = 0, which leaves y² = -x² and so d·y⁴ + 2·y² - 1 = 0. They are written
here because working them out takes longer than most checks of a key.
"""


def _square_root(value: int) -> int | None:
    root = pow(value, (_P + 3) // 8, _P)
    if root * root % _P != value % _P:
        root = root * pow(2, (_P - 1) // 4, _P) % _P
    return root if root * root % _P == value % _P else None


def fault(raw: bytes) -> str | None:
    """What is wrong with `raw` as a public key, or None when it is a good one.

    Refused are other lengths than 32, coordinates of p or more, points that are not on the
    curve, and the points of small order.
    """
    if len(raw) != 32:
        return f"an Ed25519 public key is 32 bytes, this has {len(raw)}"
    y = int.from_bytes(raw, "little") & (_SIGN_BIT - 1)
    if y >= _P:
        return "it is not the canonical encoding of a point"
    if y in _SMALL_ORDER_YS:
        return "it is a point of small order, under which anyone can sign"
    x_squared = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    if _square_root(x_squared) is None:
        return "it is not a point of the curve"
    return None
