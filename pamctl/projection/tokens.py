"""Counting tokens as a model's tokenizer does, where the extra `tokens` is installed.

The tokenizers are those of the package bpe-openai, which carries their vocabularies: nothing
is fetched, and the same text has the same count everywhere.
"""

from __future__ import annotations

from pamctl.errors import InvalidRequest
from pamctl.projection.choice import CountTokens

TOKENIZERS = ("o200k_base", "cl100k_base", "p50k_base", "r50k_base", "voyage3_base")
"""Names that a selection policy may give."""


def counter(name: str) -> CountTokens:
    """Counts the tokens of UTF-8 text; what looks like a control token is text as well.

    Raises InvalidRequest for an unknown name, and where the extra is not installed.
    """
    if name not in TOKENIZERS:
        raise InvalidRequest(
            f"there is no tokenizer {name[:80]!r}",
            hint=f"the tokenizers are {', '.join(TOKENIZERS)}",
            pointer="/tokenizer",
        )
    try:
        import bpe_openai
    except ModuleNotFoundError:
        raise InvalidRequest(
            "a limit of tokens needs a tokenizer, and none is installed",
            hint="install pamctl[tokens], or limit bytes",
            pointer="/tokenizer",
        ) from None
    encode = bpe_openai.get_encoding(name).encode_ordinary

    def count(text: bytes) -> int:
        return len(encode(text.decode("utf-8")))

    return count
