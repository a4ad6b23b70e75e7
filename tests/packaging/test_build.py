"""What is published: whole, the same every time, and described so that a tool can read it."""

from __future__ import annotations

import email
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from pamctl import __version__
from pamctl.cli.commands.completion import SCRIPTS

pytest.importorskip("hatchling", reason="hatchling is not installed")

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("pamctl", "schemas", "man", "pyproject.toml", "README.md", "LICENSE", ".gitignore")
DATA = f"pamctl-{__version__}.data/data/share"


def build(source: Path, target: Path) -> Path:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--directory", str(target)],
        cwd=source,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
        check=True,
        capture_output=True,
    )
    return target


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what is published, which nobody changes meanwhile."""
    folder = tmp_path_factory.mktemp("source")
    for name in PARTS:
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def built(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(source, tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="module")
def wheel(built: Path) -> zipfile.ZipFile:
    (path,) = built.glob("*.whl")
    return zipfile.ZipFile(path)


def test_building_twice_gives_the_same_bytes(source: Path, built: Path, tmp_path: Path) -> None:
    for path in source.rglob("*"):
        os.utime(path)
    again = build(source, tmp_path / "again")
    digests = [
        {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
        for folder in (built, again)
    ]
    assert len(digests[0]) == 2
    assert digests[0] == digests[1]


def test_the_wheel_brings_all_that_the_program_reads(wheel: zipfile.ZipFile, source: Path) -> None:
    names = set(wheel.namelist())
    for path in (source / "pamctl").rglob("*"):
        if path.is_file():
            assert path.relative_to(source).as_posix() in names
    assert "pamctl/py.typed" in names
    for path in (source / "schemas").rglob("*.json"):
        assert f"pamctl/{path.relative_to(source).as_posix()}" in names
    for path in (source / "man").glob("*/*"):
        assert f"{DATA}/{path.relative_to(source).as_posix()}" in names


def test_shells_find_their_completion(wheel: zipfile.ZipFile, source: Path) -> None:
    installed = {
        "bash": "bash-completion/completions/pamctl",
        "zsh": "zsh/site-functions/_pamctl",
        "fish": "fish/vendor_completions.d/pamctl.fish",
    }
    for shell, file in SCRIPTS.items():
        script = (source / "pamctl/cli/completions" / file).read_bytes()
        assert wheel.read(f"{DATA}/{installed[shell]}") == script


def test_the_wheel_brings_nothing_else(wheel: zipfile.ZipFile) -> None:
    roots = {name.partition("/")[0] for name in wheel.namelist()}
    assert roots == {
        "pamctl",
        f"pamctl-{__version__}.data",
        f"pamctl-{__version__}.dist-info",
    }
    assert not [name for name in wheel.namelist() if "__pycache__" in name]


def test_a_tool_can_read_what_it_is(wheel: zipfile.ZipFile) -> None:
    described = email.message_from_bytes(wheel.read(f"pamctl-{__version__}.dist-info/METADATA"))
    assert described["License-Expression"] == "Apache-2.0"
    assert described.get_all("License-File") == ["LICENSE"]
    assert not [c for c in described.get_all("Classifier") or () if c.startswith("License ::")]
    assert described["Requires-Python"] == ">=3.11"
    assert described["Description-Content-Type"] == "text/markdown"
    urls = dict(line.split(", ") for line in described.get_all("Project-URL") or ())
    assert all(url.startswith("https://") for url in urls.values())
    assert f"pamctl-{__version__}.dist-info/licenses/LICENSE" in wheel.namelist()


def test_the_source_can_be_built_from(built: Path, tmp_path: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.iterdir()
    assert (unpacked / "PKG-INFO").exists()
    again = build(unpacked, tmp_path / "built")
    (wheel,) = again.glob("*.whl")
    (first,) = built.glob("*.whl")
    assert wheel.read_bytes() == first.read_bytes()
