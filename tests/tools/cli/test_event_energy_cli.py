"""Tests of ``spica run --energy``: sum by hand, blocks with other data or none, bad input."""

import json
from dataclasses import replace

import pytest
from jsonschema import Draft202012Validator

from spica.cli.main import main
from spica.explore.energy.event_data import SAME, read_energies
from spica.explore.energy.event_model import EventOptions, event_section
from spica.explore.energy.event_table import EventCounts
from spica.hw.config import PRESETS
from spica.sim.report.energy_report import energy_lines
from spica.sim.report.result import result_schema
from spica.synth.clocked_parts import cluster_parts

PRESET = "tiny_matrix"
CONFIG = PRESETS[PRESET]
RUN = ["run", "gemm", "--preset", PRESET, "--size", "16"]


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """Provide the result of a run with energy at 200 MHz."""
    path = tmp_path_factory.mktemp("energy") / "result.json"
    options = ["--energy", "--clock", "200", "--dram-energy", "4", "--json", str(path)]
    assert main([*RUN, *options]) == 0
    return json.loads(path.read_text())


def sections(result, energies):
    energy = event_section(result, CONFIG, EventOptions(), energies)
    return energy, "\n".join(energy_lines(energy))


def test_energy_is_the_sum_of_blocks(result):
    Draft202012Validator(result_schema()).validate(result)
    energy, energies = result["energy"], read_energies()
    counters, clocked = result["counters"], result["clocked_cycles"]
    total = leakage = 0.0
    for part in cluster_parts(CONFIG, PRESET):
        row = energies.find(part).energies
        cycles = sum(
            count * (clocked[place.domain] if place.is_clocked else result["run_cycles"])
            for place, count in part.places.items()
        )
        counts = EventCounts(result, CONFIG)
        total += (row.clock_pj + row.logic_cycle_pj + row.memory_cycle_pj) * cycles
        for events in (row.logic_pj, row.memory_pj):
            total += sum(each * counts.count(part, name) for name, each in events.items())
        leakage += row.leakage_nw * part.instances
        if part.group == "mesh":
            assert counts.count(part, "matrix_active") == (
                part.instances * counters["matrix_active"]
            )
    assert energy["model"] == "events"
    assert energy["total_pj"] == pytest.approx(total)
    assert sum(group["total_pj"] for group in energy["by_group"].values()) == pytest.approx(total)
    assert energy["pj_per_mac"] == pytest.approx(total / 16**3)
    microseconds = result["run_cycles"] / 200
    assert energy["power_mw"] == pytest.approx(total / microseconds * 1e-3)
    assert energy["leakage_mw"] == pytest.approx(leakage * 1e-6)
    assert energy["energy_delay_js"] == pytest.approx(total * 1e-12 * microseconds * 1e-6)
    assert energy["dram"]["total_pj"] == 8 * 4.0 * energy["dram"]["bytes"]


def test_data_of_the_preset_are_those_of_its_blocks(result):
    """The event energies are fitted again when the RTL of a block of this preset changes."""
    energies = read_energies()
    parts = cluster_parts(CONFIG, PRESET)
    others = [part.block for part in parts if energies.find(part).relation != SAME]
    assert others == [], "run `python -m bench.energy_events` as in docs/energy.md"
    fit = result["energy"]["fit"]
    assert (fit["stale"], fit["similar"], fit["missing"]) == ([], [], [])


@pytest.mark.full
def test_a_stale_block_is_said(result):
    energies = read_energies()
    blocks = [
        replace(each, digest="older") if each.kind == "Control" else each
        for each in energies.blocks
    ]
    energy, text = sections(result, replace(energies, blocks=blocks))
    (stale,) = energy["fit"]["stale"]
    assert stale["block"].startswith("control_")
    assert f"Stale: the RTL of {stale['block']} has changed since the fit" in text


def test_a_block_without_data_is_listed(result):
    energies = read_energies()
    blocks = [each for each in energies.blocks if each.kind != "WeightStationaryMesh"]
    energy, text = sections(result, replace(energies, blocks=blocks))
    (missing,) = energy["fit"]["missing"]
    assert f"Without data, not included in any energy: {missing['block']}" in text
    assert energy["total_pj"] < result["energy"]["total_pj"]


def test_another_config_is_flagged(result):
    energies = read_energies()
    blocks = [
        replace(each, digest="other", block="mesh_of_another_unit")
        if each.kind == "WeightStationaryMesh"
        else each
        for each in energies.blocks
    ]
    energy, text = sections(result, replace(energies, blocks=blocks))
    (similar,) = energy["fit"]["similar"]
    assert similar["data"] == "mesh_of_another_unit"
    assert "(mesh_of_another_unit)" in text


def refused_run(*_, **__):
    raise AssertionError("the command must be refused before the run")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ([*RUN, "--clock", "200"], "--clock needs --energy or --energy-gates"),
        ([*RUN, "--energy", "--liberty", "a.lib"], "--liberty needs --energy-gates"),
        ([*RUN, "--energy", "--energy-gates"], "--energy does not apply to --energy-gates"),
        ([*RUN, "--energy", "--clock", "-1"], "--clock must be a positive number of MHz"),
        ([*RUN, "--energy", "--engine", "amaranth"], "--energy needs engine verilator"),
        (
            [*RUN, "--energy", "--save", "a.run", "--save-at", "9"],
            "--energy needs a whole run; leave out --save and --restore",
        ),
        (
            ["run", "vecadd", "--preset", "core", "--energy"],
            "--energy needs the whole cluster with DRAM",
        ),
        (
            ["sweep", "gemm", "--preset", "virgo", "--energy", "--analytic"],
            "--energy does not apply to --analytic",
        ),
        (
            ["sweep", "vecadd", "--preset", "core", "--energy"],
            "--energy needs the whole cluster with DRAM",
        ),
    ],
)
def test_bad_input_is_one_sentence(capsys, monkeypatch, command, message):
    monkeypatch.setattr("spica.cli.execution.run_with_events", refused_run)
    assert main(command) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.strip().splitlines()) == 1


@pytest.mark.full
def test_sweep_and_compare_have_the_energy(result, tmp_path, capsys):
    table, page = tmp_path / "table.csv", tmp_path / "page.json"
    common = ["gemm", "--preset", PRESET, "--size", "16", "--energy", "--jobs", "1"]
    assert main(["sweep", *common, "--csv", str(table)]) == 0
    heads, row = (line.split(",") for line in table.read_text().splitlines())
    figures = dict(zip(heads, row, strict=True))
    total = result["energy"]["total_pj"]
    assert float(figures["energy_pj"]) == pytest.approx(total)
    assert float(figures["pj_per_mac"]) == pytest.approx(total / 16**3)
    assert float(figures["energy_own_data"]) == 1.0
    capsys.readouterr()
    assert main(["compare", *common, "--no-area", "--json", str(page)]) == 0
    rows = {
        (each["section"], each["name"]): each["values"][0]
        for each in json.loads(page.read_text())["figures"]
    }
    assert rows["energy", "total_pj"] == pytest.approx(total)
    groups = [value for (section, _), value in rows.items() if section == "energy_groups"]
    assert sum(groups) == pytest.approx(total)
    assert rows["energy", "own_data"] == 1.0


def test_a_chart_of_energy_needs_the_option(capsys, tmp_path):
    command = ["sweep", "gemm", "--preset", PRESET, "--over", "dma.outstanding=8,16"]
    assert main([*command, "--plot", "energy_pj,cycles", "-o", str(tmp_path / "new")]) == 2
    assert "--plot energy_pj,cycles needs --energy, which computes energy_pj" in (
        capsys.readouterr().err
    )


@pytest.mark.full
def test_the_label_of_a_design_need_not_be_a_name(result):
    """Labels of `spica compare` have settings, and those of `spica reproduce` a comment."""
    labelled = event_section(
        result | {"preset": f"{PRESET},dma.masters=1, as published"}, CONFIG, EventOptions()
    )
    assert labelled["total_pj"] == result["energy"]["total_pj"]
    assert labelled["fit"]["missing"] == labelled["fit"]["stale"] == []
