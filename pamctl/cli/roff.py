"""Text as roff, the language of manual pages, and the little of Markdown that pages are
written in. What comes out is clean under `mandoc -Tlint`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from textwrap import wrap

_LINE_BYTES_MAX = 80
"""As is the custom. Escapes lengthen a line, so text is filled until the longest fits."""
_LINE_CHARS = 72
_LITERAL_CHARS = 70
_BOLD, _ITALIC, _PLAIN = "\x01", "\x02", "\x03"
_FONTS = {_BOLD: r"\fB", _ITALIC: r"\fI", _PLAIN: r"\fR"}


def head(title: str, section: int, summary: str, *, date: str, program: str) -> list[str]:
    """The beginning of a page: its title, and its name with what it is about."""
    what = summary[:1].lower() + summary[1:]
    return [
        f'.TH {escaped(title.upper())} {section} "{date}" "{program}" "pamctl manual"',
        ".SH NAME",
        *_named(title, what),
    ]


def _named(title: str, what: str) -> list[str]:
    first, *others = _within(what, len(title) + 6)
    return [rf"{escaped(title)} \- {first}", *others]


def definitions(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Terms, each with what is said of it."""
    lines: list[str] = []
    for term, text in rows:
        lines += [".TP", f".B {escaped(term)}", *filled(text)]
    return lines


def paragraphs(text: str) -> list[str]:
    """Paragraphs, and blocks of literal lines where they are indented."""
    lines: list[str] = []
    for paragraph in filter(None, text.split("\n\n")):
        if paragraph.startswith(" "):
            lines += literal(inspect.cleandoc(paragraph).splitlines())
        else:
            lines += [".PP", *filled(paragraph)]
    return lines


def literal(lines: Iterable[str]) -> list[str]:
    """Lines that stay as they are; one that is too long goes on in the next, indented."""
    cut: list[str] = []
    for line in lines:
        indent = line[: len(line) - len(line.lstrip())]
        pieces = wrap(line, _LITERAL_CHARS, drop_whitespace=False, subsequent_indent=indent + "  ")
        cut += [escaped(piece.rstrip()) for piece in pieces or [""]]
    return [".PP", ".nf", *cut, ".fi"]


def filled(text: str) -> list[str]:
    """A paragraph in lines of the customary length. It may hold the marks of `spans`."""
    return _within(text, 0)


def _within(text: str, taken: int) -> list[str]:
    """Text in escaped lines that leave `taken` bytes of each free."""
    for width in range(_LINE_CHARS - taken, 20, -4):
        wrapped = wrap(text, width, break_on_hyphens=False, break_long_words=False)
        lines = [escaped(line) for line in wrapped]
        if max(map(len, lines), default=0) + taken < _LINE_BYTES_MAX:
            break
    return lines


def escaped(text: str) -> str:
    """Text that roff prints as it is: its own signs escaped, no line taken for a request."""
    safe = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq")
    safe = safe.replace("`", r"\(ga").replace("^", r"\(ha").replace("~", r"\(ti")
    safe = "".join(c if ord(c) < 128 else rf"\[u{ord(c):04X}]" for c in safe)
    for mark, font in _FONTS.items():
        safe = safe.replace(mark, font)
    return rf"\&{safe}" if safe.startswith((".", "\\(aq")) else safe


def spans(text: str) -> str:
    """Markdown's spans as marks: code and strong text bold, emphasis italic, a link its text."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`([^`]*)`", rf"{_BOLD}\1{_PLAIN}", text)
    text = re.sub(r"\*\*([^*]*)\*\*", rf"{_BOLD}\1{_PLAIN}", text)
    return re.sub(r"(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])", rf"{_ITALIC}\1{_PLAIN}", text)


def markdown(text: str) -> list[str]:
    """A document of ours: headings, paragraphs, lists, fenced blocks and tables. Its title is
    left out."""
    lines: list[str] = []
    for kind, block in _blocks(text):
        if kind == "heading":
            depth = len(block) - len(block.lstrip("#"))
            name = spans(block.lstrip("# "))
            if depth > 1:
                lines.append(
                    f".SH {escaped(name.upper())}" if depth == 2 else f".SS {escaped(name)}"
                )
        elif kind == "fence":
            lines += literal(block.splitlines())
        elif kind == "item":
            lines += [r".IP \(bu 2", *filled(spans(block))]
        elif kind == "row":
            cells = [spans(cell.strip()) for cell in re.split(r"(?<!\\)\|", block.strip("|"))]
            term, *said = [cell.replace(r"\|", "|") for cell in cells]
            lines += [".TP", escaped(term) or r"\&", *filled("; ".join(filter(None, said)) or "-")]
        else:
            lines += [".PP", *filled(spans(block))]
    # A heading makes room by itself.
    return [
        line
        for line, before in zip(lines, ["", *lines], strict=False)
        if not (line == ".PP" and before.startswith((".SH", ".SS")))
    ]


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """The blocks of a document, each with its kind."""
    lines = iter(_without_column_names(text.splitlines()))
    kind, pending = "text", list[str]()

    for line in lines:
        starts = _start_of(line)
        if pending and (starts is not None or not line.strip()):
            yield kind, " ".join(pending)
            pending.clear()
        if starts == "fence":
            yield "fence", "\n".join(iter(lambda: next(lines), "```"))
        elif starts in ("heading", "row"):
            yield starts, line.strip()
        elif line.strip():
            if not pending:
                kind = starts or "text"
            pending.append(re.sub(r"^\s*(- |\d+\. )?", "", line) if starts else line.strip())
    if pending:
        yield kind, " ".join(pending)


def _without_column_names(lines: list[str]) -> Iterator[str]:
    """Lines without the heads of tables: of a list of terms they would be the first."""
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if not any(one.startswith("|") and not one.strip("|-: ") for one in (line, after)):
            yield line


def _start_of(line: str) -> str | None:
    """The kind of block that a line begins; None where it may go on with one."""
    if line.startswith("#"):
        return "heading"
    if line.startswith("```"):
        return "fence"
    if line.startswith("|"):
        return "row"
    return "item" if re.match(r"\s*(- |\d+\. )", line) else None
