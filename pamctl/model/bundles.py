"""A bundle, line by line: what another program hands over of a store. `store-format/bundle.md`.

Read as what a stranger wrote: strictly, in bounded memory, once, from the front to the end. The
reader holds lines to their place and to the footer's digest and counts. What stands in ledger
lines and versions is for whoever reads them on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, Literal

from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import RunningDigest, sha256_hex
from pamctl.encoding.strict_json import parse
from pamctl.errors import InvalidObject, InvalidRequest, PamError
from pamctl.limits import (
    BUNDLE_EXPANSION_FREE_BYTES,
    BUNDLE_EXPANSION_MAX,
    BUNDLE_WINDOW_BYTES_MAX,
    DOCUMENT_BYTES_MAX,
)
from pamctl.named_tuples import NamedTuple

FORMAT = "pam-bundle"
FORMAT_VERSION = 1
COMPRESSED = b"\x28\xb5\x2f\xfd"
"""The first bytes of a Zstandard frame."""

Kind = Literal["header", "scope", "ledger", "leaf", "version", "stub", "embedding", "footer"]
Cause = Literal[
    "not-a-bundle",
    "format-unknown",
    "compression-invalid",
    "expansion-too-large",
    "line-too-long",
    "line-invalid",
    "line-misplaced",
    "counts-wrong",
    "digest-wrong",
    "cut",
    "continued",
]

COUNTED: Mapping[str, str] = {
    "scope": "scopes",
    "ledger": "ledger",
    "leaf": "leaves",
    "version": "versions",
    "stub": "stubs",
    "embedding": "embeddings",
}
"""By the kind of a line, the member of the footer's counts that counts it."""

_LEDGER, _VERSION, _CLOSING = b'{"ledger":', b'{"version":', ord("}")
_BEFORE_LEDGER = frozenset(("scope", "ledger", "leaf", "version", "stub"))
_WRAPPERS: Sequence[tuple[bytes, Kind]] = (
    (b'{"ledger":', "ledger"),
    (b'{"version":', "version"),
    (b'{"stub":', "stub"),
    (b'{"embedding":', "embedding"),
)
_READ_BYTES = 1 << 20
_LINE_BYTES_MAX = DOCUMENT_BYTES_MAX + 64


class Item(NamedTuple):
    """One line of a bundle.

    number: of the line, from 1. offset: of its first byte, decompressed.
    data: of a ledger line, a version, a stub or an embedding what stands in the line, byte by
        byte as it was stored; of any other kind the line.
    digest: SHA-256 of `data`, 64 hexadecimal digits.
    value: of a header, a scope, a leaf and a footer what it says; of the others None.
    """

    kind: Kind
    number: int
    offset: int
    data: bytes
    digest: str
    value: Any = None


class Fault(NamedTuple):
    """What is wrong with a bundle as such, and where."""

    cause: Cause
    number: int
    offset: int
    message: str

    def error(self) -> PamError:
        """The refusal of a bundle with this fault."""
        return InvalidObject(
            f"line {self.number} of the bundle: {self.message}",
            hint="`pamctl verify-export` says everything that is wrong with it",
            cause=self.cause,
            line=self.number,
            offset=self.offset,
        )


def wrapped(kind: Kind, data: bytes) -> bytes:
    """The line, without its newline, that carries stored bytes as they are."""
    return b'{"%b":%b}' % (kind.encode(), data)


def record_of(kind: str, digest: bytes) -> bytes:
    """What the footer's digest takes in of a line: its kind, and the 64 digits of the SHA-256 of
    what it carries. Those have to be worked out in any case, to follow the chain and to know
    versions by; so all bytes are digested once, and not twice."""
    return b"\n%b %b" % (kind.encode(), digest)


def read_bundle(source: IO[bytes]) -> Iterator[Item]:
    """The lines of a bundle, the footer last. Raises InvalidObject at the first fault; what was
    given before it must not be acted on until the footer was given."""
    for found in scan_bundle(source):
        if isinstance(found, Fault):
            raise found.error()
        yield found


def scan_bundle(source: IO[bytes]) -> Iterator[Item | Fault]:
    """The lines of a bundle and its faults, for as long as it makes sense to read on: an
    auditor wants all of them. A bundle has no fault of its own when a footer came and none
    did."""
    return _Scan().lines(_bytes_of(source))


class _Scan:
    """One pass over a bundle."""

    def __init__(self) -> None:
        self._digest = RunningDigest()
        self._counts = dict.fromkeys(COUNTED.values(), 0)
        self._number = self._offset = 0
        self._scopes: list[str] = []
        self._scopes_seen = 0
        # The kind of the line before; "" before the header, "fault" behind what is no line.
        self._before = ""

    def lines(self, chunks: Iterable[bytes | Fault]) -> Iterator[Item | Fault]:
        """All lines in these bytes, and what is wrong with them."""
        carried = b""
        for chunk in chunks:
            if isinstance(chunk, Fault):
                yield chunk._replace(number=self._number + 1, offset=self._offset)
                return
            pieces = (carried + chunk).split(b"\n") if carried else chunk.split(b"\n")
            carried = pieces.pop()
            for line in pieces:
                if self._before == "footer":
                    yield self._next("continued", "something stands behind the footer")
                    return
                found = self._carrying(line)
                if found is not None:
                    yield found
                    continue
                yield from self._take(line)
                if self._before == "":
                    return
            if len(carried) > _LINE_BYTES_MAX:
                yield self._next("line-too-long", "the line is longer than any may be")
                return
        if self._before != "footer":
            where = "within a line" if carried else "before its footer"
            yield self._next("cut", f"the bundle ends {where}")
        elif carried:
            yield self._next("continued", "something stands behind the footer")

    def _carrying(self, line: bytes) -> Item | None:
        """The item of a line that carries stored bytes and stands in its place, which nearly
        every line is; None for any other."""
        if line.startswith(_LEDGER):
            kind: Kind = "ledger"
            data = line[len(_LEDGER) : -1]
            fits = self._before in _BEFORE_LEDGER
        elif line.startswith(_VERSION):
            kind = "version"
            data = line[len(_VERSION) : -1]
            fits = self._before == "ledger"
        else:
            return None
        length = len(line)
        if not fits or length > _LINE_BYTES_MAX or line[-1] != _CLOSING:
            return None
        self._number += 1
        self._counts[COUNTED[kind]] += 1
        digest = sha256_hex(data)
        self._digest.update(record_of(kind, digest.encode()))
        item = Item(kind, self._number, self._offset, data, digest)
        self._before = kind
        self._offset += length + 1
        return item

    def _take(self, line: bytes) -> Iterator[Item | Fault]:
        """What a line is. Without a header there is nothing to read on for."""
        self._number += 1
        if len(line) > _LINE_BYTES_MAX:
            found: Item | Fault = self._here("line-too-long", "the line is longer than any may be")
        elif self._before == "":
            found = self._header(line)
        else:
            found = self._item(line)
        if isinstance(found, Fault):
            yield found
            self._before = "fault" if self._before else ""
        else:
            fault = self._misplaced(found)
            if fault is not None:
                yield fault
            self._before = found.kind
            yield found
        digest = found.digest if isinstance(found, Item) else sha256_hex(line)
        kind = found.kind if isinstance(found, Item) else "fault"
        self._digest.update(record_of(kind, digest.encode()))
        self._offset += len(line) + 1

    def _item(self, line: bytes) -> Item | Fault:
        for prefix, kind in _WRAPPERS:
            if line.startswith(prefix):
                if not line.endswith(b"}"):
                    break
                self._counts[COUNTED[kind]] += 1
                return self._made(kind, line[len(prefix) : -1])
        value = self._object(line)
        if value is None or len(value) != 1:
            return self._here("line-invalid", "it is no line that a bundle has")
        ((name, told),) = value.items()
        if name == "scope" and isinstance(told, str):
            self._counts["scopes"] += 1
            return self._made("scope", line, told)
        if name == "leaf" and _is_hexadecimal_digest(told):
            self._counts["leaves"] += 1
            return self._made("leaf", line, told)
        if name == "footer":
            return self._footer(line, told)
        return self._here("line-invalid", "it is no line that a bundle has")

    def _header(self, line: bytes) -> Item | Fault:
        from pamctl.model.documents import is_valid

        value = self._object(line)
        if value is None or value.get("format") != FORMAT:
            return self._here("not-a-bundle", "it is not the header of a bundle")
        if value.get("format_version") != FORMAT_VERSION:
            known = f"version {value.get('format_version')!r} of the format is not known"
            return self._here("format-unknown", known[:120])
        if not is_valid("bundle-header", value):
            return self._here("line-invalid", "the header is not as its schema says")
        self._scopes = [scope["scope_id"] for scope in value["scopes"]]
        if sorted(set(self._scopes)) != self._scopes:
            return self._here("line-invalid", "the header lists scopes twice or out of order")
        return self._made("header", line, value)

    def _footer(self, line: bytes, told: Any) -> Item | Fault:
        from pamctl.model.documents import is_valid

        if not is_valid("bundle-footer", told):
            return self._here("line-invalid", "the footer is not as its schema says")
        return self._made("footer", line, told)

    def _misplaced(self, item: Item) -> Fault | None:
        """Whether a line may stand where it does; of the footer, whether it is right."""
        kind, before = item.kind, self._before
        if kind == "footer":
            if item.value["counts"] != self._counts or self._scopes_seen != len(self._scopes):
                return self._here("counts-wrong", "lines are gone, or were put in")
            if item.value["digest"] != "sha256:" + self._digest.hexdigest():
                return self._here("digest-wrong", "the lines before it are not its digest's")
        elif kind == "scope":
            expected = self._scopes[self._scopes_seen : self._scopes_seen + 1]
            self._scopes_seen += 1
            if expected != [item.value]:
                return self._here("line-misplaced", "the header does not list this scope here")
        elif kind in ("version", "stub"):
            if before not in ("ledger", "fault"):
                return self._here("line-misplaced", f"a {kind} stands behind no ledger line")
        elif kind != "header" and before == "header":
            return self._here("line-misplaced", f"a {kind} line stands in no scope")
        elif kind in ("ledger", "leaf") and before == "embedding":
            return self._here("line-misplaced", "a ledger goes on behind embeddings")
        return None

    def _object(self, line: bytes) -> Any:
        """The canonical JSON object that a line is; None where it is none."""
        try:
            value = parse(line)
        except InvalidRequest:
            return None
        return value if isinstance(value, dict) and canonical(value) == line else None

    def _made(self, kind: Kind, data: bytes, value: Any = None) -> Item:
        digest = sha256_hex(data)
        return Item(kind, self._number, self._offset, data, digest, value)

    def _here(self, cause: Cause, message: str) -> Fault:
        return Fault(cause, self._number, self._offset, message)

    def _next(self, cause: Cause, message: str) -> Fault:
        return Fault(cause, self._number + 1, self._offset, message)


def _bytes_of(source: IO[bytes]) -> Iterator[bytes | Fault]:
    """The bytes of a bundle, decompressed where its first bytes say that it is compressed."""
    first = source.read(len(COMPRESSED))
    if first != COMPRESSED:
        yield first
        while chunk := source.read(_READ_BYTES):
            yield chunk
        return
    yield from _decompressed(first, source)


def _decompressed(first: bytes, source: IO[bytes]) -> Iterator[bytes | Fault]:
    try:
        import zstandard
    except ImportError:
        raise InvalidRequest(
            "the bundle is compressed, and the package zstandard is not installed",
            hint="pip install 'pamctl[zstd]', or decompress it with `zstd -d` first",
        ) from None
    reader = zstandard.ZstdDecompressor(max_window_size=BUNDLE_WINDOW_BYTES_MAX)
    unpacking, taken, given = reader.decompressobj(), 0, 0
    chunk = first
    while chunk:
        taken += len(chunk)
        # A piece at a time, so that a small file cannot fill the memory at once.
        for start in range(0, len(chunk), _PIECE_BYTES):
            if unpacking.eof:
                yield Fault("continued", 0, 0, _BEHIND)
                return
            try:
                data = unpacking.decompress(chunk[start : start + _PIECE_BYTES])
            except zstandard.ZstdError as cause:
                yield Fault("compression-invalid", 0, 0, f"it cannot be decompressed: {cause}")
                return
            given += len(data)
            if given > BUNDLE_EXPANSION_FREE_BYTES + taken * BUNDLE_EXPANSION_MAX:
                message = f"it expands more than {BUNDLE_EXPANSION_MAX} times"
                yield Fault("expansion-too-large", 0, 0, message)
                return
            yield data
        chunk = source.read(_READ_BYTES)
    if unpacking.unused_data:
        yield Fault("continued", 0, 0, _BEHIND)
    elif not unpacking.eof:
        yield Fault("cut", 0, 0, "the compressed bundle ends before its end")


_PIECE_BYTES = 1024
_BEHIND = "something stands behind the compressed bundle"


def _is_hexadecimal_digest(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 64 and not value.strip("0123456789abcdef")
