"""Words as people search for them: their other forms, those that say nothing, and those of
scripts that put no spaces between them.

The index holds words as they stand. What is known of English is applied to the question
alone, so that nothing is lost to a text of another language, and a quoted phrase or a prefix
finds what is written.
"""

from __future__ import annotations

import re
from functools import cache

# Articles and conjunctions, pronouns, question words, auxiliaries, prepositions, adverbs, and
# what the apostrophe leaves of contractions.
_FUNCTION_WORDS_TEXT = """
a an the and or but nor so yet if then else than because as while until
i me my mine we us our ours you your yours he him his she her hers it its they them their
theirs this that these those who whom whose which what when where why how
am is are was were be been being do does did doing done have has had having will would shall
should can could may might must
of in on at by for with about into onto from to up down out off over under before after
above below between through during
not no yes again here there all any both each few more most other some such only own same
too very just also once
d ll m re s t ve don didn doesn isn aren wasn weren hasn haven hadn won wouldn couldn shouldn
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS_TEXT.split())
"""Words of English that stand in every other sentence. A question is not about them."""

_UNSPACED = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]"

_SUFFIXES = (
    *("ations", "ation", "ments", "iness"),
    *("ment", "ings", "ness", "edly"),
    *("ing", "ies", "ied", "ily", "ers"),
    *("ed", "ly", "er", "es"),
    *("s", "y", "e"),
)
_NO_PLURALS = ("ss", "us", "is")
_VOWELS = frozenset("aeiouy")
# The beginning of a word stands for its forms when it has this many letters: `organis` for
# organise and organisation, but not `car` for care and card.
_STEM_CHARS_MIN = 4
_WORD_CHARS_MIN = 3


def stem(word: str) -> str:
    """What the forms of an English word begin with: without the ending of a plural, of a
    tense, of a comparison or of a noun made of it. The word itself for any other."""
    if not (word.isascii() and word.isalpha()):
        return word
    if word.endswith(_NO_PLURALS):
        return word
    for suffix in _SUFFIXES:
        kept = word[: -len(suffix)]
        if word.endswith(suffix) and len(kept) >= _STEM_CHARS_MIN and not _VOWELS.isdisjoint(kept):
            doubled = kept[-1] == kept[-2] and kept[-1] not in "aeiouls"
            return kept[:-1] if doubled else kept
    return word


def forms(word: str) -> tuple[str, ...]:
    """FTS5 terms, any of which a word asks for: the beginning that its forms share, or of a
    short one its singular and its plural."""
    lowered = word.lower()
    if not (lowered.isascii() and lowered.isalpha()):
        return (f'"{lowered}"',)
    found = stem(lowered)
    if not found.endswith(_NO_PLURALS):
        found = found.removesuffix("s")
    if len(found) >= _STEM_CHARS_MIN:
        return (f'"{found}"*',)
    if len(found) < _WORD_CHARS_MIN or found.endswith(_NO_PLURALS):
        return (f'"{lowered}"',)
    return tuple(f'"{form}"' for form in dict.fromkeys((lowered, found, f"{found}s")))


def folded(text: str) -> str:
    """Without case and accents, as FTS5's tokenizer takes it."""
    if text.isascii():
        return text.lower()
    import unicodedata

    parts = unicodedata.normalize("NFD", text.lower())
    return "".join(part for part in parts if not unicodedata.combining(part))


@cache
def _unspaced() -> re.Pattern[str]:
    # Made where it is needed: it takes longer than all of a search for plain words.
    return re.compile(f"({_UNSPACED})")


def spaced(text: str) -> str:
    """A text with spaces around every character of a script that puts none between words.

    FTS5 takes a run of such characters for one word, of which nothing but its beginning could
    be found. With spaces each character is a word, and what is searched for is a phrase.
    """
    return text if text.isascii() else " ".join(_unspaced().split(text))


def is_unspaced(text: str) -> bool:
    """Whether a text has a character of Thai, Lao, Burmese, Khmer, Chinese or Japanese.
    Korean has spaces."""
    return not text.isascii() and _unspaced().search(text) is not None
