"""An embedder for `pamctl embed run`: a trained model without a network.

    pip install wordllama
    pamctl space add --descriptor-file space.json
    pamctl embed run --space space:wordllama-l2-supercat-256:1 --command 'python embedder.py'

The package wordllama brings a table of 32,000 token vectors, made from those of large language
models, and the tokenizer that goes with them. The vector of a text is the mean of its tokens'
vectors. Only these two files are used: the package's own loader looks for the tokenizer on a
network.

Standard input has lines {"id", "text"}; for each a line {"id", "vector"} is printed.
"""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path


def main() -> None:
    embed = load(model_folder())
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps({"id": asked["id"], "vector": embed(asked["text"])}), flush=True)


def model_folder() -> Path:
    found = find_spec("wordllama")
    if found is None or found.origin is None:
        sys.exit("embedder.py: the model is not here: pip install wordllama")
    return Path(found.origin).parent


def load(folder: Path):
    """A function from a text to its vector, by the model in a folder."""
    import numpy
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    (table,) = load_file(folder / "weights" / "l2_supercat_256.safetensors").values()
    tokenizer = Tokenizer.from_file(
        str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json")
    )

    def embed(text: str) -> list[float]:
        tokens = tokenizer.encode(text, add_special_tokens=False).ids
        if not tokens:
            return [0.0] * table.shape[1]
        mean = table[tokens].astype(numpy.float32).mean(axis=0)
        length = numpy.linalg.norm(mean)
        return (mean / length if length else mean).tolist()

    return embed


if __name__ == "__main__":
    main()
