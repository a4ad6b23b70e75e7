"""MPR §11: what is kept and said beside a projection."""

from pathlib import Path

from tests.conftest import Run


def test_11_nothing_that_is_kept_or_said_holds_the_projection(tmp_path: Path, run: Run) -> None:
    """The bytes for the model are in the folder that was asked for, and nowhere else: the store
    keeps the memory that it had, without its frame, and the register keeps an id."""
    assert run("init").returncode == 0
    assert run("key", "generate", "adapter").returncode == 0
    made = run("create", "--type", "claim", "--content", '"tea"', "--validation", "corroborated")
    assert made.returncode == 0
    (tmp_path / "policy.json").write_text("{}")
    done = run(
        *("project", "--request", "what is for breakfast", "--policy", "policy.json"),
        *("--key", "adapter", "--out", "made", "--verbose"),
    )
    assert done.returncode == 0, done.stderr
    projection = (tmp_path / "made" / "projection.txt").read_bytes()
    frame = projection.splitlines()[0]
    assert b"tea" in projection
    assert len(frame) > 20
    kept = b"".join(file.read_bytes() for file in tmp_path.glob(".pam/**/*") if file.is_file())
    for text in (kept, done.stdout, done.stderr):
        assert frame not in text
        assert b"what is for breakfast" not in text
