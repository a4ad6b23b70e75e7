"""The named tuples that this package makes are those that `typing` makes."""

from __future__ import annotations

import copy
import pickle
import typing
from pathlib import Path

import pytest

import pamctl
from pamctl.named_tuples import NamedTuple


class Theirs(typing.NamedTuple):
    """A place."""

    name: str
    depth: int = 0
    parts: tuple[str, ...] = ()

    def longer(self) -> Theirs:
        return self._replace(depth=self.depth + 1)

    @property
    def whole(self) -> str:
        return "/".join((self.name, *self.parts))

    @classmethod
    def root(cls) -> Theirs:
        return cls("root")


class Ours(NamedTuple):
    """A place."""

    name: str
    depth: int = 0
    parts: tuple[str, ...] = ()

    def longer(self) -> Ours:
        return self._replace(depth=self.depth + 1)

    @property
    def whole(self) -> str:
        return "/".join((self.name, *self.parts))

    @classmethod
    def root(cls) -> Ours:
        return cls("root")


def test_one_is_like_the_other() -> None:
    assert Ours._fields == Theirs._fields
    assert Ours._field_defaults == Theirs._field_defaults
    assert Ours.__doc__ == Theirs.__doc__
    assert (Ours.__module__, Ours.__qualname__) == (__name__, "Ours")
    assert Ours.__bases__ == Theirs.__bases__ == (tuple,)
    assert typing.get_type_hints(Ours) == typing.get_type_hints(Theirs)
    assert not hasattr(Ours("a"), "__dict__")


def test_what_they_hold_and_do() -> None:
    one, other = Ours("a", parts=("b",)), Theirs("a", parts=("b",))
    assert one == other
    assert repr(one) == repr(other).replace("Theirs", "Ours")
    assert one.longer() == other.longer()
    assert isinstance(one.longer(), Ours)
    assert one.whole == other.whole == "a/b"
    assert Ours.root() == Theirs.root()
    assert one._asdict() == other._asdict()
    assert pickle.loads(pickle.dumps(one)) == copy.copy(one) == one
    with pytest.raises(TypeError, match="name"):
        Ours()  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        one.depth = 1  # type: ignore[misc]


def test_the_package_makes_no_others() -> None:
    folder = Path(pamctl.__file__).parent
    makers = [
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*.py")
        if any("NamedTuple" in line for line in path.read_text().splitlines() if "typing" in line)
    ]
    assert makers == ["named_tuples.py"]
