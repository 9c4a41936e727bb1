"""Tests of spica.compare and spica.sweep: figures, machines, frames, stored points, messages."""

import sys

import pytest

import spica
from spica.base.errors import UserError
from spica.cli.main import main
from spica.hw.presets import PRESETS
from spica.hw.presets.override import override

pytest.importorskip("pandas")

ISS = {"engine": "iss", "jobs": 1, "progress": False}


@pytest.mark.full
def test_frame_has_a_row_per_point(cache, tmp_path):
    over = {"core.l1d.mshrs": [4, 5], "core.l1d.size": [1000, 1024]}
    frame = spica.sweep("vecadd", "tiny", over, n=50, **ISS)
    assert list(frame["core.l1d.mshrs"]) == [4, 5, 4, 5]
    assert list(frame.status) == ["pass", "pass", "illegal", "illegal"]
    assert frame.instructions[:2].notna().all() and frame.instructions[2:].isna().all()
    table = tmp_path / "t.csv"
    command = ("sweep", "vecadd", "--engine", "iss", "--size", "50", "--preset", "tiny")
    main((*command, "--over", "core.l1d.mshrs=4,5", "--csv", str(table)))
    assert table.read_text().splitlines()[0].split(",")[2:] == list(frame.columns)[3:]


@pytest.mark.full
def test_machines_may_be_configs(cache):
    machines = {"own": override(PRESETS["tiny"], ["core.l1d.mshrs=5"])}
    seen = []
    options = ISS | {"progress": lambda *step: seen.append(step)}
    frame = spica.sweep("vecadd", machines, n=50, **options)
    assert [*frame.preset] == ["own"] and [*frame.status] == ["pass"]
    assert seen[0] == ("sweep", 0, 1) and seen[-1][:3] == ("sweep", 1, 1)
    seen.clear()
    machines = {"own": override(PRESETS["tiny"], ["core.l1d.mshrs=6"])}
    comparison = spica.compare("vecadd", machines, n=50, area=False, **options)
    assert comparison.report()["machines"][0]["result"]["preset"] == "own"
    assert seen[0][0] == "checking the problem" and seen[-1][:3] == ("sweep", 1, 1)


def test_points_may_be_predicted(cache):
    options = {"analytic": True, "jobs": 1, "progress": False}
    frame = spica.sweep("gemm", "virgo", {"dram.latency": [50, 400]}, m=64, n=64, k=64, **options)
    assert [*frame.status] == ["pass", "pass"] and frame.cycles[1] > frame.cycles[0] > 0
    frame = spica.sweep("gemm_bias", ["virgo", "virgo_fp32"], m=64, n=64, k=64, **options)
    assert [*frame.status] == ["pass", "pass"] and min(frame.least_cycles) > 0
    frame = spica.sweep("attention", ["virgo", "hopper"], queries=64, depth=64, **options)
    assert [*frame.status] == ["pass", "pass"] and min(frame.least_cycles) > 0
    with pytest.raises(UserError, match=r"analytic model needs gemm, gemm_bias, .* or attention"):
        spica.sweep("vecadd", "virgo", n=64, **options)


@pytest.mark.parametrize(
    ("explore", "arguments", "message"),
    [
        (spica.sweep, ("vecad", "tiny"), "kernel must be one of"),
        (spica.sweep, ("vecadd", "tinny"), "machines must be of tiny_matrix, .* not 'tinny'"),
        (spica.sweep, ("vecadd", "tiny", {"core.warps": []}), "must be a field with its values"),
        (spica.sweep, ("sgemm", "tiny"), "sizes of sgemm must be m, n, k, not n"),
        (
            spica.sweep,
            ("gemm", "matrix"),
            "not run on engine iss; choose engine verilator or",
        ),
        (spica.sweep, ("vecadd", "matrix"), "vecadd needs cores"),
        (spica.compare, ("vecad", "tiny"), "kernel must be one of"),
        (spica.compare, ("vecadd", "tinny"), "machines must be of tiny_matrix, .* not 'tinny'"),
        (spica.compare, ("vecadd", []), "a comparison needs at least one machine"),
        (spica.compare, ("vecadd", "tiny,core.l1d.size=1000"), "cannot set core.l1d.size=1000"),
        (spica.compare, ("sgemm", "tiny"), "sizes of sgemm must be m, n, k, not n"),
    ],
)
def test_bad_input_is_explained(explore, arguments, message):
    with pytest.raises(UserError, match=message):
        explore(*arguments, n=50, **ISS)


def test_a_missing_pandas_is_explained(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UserError, match=r"pip install 'spica\[sweep\]'"):
        spica.sweep("vecadd", "tiny", n=50, **ISS)


@pytest.mark.full
def test_energy_of_points():
    options = {"m": 16, "n": 16, "k": 16, "jobs": 1, "progress": False}
    frame = spica.sweep("gemm", "tiny_matrix", energy=True, **options)
    assert frame.energy_pj[0] == pytest.approx(frame.pj_per_mac[0] * 16**3)
    comparison = spica.compare("gemm", ["tiny_matrix"], energy=True, area=False, **options)
    rows = {(figure.section, figure.name): figure.values[0] for figure in comparison.figures}
    assert rows["energy", "total_pj"] == pytest.approx(frame.energy_pj[0])
    with pytest.raises(UserError, match=r"energy=True needs engine verilator, not iss"):
        spica.sweep("vecadd", "tiny", energy=True, n=50, **ISS)


def test_figures_are_those_of_the_runs(cache):
    comparison = spica.compare("vecadd", ["tiny", "tiny,core.warps=8"], n=50, area=False, **ISS)
    assert comparison.is_passed and comparison.names == ["tiny", "tiny,core.warps=8"]
    (retired,) = [figure for figure in comparison.figures if figure.name == "retired"]
    results = [row.record.result for row in comparison.rows]
    assert list(retired.values) == [result["instructions"]["warp"] for result in results]
    assert retired.ratios[1] == retired.values[1] / retired.values[0]
    assert "| retired |" in comparison.markdown()
