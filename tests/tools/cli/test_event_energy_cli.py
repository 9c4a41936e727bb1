"""Tests of ``spica run --energy``: sum by hand, report, blocks without data, bad input."""

import json

import pytest
from jsonschema import Draft202012Validator

from spica.explore.energy.event_data import read_energies
from spica.explore.energy.event_model import EventOptions, event_section
from spica.explore.energy.event_table import EventCounts, event_blocks
from spica.hw.config import PRESETS
from spica.sim.report.energy_report import energy_lines
from spica.sim.report.result import result_schema
from support.command_line import refused, run_spica

PRESET = "tiny_matrix"
CONFIG = PRESETS[PRESET]
RUN = f"run gemm --preset {PRESET} --size 16"


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """Provide the result of a run with energy at 200 MHz."""
    path = tmp_path_factory.mktemp("energy") / "result.json"
    options = f"--energy --clock 200 --dram-energy 4 --json {path}"
    assert run_spica(f"{RUN} {options}") == 0
    return json.loads(path.read_text())


def test_energy_is_the_sum_of_groups(result):
    Draft202012Validator(result_schema()).validate(result)
    energy, energies = result["energy"], read_energies()
    counters, clocked = result["counters"], result["clocked_cycles"]
    cycles = {name: clocked[name] for name in ("dma", "shared", "matrix", "sync")}
    total = leakage = 0.0
    for block in event_blocks(CONFIG):
        row = energies.find(block)
        counts = EventCounts(result, CONFIG)
        for events in (row.clock_pj, row.logic_pj, row.memory_pj):
            for name, each in events.items():
                clock = name.removesuffix("_cycles")
                total += each * (cycles[clock] if clock in cycles else counts.count(block, name))
        leakage += row.leakage_nw
        if block.group == "mesh":
            assert counts.count(block, "matrix_active") == counters["matrix_active"]
    assert energy["model"] == "events"
    assert energy["total_pj"] == pytest.approx(total)
    assert sum(group["total_pj"] for group in energy["by_group"].values()) == pytest.approx(total)
    assert energy["pj_per_mac"] == pytest.approx(total / 16**3)
    microseconds = result["run_cycles"] / 200
    assert energy["power_mw"] == pytest.approx(total / microseconds * 1e-3)
    assert energy["leakage_mw"] == pytest.approx(leakage * 1e-6)
    assert energy["energy_delay_js"] == pytest.approx(total * 1e-12 * microseconds * 1e-6)
    assert energy["dram"]["total_pj"] == 8 * 4.0 * energy["dram"]["bytes"]
    ungated = energy["ungated_clock_pj"] / result["run_cycles"]
    found = (energies.find(block).clock_pj for block in event_blocks(CONFIG))
    assert ungated == pytest.approx(sum(sum(each.values()) for each in found))


def test_the_report_has_the_differences_of_the_preset(result):
    text = "\n".join(energy_lines(result["energy"]))
    for use in ("fitted to: at most", "not fitted to: at most"):
        assert use in text
    other = result["energy"] | {"fit": {"runs": [], "data_factors": {}}}
    assert "Difference from gates: not measured on this preset" in "\n".join(energy_lines(other))


def refused_run(*_, **__):
    raise AssertionError("the command must be refused before the run")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (f"{RUN} --clock 200", "--clock needs --energy or --energy-gates"),
        (f"{RUN} --energy --liberty a.lib", "--liberty needs --energy-gates"),
        (f"{RUN} --energy --energy-gates", "--energy does not apply to --energy-gates"),
        (f"{RUN} --energy --clock -1", "--clock must be a positive number of MHz"),
        (f"{RUN} --energy --engine amaranth", "--energy needs engine verilator"),
        (
            f"{RUN} --energy --set shared.banks=4 --set matrix.operand=bf16",
            "--energy has no event energies of mesh (matrix.rows=4 matrix.columns=4 "
            "matrix.dataflow=weight_stationary matrix.operand=bf16); accumulator (",
        ),
        (
            f"{RUN} --energy --save a.run --save-at 9",
            "--energy needs a whole run; leave out --save and --restore",
        ),
        ("run vecadd --preset core --energy", "--energy needs the whole cluster with DRAM"),
        ("sweep gemm --preset virgo --energy --analytic", "--energy does not apply to --analytic"),
        ("sweep vecadd --preset core --energy", "--energy needs the whole cluster with DRAM"),
    ],
)
def test_bad_input_is_one_sentence(capsys, monkeypatch, command, message):
    monkeypatch.setattr("spica.cli.execution.run_with_events", refused_run)
    assert message in refused(capsys, command)


@pytest.mark.full
def test_sweep_and_compare_have_the_energy(result, tmp_path, capsys):
    table, page = tmp_path / "table.csv", tmp_path / "page.json"
    common = f"gemm --preset {PRESET} --size 16 --energy --jobs 1"
    assert run_spica(f"sweep {common} --csv {table}") == 0
    heads, row = (line.split(",") for line in table.read_text().splitlines())
    figures = dict(zip(heads, row, strict=True))
    total = result["energy"]["total_pj"]
    assert float(figures["energy_pj"]) == pytest.approx(total)
    assert float(figures["pj_per_mac"]) == pytest.approx(total / 16**3)
    capsys.readouterr()
    assert run_spica(f"compare {common} --no-area --json {page}") == 0
    rows = {
        (each["section"], each["name"]): each["values"][0]
        for each in json.loads(page.read_text())["figures"]
    }
    assert rows["energy", "total_pj"] == pytest.approx(total)
    groups = [value for (section, _), value in rows.items() if section == "energy_groups"]
    assert sum(groups) == pytest.approx(total)


def test_a_chart_of_energy_needs_the_option(capsys, tmp_path):
    command = f"sweep gemm --preset {PRESET} --over dma.outstanding=8,16"
    sentence = refused(capsys, f"{command} --plot energy_pj,cycles -o {tmp_path / 'new'}")
    assert "--plot energy_pj,cycles needs --energy, which computes energy_pj" in sentence


@pytest.mark.full
def test_the_label_of_a_design_need_not_be_a_name(result):
    """Labels of `spica compare` have settings, and those of `spica reproduce` a comment."""
    labelled = event_section(
        result | {"preset": f"{PRESET},dma.masters=1, as published"}, CONFIG, EventOptions()
    )
    assert labelled["total_pj"] == result["energy"]["total_pj"]
