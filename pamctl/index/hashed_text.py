"""The built-in embedder: words and their parts, hashed. It has no model and knows no language.

Two texts are near each other when they share words, or pieces of words: `painted` is near
`painting`, `grandmother` near `mother`, a misspelt name near the name. Texts that say one thing
in different words are not near each other, unlike with a trained model; whoever wants that
names an embedder that has one.

How a vector is made is part of what its Embedding Space is. Any change here is another
revision: another space.

1. Text is folded: NFKD without combining marks, then case folding. A word is a run of letters
   and digits, of which the first 64 count; of a text, the first 20,000 words.
2. The features of a word are the word, and the runs of 3 to 5 characters in `<word>`; of scripts
   without spaces between words, runs of 1 to 3, without `<` and `>`.
3. A word weighs 1 + ln(its characters + 1), and 1 + ln n times that where it stands n times:
   long words are seldom, and seldom words say more. Function words of English weigh a fifth.
   Its runs together weigh twice as much: each twice the word's weight, divided by the root of
   their number.
4. A feature goes to one of the dimensions, with a sign, by its BLAKE2b hash.
5. The vector is divided by the fourth root of its length, not by its length: between two texts
   that match equally the short one comes first, but not by much. So vectors are compared by
   their dot product.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from typing import Any

from pamctl.index.word_forms import FUNCTION_WORDS, is_unspaced
from pamctl.rules.spaces import BUILT_IN

DIMENSIONS = 1024

SPACE: Mapping[str, Any] = {
    "embedding_space_id": BUILT_IN,
    "provider": "pamctl",
    "model": "hashed-text",
    "model_revision": "1",
    "dimensions": DIMENSIONS,
    "distance_metric": "dot",
    "normalization": "divided by the fourth root of the L2 norm",
    "preprocessing_profile": "NFKD without combining marks, case folded, letters and digits",
    "embedding_kind": "hashed words and character n-grams; no model, no statistics",
    "canonicalization_rules": "All strings of the content, in document order, joined by U+000A; "
    "pamctl/index/hashed_text.py says how they become numbers.",
}
"""What vectors of this embedder mean. PAMSPEC §7.8."""

_WORD = re.compile(r"[^\W_]+")
_PIECE_CHARS = (3, 5)
_UNSPACED_PIECE_CHARS = (1, 3)
_WORD_CHARS_MAX = 64
_WORDS_MAX = 20_000
# What is known of a word takes two kilobytes, and most of a text is a few thousand words.
_WORDS_KEPT = 16384
_PIECES_WEIGHT = 2.0
_FUNCTION_WORD_WEIGHT = 0.2


def embed(text: str) -> list[float]:
    """The vector of a text, DIMENSIONS numbers; all 0 for a text without a word."""
    words = islice(_WORD.finditer(_folded(text)), _WORDS_MAX)
    counted = Counter(word.group()[:_WORD_CHARS_MAX] for word in words)
    sums: dict[int, float] = {}
    for word, times in counted.items():
        often = 1 + math.log(times)
        for dimension, weight in _features(word):
            sums[dimension] = sums.get(dimension, 0.0) + weight * often
    length = math.sqrt(math.fsum(value * value for value in sums.values()))
    vector = [0.0] * DIMENSIONS
    if length:
        root = math.sqrt(math.sqrt(length))
        for dimension, value in sums.items():
            vector[dimension] = value / root
    return vector


def _folded(text: str) -> str:
    apart = unicodedata.normalize("NFKD", text)
    return "".join(c for c in apart if not unicodedata.combining(c)).casefold()


@lru_cache(maxsize=_WORDS_KEPT)
def _features(word: str) -> tuple[tuple[int, float], ...]:
    """The dimensions that a word goes to, each with its weight and sign."""
    weight = 1 + math.log(len(word) + 1)
    if word in FUNCTION_WORDS:
        weight *= _FUNCTION_WORD_WEIGHT
    pieces = list(_pieces(word))
    found = [_placed(b"w", word, weight)]
    if pieces:
        share = _PIECES_WEIGHT * weight / math.sqrt(len(pieces))
        found += [_placed(b"p", piece, share) for piece in pieces]
    return tuple(found)


def _pieces(word: str) -> Iterator[str]:
    unspaced = is_unspaced(word)
    whole = word if unspaced else f"<{word}>"
    shortest, longest = _UNSPACED_PIECE_CHARS if unspaced else _PIECE_CHARS
    for chars in range(shortest, longest + 1):
        for start in range(len(whole) - chars + 1):
            if chars < len(whole):
                yield whole[start : start + chars]


def _placed(kind: bytes, feature: str, weight: float) -> tuple[int, float]:
    hashed = int.from_bytes(
        blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8, person=kind).digest(),
        "little",
    )
    return hashed % DIMENSIONS, -weight if hashed >> 63 else weight
