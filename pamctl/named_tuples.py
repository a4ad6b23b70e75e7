"""`NamedTuple`, as `typing` has it, made in half the time.

A command makes thirty of them when it starts, and `typing` compiles the annotation of every
member of each. Nobody asks for those at run time, so here they stay the text that they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    from collections import namedtuple

    class _Made(type):
        """Makes of the body of a class the named tuple that it describes."""

        def __new__(cls, name, bases, body):
            if not bases:
                return super().__new__(cls, name, bases, body)
            members = body["__annotations__"]
            defaults = [body.pop(member) for member in members if member in body]
            made = namedtuple(name, members, defaults=defaults, module=body["__module__"])
            for key, value in body.items():
                setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_Made):
        """The base of every one of them, and of none when it is made."""
