"""Tests of MAC utilisations under the restrictions of the published machine, from made-up ones."""

import json
import math

import pytest

from spica.cli.main import main
from spica.explore.charts.bars import stacked_charts
from spica.explore.charts.files import svg
from spica.explore.reproduce import reproduced
from spica.explore.reproduce.published import DESIGNS
from spica.explore.reproduce.restrictions import RESTRICTIONS, restricted, tile_of
from spica.explore.reproduce.runs import gemm_run
from spica.explore.reproduce.waterfall import waterfall
from spica.explore.work.record import FAIL, PASS
from spica.hw.presets import PRESETS
from support.charts import texts_of
from support.results import made_up, row_of

#: Made-up energy per multiply-add at full utilisation, and the part of it in the units that
#: multiply.
ENERGY = {"volta": 60.0, "ampere": 50.0, "hopper": 30.0, "virgo": 20.0}
UNITS = {"volta": 5.0, "ampere": 6.0, "hopper": 7.0, "virgo": 12.0}
APART, MEMORY, ISSUE, NARROW, SERIAL = RESTRICTIONS


def utilization_of(run):
    """Return a made-up utilisation: each restriction of the run costs a part of its own."""
    lost = 0.1 * (run.sizes["m"] < 256)
    lost += 0.2 * (run.options.memory.bytes_per_cycle == 11)
    lost += 0.03 * (not run.config.core.snoop)
    if not run.config.core.row_port:
        lost += {2: 0.15, 1: 0.25}[run.config.core.shared_ports]
    return 0.9 - lost


@pytest.fixture
def planned(monkeypatch):
    """Return the list of runs that are carried out; those of its second element fail."""
    runs, failed = [], []

    def sweep(plan, **_):
        runs.extend(point.run for point in plan.points)
        rows = []
        for run in runs:
            verdict = FAIL if run.preset in failed else PASS
            macs, share = math.prod(run.sizes.values()), utilization_of(run)
            cycles = round(macs / 256 / share)
            result = made_up(run.preset, cycles=cycles, polling=0, units=None, verdict=verdict)
            result |= {"mac_utilization": share, "sizes": run.sizes}
            unit = "mesh" if run.preset == "virgo" else "tensor"
            parts = {unit: UNITS[run.preset], "LSU": ENERGY[run.preset] - UNITS[run.preset]}
            groups = {name: {"total_pj": macs * part / share} for name, part in parts.items()}
            result |= {"energy": {"by_group": groups}}
            rows.append(row_of(run.preset, result))
        return rows

    monkeypatch.setattr(reproduced, "sweep", sweep)
    return runs, failed


def test_each_restriction_is_measured_alone_and_with_those_before_it(planned):
    measured = waterfall(sizes=(256,))
    steps = {step.label: step for step in measured.steps if step.design == "volta"}
    alone = [steps[restriction.label].alone for restriction in RESTRICTIONS]
    assert alone == pytest.approx([0.8, 0.7, 0.87, 0.75, 0.65])
    together = [steps[restriction.label].together for restriction in RESTRICTIONS]
    assert together == pytest.approx([0.8, 0.6, 0.57, 0.42, 0.32])
    assert measured.rest("volta", 256) == pytest.approx(0.32 - 0.256)


def test_a_restriction_that_does_not_concern_a_design_is_not_run(planned):
    measured = waterfall(sizes=(256,))
    steps = {step.label: step for step in measured.steps if step.design == "virgo"}
    assert steps[NARROW.label].alone is None
    assert steps[NARROW.label].together == steps[ISSUE.label].together == pytest.approx(0.57)
    runs, _ = planned
    assert all(run.config.core.row_port for run in runs if run.preset in ("hopper", "virgo"))
    assert len({run.key for run in runs}) == len(runs) == 2 * 6 + 2 * 10


def test_a_tile_by_itself_has_all_of_k():
    for design in DESIGNS:
        run = restricted(gemm_run(design, 512), [APART])
        rows, columns = tile_of(PRESETS[design])
        assert run.sizes == {"m": rows, "n": columns, "k": 512}
        assert rows * columns == 8192


def test_restrictions_change_what_they_say_and_nothing_else():
    run = gemm_run("ampere", 256)
    assert restricted(run, []) == run
    both = restricted(run, [MEMORY, NARROW, SERIAL])
    assert both.options.memory.bytes_per_cycle == 11
    assert (both.config.core.row_port, both.config.core.shared_ports) == (False, 1)
    assert both.config.core.snoop and both.sizes == run.sizes
    assert run.config.core.row_port


def test_energies_are_of_the_restrictions_that_concern_a_design(planned):
    measured = waterfall(sizes=(256,))
    rows = {len(row["restrictions"]): row["virgo_to"] for row in measured.report()["energy"]}
    assert rows[0]["hopper"]["energy"] == pytest.approx(20 / 30)
    assert rows[1]["volta"]["energy"] == pytest.approx(20 / 60)
    virgo, volta = 20 / 0.57, 60 / 0.32
    last = rows[len(RESTRICTIONS)]["volta"]
    assert last["energy"] == pytest.approx(virgo / volta)
    assert last["power"] == pytest.approx(20 / 60, rel=1e-4)  # cycles are whole


def test_a_matrix_unit_can_take_the_energy_of_the_tensor_units(planned):
    measured = waterfall(sizes=(256,))
    rows = [row["virgo_with_equal_units_to"] for row in measured.report()["energy"]]
    assert rows[0]["hopper"]["energy"] == pytest.approx((20 - 12 + 7) / 30)
    virgo, volta = (20 - 12) / 0.57 + 5 / 0.32, 60 / 0.32
    last = rows[-1]["volta"]
    assert last["energy"] == pytest.approx(virgo / volta)
    assert last["power"] == pytest.approx(virgo / volta * 0.57 / 0.32, rel=1e-4)


def test_a_failed_design_has_no_energy(planned):
    _, failed = planned
    failed.append("hopper")
    _, (title, heads, lines), (equal, _, _) = waterfall(sizes=(256,)).tables
    assert title.startswith("energy and power of gemm") and "took the energy" in equal
    assert heads[-2:] == ["energy to Hopper-style", "power to Hopper-style"]
    (ours, cells), *_, (published, figures) = lines
    assert (ours, cells) == ("Spica", ["33.33 %", "33.33 %", "40.00 %", "40.00 %", "-", "-"])
    ratios = ["-", "-", "19.70 %", "32.70 %", "67.50 %", "75.80 %"]
    assert (published, figures) == ("published", ratios)


def test_reports_have_every_figure(planned):
    _, failed = planned
    failed.append("hopper")
    measured = waterfall(sizes=(256, 512))
    assert not measured.is_passed
    assert measured.notes[0].startswith("hopper, 256: fail.")
    report = json.loads(json.dumps(measured.report(), allow_nan=False))
    assert len(report["steps"]) == 2 * len(DESIGNS) * len(RESTRICTIONS)
    rest = {
        (design["design"], design["size"]): design["not_explained"] for design in report["designs"]
    }
    assert rest["hopper", 256] is None
    assert rest["virgo", 512] == pytest.approx(0.57 - 0.779)
    text = measured.markdown()
    for title, heads, lines in measured.tables:
        assert f"## {title}" in text and f"| restriction | {' | '.join(heads)} |" in text
        for label, cells in lines:
            assert f"| {label} | {' | '.join(cells)} |" in text
    texts = texts_of(svg(stacked_charts(measured.title, measured.charts())))
    assert "Virgo, 512 x 512 x 512" in texts and "77.90 %" in texts


def test_command(planned, capsys):
    assert main(["reproduce", "table3", "--as-published", "--quick"]) == 0
    printed = capsys.readouterr().out
    assert "as published (table 3), 256 x 256 x 256" in printed
    assert "not explained" in printed and "512 x" not in printed
    assert main(["reproduce", "table4", "--as-published"]) == 2
    assert "--as-published applies to table3, not to table4" in capsys.readouterr().err
