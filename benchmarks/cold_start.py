"""What starting costs, against what the interpreter and the imports alone cost.

python -m benchmarks.cold_start [ROUNDS]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pamctl
from benchmarks.measure import HEADER, Comparison, command, in_turn

PAMCTL = str(Path(sys.executable).with_name("pamctl"))
SCOPE = "workspace:default"


def main(rounds: int) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / ".pam")
        store = pamctl.init_store(path)
        for number in range(1000):
            made = store.create(
                scope_id=SCOPE,
                object_type="claim",
                canonical_content={"statement": f"Memory number {number}."},
                actor={"actor_id": "actor:local:bench", "actor_kind": "human"},
                provenance={"activity": "created"},
                validation_state="corroborated",
            )
        store.close()
        imports = "import typer, orjson, sqlite3"
        cases = [
            ("`pamctl --version`", ["--version"], "import typer", "<= 1.2"),
            ("`pamctl read`", ["read", made["object_id"], "--store", path], imports, "<= 1.4"),
            ("`pamctl query --limit 10`", ["query", "--limit", "10", "--store", path], imports, ""),
            (
                "`pamctl create`",
                ["create", "--type", "claim", "--content", '"x"', "--store", path],
                "import typer",
                "<= 2.2 (later)",
            ),
        ]
        print(HEADER)
        for name, arguments, peer, target in cases:
            ours, theirs = in_turn(
                command([PAMCTL, *arguments]), command([sys.executable, "-c", peer]), rounds
            )
            print(Comparison(f"{name} / `python -c '{peer}'`", ours, theirs, target).row())


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
