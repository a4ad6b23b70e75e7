"""The pages of docs/ are current, complete and lead somewhere."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from pamctl.cli.command_table import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("examples/**/*.md"),
        *ROOT.glob("store-format/**/*.md"),
    ]
)


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_pages_are_current(generator: ModuleType) -> None:
    for name, page in generator.GENERATED.items():
        there = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert there == page(), f"docs/{name} is not current; `make docs` writes it again"


def test_the_reference_has_no_page_of_what_is_gone(generator: ModuleType) -> None:
    there = {f"reference/{path.name}" for path in (ROOT / "docs/reference").iterdir()}
    assert there == {name for name in generator.GENERATED if name.startswith("reference/")}


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target or target.startswith("mailto:"):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name) if name else page
        assert file.exists(), f"{_name(page)} points to {target}"
        if anchor:
            assert anchor in _anchors(file), f"{_name(page)} points to {target}"


def _anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as code hosts make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.M)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


def test_the_readme_names_every_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    missing = [name for name in COMMANDS if not re.search(rf"`{name}\b", readme)]
    assert missing == []


def test_every_page_is_in_the_index() -> None:
    folder = ROOT / "docs"
    index = (folder / "README.md").read_text(encoding="utf-8")
    pages = [*folder.glob("*.md"), *folder.glob("tour/*.md")]
    names = [path.relative_to(folder).as_posix() for path in pages if path.name != "README.md"]
    assert [name for name in names if f"({name})" not in index] == []


def test_every_decision_is_in_the_index() -> None:
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text(encoding="utf-8")
    missing = [
        page.name
        for page in folder.glob("*.md")
        if page.name != "README.md" and f"({page.name})" not in index
    ]
    assert missing == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "decisions").glob("[a-z]*.md")), ids=_name)
def test_a_decision_has_the_form_of_one(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", text, flags=re.M)
    assert headings == ["The question", "The decision", "Why", "What it costs"]
