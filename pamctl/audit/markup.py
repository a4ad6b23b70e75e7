"""HTML in which text cannot become markup: elements are made by `tag`, and whatever is no
`Markup` is escaped. What a reader could not see, or could be misled by, is spelled out."""

from __future__ import annotations

import html

from pamctl.encoding.visible_text import visible

_VOID = frozenset(("meta", "link", "br", "rect", "hr", "line"))


class Markup(str):
    """Text that is HTML already. Only this module, and constants of ours, make any."""

    __slots__ = ()


Child = str | int | None


def escaped(text: str) -> Markup:
    """Text as HTML that shows it and does nothing else, in content and in attributes."""
    return Markup(html.escape(visible(text), quote=True))


def tag(name: str, *children: Child, **attributes: str | int | bool | None) -> Markup:
    """An element. `class_` and the like lose their underscore, others become dashes; None and
    False leave an attribute out, True gives it no value."""
    given = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{given}>" if name in ("meta", "br", "hr") else f"<{name}{given}/>")
    return Markup(f"<{name}{given}>{together(*children)}</{name}>")


def together(*children: Child) -> Markup:
    """Elements and texts one behind the other."""
    return Markup("".join(_child(child) for child in children if child is not None))


def isolated(text: str, **attributes: str) -> Markup:
    """A text of a stranger's, which cannot turn the direction of what is around it."""
    return tag("bdi", text, **attributes)


def code(text: str) -> Markup:
    """An identifier or a digest."""
    return tag("code", tag("bdi", text))


def _child(child: Child) -> str:
    if isinstance(child, Markup):
        return child
    return f"{child:,}" if isinstance(child, int) else escaped(str(child))


def _attribute(key: str, value: str | int | bool | None) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escaped(str(value))}"'
