"""Tests of `spica doctor --cache`: report, pruning by age and size, bad input."""

import json
import os
import time

import pytest

from spica.base.build_cache import digest
from spica.base.build_step import remember
from spica.base.entries_in_use import USE_FILE
from spica.base.working_folders import PREFIX
from spica.base.yosys import yosys_command
from spica.explore.sweep.store import load, save
from spica.explore.work.area_measurement import AreaMeasurement
from spica.explore.work.record import PASS, Record
from spica.hw.config import DmaBlockConfig
from spica.hw.memory.dma.dma import Dma
from spica.hw.presets import PRESETS
from spica.sim.engine.emission_cache import emit_cached
from support.command_line import refused, run_spica

DAY = 86_400


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    """Create a cache with entries of 1 to 4 MB, last used 1 to 4 days and an hour ago."""
    monkeypatch.setenv("SPICA_CACHE", str(tmp_path / "cache"))
    root = tmp_path / "cache"
    for days, kind in enumerate(("model-tiny", "model-virgo", "emission-tiny", "program"), 1):
        entry = root / f"{kind}-{digest([kind])}"
        entry.mkdir(parents=True)
        (entry / "content").write_bytes(bytes(days * 1_000_000))
        (entry / USE_FILE).touch()
        used = time.time() - days * DAY - 3600
        os.utime(entry / USE_FILE, (used, used))
    return root


def doctor(capsys, options=""):
    """Return the JSON of `spica doctor --cache`."""
    assert run_spica(f"doctor --cache {options} --json -") == 0
    return json.loads(capsys.readouterr().out)


def test_kinds_have_entries_sizes_and_uses(capsys, root):
    result = doctor(capsys)
    assert (result["folder"], result["entries"], result["bytes"]) == (str(root), 4, 10_000_000)
    assert list(result["kinds"]) == ["program", "emission", "model"]
    model = result["kinds"]["model"]
    assert (model["entries"], model["bytes"]) == (2, 3_000_000)
    assert model["oldest_use"] < model["newest_use"] == result["newest_use"]
    assert result["unknown"] == []
    assert "removed" not in result


def test_all_kinds_of_results_are_known(capsys, monkeypatch, tmp_path):
    yosys_command()  # compiled for all tests, not into this cache
    monkeypatch.setenv("SPICA_CACHE", str(tmp_path / "used"))
    emit_cached(DmaBlockConfig.of(PRESETS["tiny_matrix"]), "dma", kind=Dma)
    area = AreaMeasurement(config=PRESETS["tiny"])
    save(area, Record(status=PASS))
    remember("verilating", 1, 1.0)
    result = doctor(capsys)
    assert result["kinds"].keys() == {"emission", "blocks", "sweep"}
    assert result["unknown"] == []
    result = doctor(capsys, "--prune-to 0")
    assert result["kinds"].keys() == {"emission", "sweep"}  # in use by this process
    assert result["removed"]["in_use"] == 2
    assert result["unknown"] == []
    assert load(area) is not None


def test_the_report_is_a_table(capsys, root):
    (root / "notes.txt").write_text("")
    assert run_spica("doctor --cache") == 0
    out = capsys.readouterr().out
    lines = [line.split() for line in out.splitlines() if line.split()]
    begin = [line[0] for line in lines].index("kind") + 1  # the title may have several lines
    rows = lines[begin : begin + 4]
    assert [row[0] for row in rows] == ["program", "emission", "model", "total"]
    assert rows[-1][-2:] == ["4", "10.0"]
    assert out.splitlines()[-1] == "Not of the cache, never removed: notes.txt."


def test_entries_older_than_an_age_are_removed(capsys, root):
    result = doctor(capsys, "--prune-older 2.5d")
    assert list(result["kinds"]) == ["model"]
    assert result["removed"]["kinds"].keys() == {"program", "emission"}
    assert (result["removed"]["entries"], result["removed"]["bytes"]) == (2, 7_000_000)
    assert sorted(path.name.split("-")[0] for path in root.iterdir()) == ["model", "model"]


def test_entries_beyond_a_size_are_removed_by_age(capsys, root):
    result = doctor(capsys, "--prune-to '5.5 MB'")
    assert (result["entries"], result["bytes"]) == (2, 3_000_000)
    result = doctor(capsys, "--prune-to 1000000")
    assert [*result["kinds"]] == ["model"] and result["bytes"] == 1_000_000
    assert doctor(capsys, "--prune-to 0")["entries"] == 0


def test_removals_are_reported(capsys, root):
    (root / "notes.txt").write_text("own")
    (root / f"{PREFIX}old").mkdir()
    os.utime(root / f"{PREFIX}old", (1000, 1000))
    assert run_spica("doctor --cache --prune-older 2d --prune-to 1MB") == 0
    assert (
        "Removed 3 entries, 9.0 MB: 1 program, 1 emission, 1 model. "
        "Removed 1 leftovers of killed builds." in capsys.readouterr().out
    )
    assert (root / "notes.txt").read_text() == "own"


def test_an_absent_cache_is_empty(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("SPICA_CACHE", str(tmp_path / "none"))
    result = doctor(capsys, "--prune-to 0")
    assert result["entries"] == result["removed"]["entries"] == 0
    assert result["oldest_use"] is None
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            "--cache --prune-older 3y",
            "--prune-older must be a number with one of the units m, h, d, w, as in 30d, not '3y'",
        ),
        (
            "--cache --prune-older 30",
            "--prune-older must be a number with one of the units m, h, d, w, as in 30d, not '30'",
        ),
        (
            "--cache --prune-to much",
            "--prune-to must be a number with one of the units KB, MB, GB, TB, as in 2GB, "
            "not 'much'",
        ),
        ("--prune-to 2GB", "--prune-older and --prune-to need --cache"),
    ],
)
def test_bad_limits_are_one_sentence(capsys, root, options, sentence):
    assert refused(capsys, f"doctor {options}") == sentence
    assert len(list(root.iterdir())) == 4


def test_a_file_in_place_of_the_cache_is_one_sentence(capsys, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SPICA_CACHE", str(tmp_path / "file"))
    assert "the cache must be a folder, not the file" in refused(
        capsys, "doctor --cache --prune-to 0"
    )
