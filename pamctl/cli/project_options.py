"""The options of `pamctl project`: what is asked, who signs, and what the policy is to say."""

from typing import Annotated, Any

import typer

from pamctl.cli import options
from pamctl.errors import InvalidRequest
from pamctl.limits import INTEGER_MAX, PROJECTION_BYTES_MAX, PROJECTION_ENTRIES_MAX
from pamctl.named_tuples import NamedTuple

PAM = ("pam", "urn:pamctl:source-profile:v1")
TRUST_LEVELS = ("self", "trusted", "unverified")


def _bound(flag: str, most: int, text: str) -> Any:
    return typer.Option(flag, metavar="N", parser=options.whole_number(0, most), help=text)


Key = Annotated[
    str,
    typer.Option("--key", metavar="KEY", help="Name of the key to sign with.", show_default=False),
]
Out = Annotated[
    str,
    typer.Option(
        "--out",
        metavar="DIR",
        help="The folder to make; - prints the projection alone.",
        show_default=False,
    ),
]
Source = Annotated[
    str,
    typer.Option(
        "--source",
        metavar="PROFILE",
        help="The source profile: pam, apertomemory, or the name of a plug-in's.",
    ),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="PLACE",
        help="Where the objects of another source profile are. What is encrypted there opens with"
        " PAM_SOURCE_PASSPHRASE, or with what you type.",
    ),
]
Request = Annotated[
    str | None, typer.Option("--request", metavar="TEXT", help="The recall request.")
]
RequestFile = Annotated[
    str | None,
    typer.Option("--request-file", metavar="FILE", help="The file that holds it, any bytes."),
]
Policy = Annotated[
    str,
    typer.Option(
        "--policy", metavar="FILE", help="The selection policy: a file, -, or the JSON itself."
    ),
]
Record = Annotated[
    str | None,
    typer.Option("--record", metavar="FILE", help="Where the record goes with --out -."),
]
Explain = Annotated[
    bool,
    typer.Option("--explain", help="Say of each memory, on standard error, why it is in or out."),
]
AdapterId = Annotated[
    str | None,
    typer.Option("--adapter-id", metavar="URI", help="Default: one made of the key's id."),
]
ObjectTypes = Annotated[
    list[str] | None, typer.Option("--type", metavar="TYPE", help="Of that type.")
]
AnyState = Annotated[
    bool, typer.Option("--any-state", help="In any state that is not asked for by name.")
]
Text = Annotated[
    str | None,
    typer.Option(
        "--text",
        metavar="WORDS",
        help="With any of these words, best first; 'request' stands for the request's own.",
    ),
]
WrittenBy = Annotated[
    list[str] | None, typer.Option("--actor-is", metavar="ID", help="Written by that actor.")
]
SourceRefs = Annotated[
    list[str] | None,
    typer.Option("--source-ref", metavar="REF", help="With that source in its provenance."),
]
ProvenanceIds = Annotated[
    list[str] | None, typer.Option("--provenance", metavar="ID", help="With that provenance.")
]
SchemaIds = Annotated[
    list[str] | None, typer.Option("--schema-id", metavar="URI", help="Of that schema.")
]
Where = Annotated[
    list[str] | None,
    typer.Option("--where", metavar="EXPRESSION", help="For which that holds, as in query."),
]
Between = Annotated[
    tuple[str, str, str] | None,
    typer.Option("--between", metavar="BASIS FROM TO", help="In a time, as in query."),
]
OrderBy = Annotated[
    list[str] | None,
    typer.Option("--order-by", metavar="FIELD[:desc]", help="In that order, as in query."),
]
TrustLevels = Annotated[
    list[str] | None,
    typer.Option(
        "--trust-level",
        metavar="LEVEL",
        parser=options.one_of("trust level", TRUST_LEVELS),
        help="Only memories that are self, trusted or unverified; may be repeated.",
    ),
]
Limit = Annotated[
    int | None, _bound("--limit", PROJECTION_ENTRIES_MAX, "At most that many memories.")
]
LimitBytes = Annotated[
    int | None,
    _bound("--limit-bytes", PROJECTION_BYTES_MAX, "At most that many bytes of projection."),
]
LimitTokens = Annotated[
    int | None,
    _bound("--limit-tokens", INTEGER_MAX, "At most that many tokens, as --tokenizer counts."),
]
Tokenizer = Annotated[
    str | None,
    typer.Option("--tokenizer", metavar="NAME", help="How tokens are counted: o200k_base ..."),
]


class Foreign(NamedTuple):
    """A source profile other than pamctl's own, and where its objects are."""

    source_profile: str
    place: str


def foreign(source: str, place: str | None) -> Foreign | None:
    """What `--source` and `--from` name together; None for the store itself. Raises
    InvalidRequest where one lacks the other."""
    if source in PAM:
        if place is not None:
            raise InvalidRequest("--from names no place for --source pam, which is the store")
        return None
    if place is None:
        raise InvalidRequest(
            f"--source {source} needs --from PLACE", hint="say where its objects are"
        )
    return Foreign(source, place)
