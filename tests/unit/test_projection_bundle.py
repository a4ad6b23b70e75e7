"""A projection as a directory: written whole, loaded with suspicion."""

import os
from pathlib import Path

import pytest

from pamctl.projection import bundle
from pamctl.projection.materials import Materials
from tests.projections import Case, candidate, example, made, materials_of


@pytest.fixture(scope="module")
def case() -> Case:
    return example()


@pytest.fixture
def folder(tmp_path: Path, case: Case) -> Path:
    bundle.publish(tmp_path / "out", case.projection)
    return tmp_path / "out"


def results(case: Case, loaded: Materials) -> Materials:
    """Loaded materials with the native results that a relying party would bring."""
    return materials_of(
        case.projection,
        **{
            name: getattr(loaded, name)
            for name in ("request", "policy", "trust_snapshot", "projection", "sources")
        },
        fragments=loaded.fragments,
    )


def test_a_bundle_holds_these_files(folder: Path, case: Case) -> None:
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert names == [
        *(f"fragments/000{i}" for i in range(3)),
        "policy",
        "projection.txt",
        "record.json",
        "request",
        *(f"sources/000{i}" for i in range(3)),
        "trust-snapshot.cbor",
    ]
    assert (folder / "projection.txt").read_bytes() == case.projection.text
    assert (folder / "record.json").read_bytes() == case.projection.record_text


def test_a_bundle_verifies(folder: Path, case: Case) -> None:
    record = bundle.read_record(folder / "record.json")
    assert case.reason(record, materials=results(case, bundle.load(folder))) is None


def test_an_empty_delivery_is_a_bundle_too(tmp_path: Path) -> None:
    bundle.publish(tmp_path / "out", made())
    assert list(bundle.load(tmp_path / "out").fragments) == []
    assert (tmp_path / "out" / "fragments").is_dir()
    assert Case(made()).reason(materials=bundle.load(tmp_path / "out")) is None


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path, case: Case) -> None:
    (tmp_path / "out").mkdir()
    bundle.publish(tmp_path / "out", case.projection)
    with pytest.raises(FileExistsError):
        bundle.publish(tmp_path / "out", made())
    assert (tmp_path / "out" / "record.json").read_bytes() == case.projection.record_text
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("request", "request"),
        ("policy", "policy"),
        ("trust-snapshot.cbor", "trust_snapshot"),
        ("projection.txt", "projection"),
        ("fragments/0002", "fragments/2"),
        ("sources/0002", "sources/2"),
    ],
)
def test_what_is_gone_is_missing(folder: Path, case: Case, name: str, missing: str) -> None:
    (folder / name).unlink()
    verdict = case.verdict(materials=results(case, bundle.load(folder)))
    assert verdict["reason"] == "material_missing"
    assert verdict["details"]["missing"] == [missing]


def test_a_gap_is_missing(folder: Path, case: Case) -> None:
    (folder / "fragments" / "0000").unlink()
    verdict = case.verdict(materials=results(case, bundle.load(folder)))
    # Of two files that are left, the second stands at the third position.
    assert verdict["reason"] == "material_missing"
    assert verdict["details"]["missing"] == ["fragments/0", "fragments/2"]


def test_a_surplus_is_refused(folder: Path, case: Case) -> None:
    (folder / "fragments" / "0003").write_bytes(b"one more")
    loaded = bundle.load(folder)
    assert (
        case.reason(materials=results(case, loaded)) == "projection_fragment_concatenation_mismatch"
    )


def test_files_that_are_no_positions_are_not_looked_at(folder: Path, case: Case) -> None:
    for name in ("README", "00000", "3", "0003.bak"):
        (folder / "fragments" / name).write_bytes(b"")
    assert case.reason(materials=results(case, bundle.load(folder))) is None


def test_pipes_and_links_are_no_material(folder: Path, case: Case, tmp_path: Path) -> None:
    (folder / "request").unlink()
    os.mkfifo(folder / "request")
    (folder / "policy").rename(tmp_path / "policy")
    (folder / "policy").symlink_to(tmp_path / "policy")
    (folder / "projection.txt").unlink()
    (folder / "projection.txt").mkdir()
    loaded = bundle.load(folder)
    assert (loaded.request, loaded.policy, loaded.projection) == (None, None, None)


def test_a_folder_that_is_not_there_has_no_material(tmp_path: Path) -> None:
    assert bundle.load(tmp_path / "nowhere") == Materials(sources=[], fragments=[])


def test_more_than_ten_thousand_fragments_are_in_order(tmp_path: Path) -> None:
    (tmp_path / "fragments").mkdir()
    for position in range(10_002):
        (tmp_path / "fragments" / f"{position:04}").write_bytes(b"%d" % position)
    fragments = bundle.load(tmp_path).fragments
    assert [int(piece or b"-1") for piece in fragments] == list(range(10_002))


def test_materials_are_not_read_without_bound(
    folder: Path, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle, "PROJECTION_BYTES_MAX", 20)
    loaded = bundle._read(folder / "projection.txt", 20)
    assert loaded == case.projection.text[:21]
    pieces = bundle.load(folder).fragments
    assert sum(len(piece or b"") for piece in pieces) <= 20 + len(pieces)


def test_names_have_at_least_four_digits(tmp_path: Path) -> None:
    many = [candidate(str(i), "x") for i in range(11)]
    bundle.publish(tmp_path / "out", made(*many))
    assert max(path.name for path in (tmp_path / "out" / "sources").iterdir()) == "0010"
