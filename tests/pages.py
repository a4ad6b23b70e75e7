"""Reads a page of HTML as a strict reader: every element closed, and what a person who does
not see it goes by."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "rect", "line", "link"}


class Page(HTMLParser):
    """The elements of a page, its texts, and how it is divided."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.headings: list[tuple[int, str]] = []
        self.texts: list[str] = []
        self.faults: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        if self._open:
            self.faults.append(f"not closed: {self._open}")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if len({name for name, _ in attrs}) != len(attrs):
            self.faults.append(f"an attribute stands twice in {tag}")
        if tag not in VOID:
            self._open.append(tag)
        if tag in ("h1", "h2", "h3", "h4"):
            self.headings.append((int(tag[1]), ""))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if not self._open or self._open[-1] != tag:
            self.faults.append(f"</{tag}> closes {self._open[-1:]}")
        else:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self.headings and any(name in self._open for name in ("h1", "h2", "h3")):
            level, text = self.headings[-1]
            self.headings[-1] = (level, text + data)

    def named(self, tag: str) -> list[dict[str, str]]:
        """The attributes of each element of that name."""
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self) -> str:
        return "\n".join(self.texts)
