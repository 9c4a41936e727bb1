"""Tests of energy on the command line: sections of the result, sums, report, bad input."""

import json
import re

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from spica.explore.energy.event_data import read_energies
from spica.explore.energy.event_model import EventOptions, event_section
from spica.explore.energy.event_table import EventCounts, event_blocks
from spica.explore.energy.section import dram_entry, energy_section
from spica.hw.presets import PRESETS
from spica.sim.report.energy_report import energy_lines, energy_table
from spica.sim.report.result import result_schema
from spica.sim.report.tables import text_of
from spica.synth.energy.design_energy import PartEnergy, PowerSum
from spica.synth.energy.sampling import Part
from support.command_line import refused, run_spica
from support.synth.small_library import SMALL_LIBRARY

PRESET = "tiny_matrix"
CONFIG = PRESETS[PRESET]
RUN = f"run gemm --preset {PRESET} --size 16"
GATES = f"{RUN} --energy-gates --liberty small.lib"
TABLE = "macro,ports,words,width,read_pj,write_pj,leakage_nw,area_um2\nwide,1,256,32,20,30,9,1000\n"


def part(group, counting, **power):
    return PartEnergy(
        part=Part(block=f"{group}_1", group=group, instances=("t.a", "t.b")),
        power=PowerSum(**power),
        sampled=1,
        windows=4,
        counting=counting,
        cycles=256,
        reads=0.5,
        writes=0.25,
        errors=np.array([0.75, -0.25] * 4) * counting,
        differing=() if counting == 4 else ("o[3]",),
    )


@pytest.fixture
def energy():
    parts = [
        part("DMA", 4, internal=1.0, switching=0.5, clock=2.0, ungated_clock=5.0, leakage=1e6),
        part("L2", 3, internal=0.25, memory=4.0, memory_leakage=1e6),
    ]
    source = {
        "liberty": "some.lib",
        "voltage": 1.2,
        "sram_table": None,
        "windows": 4,
        "sampled_cycles": 256,
        "instances": 4,
        "instances_sampled": 2,
        "rules": ["Left out: wires."],
    }
    dram = dram_entry({"read_bytes": 100, "written_bytes": 25}, 3.5)
    return energy_section(parts, cycles=1000, macs=500, megahertz=200.0, source=source, dram=dram)


def test_section(energy):
    Draft202012Validator(result_schema()["properties"]["energy"]).validate(energy)
    assert energy["total_pj"] == 7750.0
    assert energy["ungated_total_pj"] == 10_750.0
    # Batches of all parts are at the same times, so their errors are added before the spread.
    assert energy["standard_error_pj"] == pytest.approx(1000 * (4 + 3) / 4)
    assert energy["by_group"]["L2"]["standard_error_pj"] == pytest.approx(1000 * 3 / 4)
    assert energy["pj_per_mac"] == 15.5
    assert energy["by_group"]["DMA"]["total_pj"] == 3500.0
    assert energy["by_group"]["L2"]["memory_pj"] == 4000.0
    # 1000 cycles at 200 MHz are 5 us; 2 mW leak.
    assert energy["power_mw"] == pytest.approx(1.55)
    assert energy["leakage_mw"] == pytest.approx(2.0)
    assert energy["leakage_pj"] == pytest.approx(10_000.0)
    assert energy["energy_delay_js"] == pytest.approx(7750e-12 * 5e-6)
    assert energy["blocks"][0]["memory_reads"] == 500.0
    assert energy["dram"] == {"pj_per_bit": 3.5, "bytes": 125, "total_pj": 3500.0}


def test_report(energy):
    text = "\n".join(energy_lines(energy))
    assert "Energy of the whole run: 7.75 nJ, 15.5 pJ per MAC, without leakage" in text
    assert "Average power at 200 MHz: 1.55 mW, leakage 2 mW (10 nJ)" in text
    assert "Windows that do not count: 1 of 4 of L2_1 (L2); different values in o[3]" in text
    assert "DRAM, not included: 3.5 nJ, 125 bytes at 3.5 pJ per bit" in text
    assert "DRAM" not in "\n".join(energy_lines(energy | {"dram": None}))
    assert "Left out: wires." in text
    table = text_of(energy_table(energy), 120)
    assert re.search(r"54.84 % +4.25 nJ +L2", table)
    assert re.search(r"100.00 % +7.75 nJ +total", table)


def test_a_part_without_energy_is_said(energy):
    energy["blocks"][1]["windows_counted"] = 0
    assert "its dynamic energy is missing" in "\n".join(energy_lines(energy))


def refused_run(*_, **__):
    raise AssertionError("the command must be refused before the run")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Provide libraries and tables, good ones and others; no run begins."""
    for run in ("run_with_gates", "run_with_events"):
        monkeypatch.setattr(f"spica.cli.execution.{run}", refused_run)
    bare = re.sub(r"internal_power \(\)", "other ()", SMALL_LIBRARY)
    for name, text in {
        "small.lib": SMALL_LIBRARY,
        "bare.lib": re.sub(r"cell_leakage_power : \d+;", "", bare),
        "gates.lib": SMALL_LIBRARY[: SMALL_LIBRARY.index("  cell (DFF)")] + "}\n",
        "areas.csv": TABLE.replace("read_pj", "other"),
        "one_port.csv": TABLE,
    }.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)


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
            for name, energies_of_event in events.items():
                clock = name.removesuffix("_cycles")
                total += energies_of_event * (
                    cycles[clock] if clock in cycles else counts.count(block, name)
                )
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
    clock_energies = (energies.find(block).clock_pj for block in event_blocks(CONFIG))
    assert ungated == pytest.approx(
        sum(sum(energies_of_event.values()) for energies_of_event in clock_energies)
    )


def test_the_report_has_the_differences_of_the_preset(result):
    text = "\n".join(energy_lines(result["energy"]))
    for use in ("fitted to: at most", "not fitted to: at most"):
        assert use in text
    other = result["energy"] | {"fit": {"runs": [], "data_factors": {}}}
    assert "Difference from gates: not measured on this preset" in "\n".join(energy_lines(other))


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            f"{RUN} --energy-gates",
            "--energy-gates needs --liberty, a cell library with power tables",
        ),
        (f"{RUN} --liberty small.lib", "--liberty needs --energy-gates"),
        (f"{RUN} --energy-gates --liberty absent.lib", "there is none at"),
        (f"{RUN} --energy-gates --liberty bare.lib", "must name a library with power tables"),
        (f"{RUN} --energy-gates --liberty gates.lib", "must hold a flip-flop"),
        (f"{GATES} --sram-table areas.csv", "has none called read_pj"),
        (
            f"{GATES} --energy-windows 16",
            "--energy-windows must be windows and cycles of each, as in 128x8, not '16'",
        ),
        (f"{GATES} --clock 0", "--clock must be a positive number of MHz, not 0"),
        (f"{GATES} --engine amaranth", "--energy-gates needs --engine verilator, not amaranth"),
        (
            f"{GATES} --save a.run --save-at 9",
            "--energy-gates needs a whole run; leave out --save and --restore",
        ),
        (
            "run vecadd --preset core --energy-gates --liberty small.lib",
            "--energy-gates needs the whole cluster with DRAM",
        ),
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
@pytest.mark.usefixtures("files")
def test_bad_input_is_one_sentence(capsys, command, message):
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
        (figure["section"], figure["name"]): figure["values"][0]
        for figure in json.loads(page.read_text())["figures"]
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
