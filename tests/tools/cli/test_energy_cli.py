"""Tests of ``spica run --energy-gates``: sections of the result, report, bad input."""

import re

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from spica.explore.energy.section import dram_entry, energy_section
from spica.sim.report.energy_report import energy_lines, energy_table
from spica.sim.report.result import result_schema
from spica.sim.report.tables import text_of
from spica.synth.energy.design_energy import PartEnergy, PowerSum
from spica.synth.energy.sampling import Part
from support.command_line import refused
from support.synth.small_library import SMALL_LIBRARY

RUN = "run gemm --preset tiny_matrix --size 16"
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
    monkeypatch.setattr("spica.cli.execution.run_with_gates", refused_run)
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--energy-gates", "--energy-gates needs --liberty, a cell library with power tables"),
        ("--liberty small.lib", "--liberty needs --energy-gates"),
        ("--energy-gates --liberty absent.lib", "there is none at"),
        ("--energy-gates --liberty bare.lib", "must name a library with power tables"),
        ("--energy-gates --liberty gates.lib", "must hold a flip-flop"),
        ("--energy-gates --liberty small.lib --sram-table areas.csv", "has none called read_pj"),
        (
            "--energy-gates --liberty small.lib --energy-windows 16",
            "--energy-windows must be windows and cycles of each, as in 128x8, not '16'",
        ),
        (
            "--energy-gates --liberty small.lib --clock 0",
            "--clock must be a positive number of MHz, not 0",
        ),
        (
            "--energy-gates --liberty small.lib --engine amaranth",
            "--energy-gates needs --engine verilator, not amaranth",
        ),
        (
            "--energy-gates --liberty small.lib --save a.run --save-at 9",
            "--energy-gates needs a whole run; leave out --save and --restore",
        ),
    ],
)
@pytest.mark.usefixtures("files")
def test_bad_input_is_one_sentence(capsys, options, message):
    assert message in refused(capsys, f"{RUN} {options}")


@pytest.mark.usefixtures("files")
def test_cores_at_a_simple_memory_are_refused(capsys):
    command = "run vecadd --preset core --energy-gates --liberty small.lib"
    assert "--energy-gates needs the whole cluster with DRAM" in refused(capsys, command)
