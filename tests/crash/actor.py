"""Carries one scenario out in a process of its own: `python -m tests.crash.actor NAME STORE`.

It writes a line to standard output for each answer, in one call; a refusal ends it with the
status of its class.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import orjson

from pamctl.errors import PamError
from tests.crash.scenarios import SCENARIOS


def main(name: str, store: Path) -> int:
    try:
        for answer in SCENARIOS[name].act(store, "act"):
            os.write(1, orjson.dumps(answer, option=orjson.OPT_SORT_KEYS) + b"\n")
    except PamError as refused:
        sys.stderr.write(f"{refused.code}: {refused.message}\n")
        return refused.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
