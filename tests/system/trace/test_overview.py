"""Tests of the cluster timeline: drawn data against recorded data, and its options."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from spica.base.errors import MachineError, UserError
from spica.hw.core.issue.stall_reason import StallReason
from spica.hw.emit.emission import EmittedPort
from spica.hw.isa.memory_map import ENTRY
from spica.hw.machine.counters import counter_table
from spica.hw.presets import PRESETS
from spica.kernels.commands import Host
from spica.kernels.gemm.data import operands
from spica.kernels.gemm.host.schedule import schedule
from spica.sim.harness.binding import Layout
from spica.sim.harness.cluster_harness import observed_cluster
from spica.sim.harness.dram import DramConfig
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.program_bench import small_config
from spica.sim.machine.command_machine import CommandMachine
from spica.sim.machine.program_machine import ProgramMachine
from spica.sim.run.options import RunOptions
from spica.sim.run.overview_recording import Overview
from spica.sim.run.product_workload import ProductWorkload, pose
from spica.sim.run.workload import run_workload
from spica.sim.trace import OVERVIEW_SUFFIXES
from spica.sim.trace.overview.activity_records import merged
from spica.sim.trace.overview.cluster_signals import cluster_signals, slot_name
from spica.sim.trace.overview.function_records import series_name
from spica.sim.trace.overview.tracks import Drawing, cluster_tracks
from spica.sim.trace.palette import STALLS
from spica.sim.trace.pipeline.timeline_page import ABOUT
from support.command_line import run_spica
from support.core.core_bench import image
from support.programs.cluster_programs import ROOM, SOURCE, WORDS, unit_program
from support.runs import passed, run_program
from support.trace.random_records import made_up

CONFIG = PRESETS["tiny_matrix"]


ROOT = Path(__file__).parents[3]


def has_section(manual):
    """Return whether a page of the manual has a section, as in ``docs/machine.md#memory``."""
    page, _, section = manual.partition("#")
    heads = re.findall(r"^#+ (.*)$", (ROOT / page).read_text(), re.MULTILINE)
    return section in [head.lower().replace(" ", "-") for head in heads]


def test_tracks_of_cores_name_sections_of_the_manual():
    assert all(has_section(manual) for _, manual in ABOUT.values())


TWO_UNITS = replace(CONFIG, units=CONFIG.units * 2)


@pytest.mark.parametrize("config", [*PRESETS.values(), TWO_UNITS], ids=[*PRESETS, "two_units"])
@pytest.mark.quick(3)
def test_everything_that_is_counted_is_drawn(config):
    records = made_up(config)
    tracks = cluster_tracks(config, records)
    drawn = {name for track in tracks for series in track.series for name in series.names}
    assert drawn == set(records.sums)
    titles = [track.title for track in tracks]
    assert len(set(titles)) == len(titles)
    for track in tracks:
        labels = [series.label for series in track.series]
        assert len(set(labels)) == len(labels), track.title
        assert track.series[0].drawing is Drawing.STACK
        colours = [series.colour for series in track.series]
        assert len(set(colours)) == len(colours), track.title
        assert has_section(track.manual) and all(series.meaning for series in track.series)
        for series in track.series:
            is_stall = re.search("wait|stall|retries", series.label) is not None
            assert not is_stall or series.colour in STALLS, (track.title, series.label)
    for number, _ in enumerate(config.units):
        unit = f"matrix{number or ''}"
        assert {f"{unit} {part}" for part in ("array", "accumulator", "drain")} <= set(titles)


def test_warps_that_wait_do_not_run():
    config = PRESETS["tiny"]
    records = made_up(config)
    (track,) = (one for one in cluster_tracks(config, records) if one.title == "core 0 warps")
    run, wait, sleep = (series.sums(records).tolist() for series in track.series)
    active, waiting, asleep = (
        records.sums[f"core0_{what}"].tolist() for what in ("active", "at_barrier", "asleep")
    )
    assert sleep == asleep
    assert wait == [max(a - b, 0) for a, b in zip(waiting, asleep, strict=True)]
    assert run == [max(a - b, 0) for a, b in zip(active, waiting, strict=True)]


def test_tracks_in_which_nothing_happened_are_left_out():
    records = made_up(CONFIG)
    for name in records.sums:
        if not name.startswith("matrix_"):
            records.sums[name][:] = 0
    assert [track.title for track in cluster_tracks(CONFIG, records)] == ["matrix array"]


def test_a_design_must_show_its_events():
    with pytest.raises(UserError, match="the design must be an observed cluster; this one has no"):
        cluster_signals(CONFIG, Layout([EmittedPort("dma_busy", "output", 1)], ()))


@pytest.fixture(scope="module")
def small_run():
    """Run a small product on an observed machine; return records, marks, execution, problem."""
    problem, steps = pose(CONFIG, 8, 8, 8)
    host = Host()
    schedule(CONFIG, problem, host, steps)
    with CommandMachine(
        CONFIG, name="observed", engine="amaranth", kind=observed_cluster
    ) as machine:
        for address, data in problem.image(*operands(problem, "random", 1)):
            machine.write(address, data)
        overview = Overview(machine, CONFIG)
        execution = machine.execute(host.commands.array())
        records = overview.records()
        return records, overview.marks(records), execution, problem


@pytest.mark.full
def test_what_a_product_records(small_run):
    records, marks, execution, problem = small_run
    assert (records.first, records.end, records.bin_cycles) == (0, execution.cycles, 1)
    beat = CONFIG.axi.data_width // 8
    for number, channel in enumerate(execution.channels):
        assert records.total(f"dma_read_beats_{number}") * beat == channel.read_bytes
        assert records.total(f"dma_write_beats_{number}") * beat == channel.write_bytes
    assert records.total("matrix_active") * CONFIG.units[0].macs >= problem.macs
    assert marks["first command"] == execution.first_command
    assert marks["last write response"] == execution.last_response
    loaded = records.intervals["dma_read_beats_0"][0, 0]
    computed = records.intervals["matrix_active"]
    assert loaded < marks["first compute"] == computed[0, 0]
    assert computed[-1, 1] == marks["last compute"] + 1 < execution.last_response
    exclusive = [name for name in records.sums if re.match("matrix_(active|idle|wait)", name)]
    assert np.sum([records.sums[name] for name in exclusive], axis=0).max() == 1


@pytest.mark.slow
def test_what_cores_record():
    config = small_config(warps=1, threads=1)
    with ProgramMachine(config, engine="amaranth", memory=DramConfig(latency=10)) as machine:
        machine.allow(ENTRY, ROOM)
        machine.write(ENTRY, image(unit_program("dma", config, ENTRY), ROOM))
        machine.write(ENTRY + SOURCE, np.arange(WORDS, dtype=np.uint32))
        overview = Overview(machine, config)
        outcome = machine.run(50_000)
        assert outcome.stop is StopReason.DONE
        records = overview.records()
        marks = overview.marks(records)
        counted = machine.cluster.events()
    for reason in StallReason:
        if reason is not StallReason.IDLE:  # idle cycles before the start are counted here only
            recorded = sum(
                records.total(slot_name("core0", slot, reason))
                for slot in range(config.core.issue_width)
            )
            assert recorded == outcome.slots[0][reason.name], reason
    events = {row.name: records.total(row.name) * row.scale for row in counter_table(config)}
    assert events == counted
    assert records.total("dma_descriptors") == 2
    titles = [track.title for track in cluster_tracks(config, records)]
    assert {"DRAM read m_axi0", "shared lanes", "core 0 issue", "core 0 warps"} <= set(titles)
    assert marks["first command"] < records.intervals["core0_active"][0, 0]
    assert records.intervals["core0_active"][-1, 1] <= records.end


@pytest.mark.slow
@pytest.mark.parametrize("suffix", OVERVIEW_SUFFIXES)
def test_a_kernel_draws_its_timeline(suffix, tmp_path):
    """On Verilator: drawn data equal the host's counter values at the end."""
    path = tmp_path / f"run{suffix}"
    product = ProductWorkload(m=40, n=24, k=48)
    plain, result = (
        run_workload(product, "tiny_matrix", CONFIG, RunOptions(trace=trace))
        for trace in (None, path)
    )
    assert result["check"]["verdict"] == "pass"
    assert result["cycles"] == plain["cycles"]
    assert result["counters"] == plain["counters"]
    text = path.read_text()
    if suffix == ".json":
        totals = json.loads(text)["otherData"]["totals"]
        array = totals["matrix array"]
        assert array["computes"] == result["counters"]["matrix_active"]
        assert array["waits for a drain"] == result["counters"]["matrix_wait_drain"]
        assert totals["DMA"]["descriptor done"] == result["counters"]["dma_descriptors"]
    else:
        assert "gemm 40 x 24 x 48 on tiny_matrix</" in text


TWO_FUNCTIONS = """\
#include <spica.h>
static volatile int sum;
__attribute__((noinline)) static void add(int n) { for (int k = 0; k < n; k++) sum += k; }
__attribute__((noinline)) static void take(int n) { for (int k = 0; k < n; k++) sum -= k; }
int main(void) { add(40); take(40); return sum; }
"""


@pytest.mark.full
def test_functions_of_a_program_are_drawn(tmp_path):
    """The instructions of all functions are those of the core; intervals follow the calls."""
    source, path = tmp_path / "two.c", tmp_path / "two.json"
    source.write_text(TWO_FUNCTIONS)
    result = passed(run_program(source, engine="verilator", memory=DramConfig(), trace=path))
    trace = json.loads(path.read_text())
    totals = trace["otherData"]["totals"]["core 0 functions"]
    assert sum(totals.values()) == result["cores"][0]["instructions"]
    assert {"add", "take", "main", "_start"} <= set(totals)
    assert 40 * 3 < totals["add"] <= totals["take"] + 10
    spans = {name: [] for name in totals}
    for event in trace["traceEvents"]:
        if event["ph"] == "X" and event["name"] in spans:
            spans[event["name"]].append((event["ts"], event["ts"] + event["dur"]))
    assert spans["_start"][0][0] < spans["add"][0][0]
    assert spans["add"][-1][1] < spans["take"][0][0] + 20, "they complete out of order"


def test_functions_with_few_instructions_share_a_series():
    config = PRESETS["tiny"]
    records = made_up(config)
    names = [f"f{number}" for number in range(14)]
    for number, name in enumerate(names):
        records.sums[series_name(0, name)] = np.full(records.bins, number, np.uint32)
    (track,) = (one for one in cluster_tracks(config, records) if one.title == "core 0 functions")
    assert [one.label for one in track.series] == [*names[:3:-1], "3 other functions"]
    assert track.series[-1].sums(records)[0] == 1 + 2 + 3


def test_records_of_different_bins_are_merged():
    records = made_up(PRESETS["tiny"], cycles=1003, bin_cycles=8)
    fine = np.arange(502, dtype=np.uint32)
    other = replace(records, bin_cycles=2, sums={"more": fine}, intervals={}, gaps={})
    together = merged(records, [other])
    assert together.bin_cycles == 8 and together.bins == len(together.sums["more"])
    assert together.sums["more"].tolist() == [int(fine[k : k + 4].sum()) for k in range(0, 502, 4)]
    assert together.total("dma_busy") == records.total("dma_busy")
    coarse = replace(other, bin_cycles=32, sums={"more": np.ones(32, np.uint32)})
    assert merged(records, [coarse]).bins == 32


def test_the_suffix_chooses_what_is_traced():
    traced = {name: RunOptions(trace=Path(name)) for name in ("a.vcd", "a", "a.html", "a.json")}
    assert [options.waveform for options in traced.values()] == ["a.vcd", "a", None, None]
    assert [options.overview is None for options in traced.values()] == [True, True, False, False]
    assert (RunOptions().waveform, RunOptions().overview) == (None, None)


def test_command_line(monkeypatch, capsys, tmp_path):
    requested = []

    def run(workload, preset, config, options, *, console, progress, results):
        options.trace.write_text("drawn")
        requested.append(options)
        raise MachineError("the machine hangs")

    monkeypatch.setattr("spica.cli.execution.run_workload", run)
    path = tmp_path / "run.html"
    command = "run gemm --preset tiny_matrix --size 4 --engine amaranth"
    assert run_spica(f"{command} --trace {path} --trace-window 5:90") == 1
    (options,) = requested
    assert (options.overview.suffix, options.trace_window) == (".html", (5, 90))
    assert path.read_text() == "drawn"
    capsys.readouterr()
    assert run_spica(f"{command} --trace run.kanata") == 2
    sentence = "unknown suffix of --trace '.kanata'; choose one of .vcd, .html, .json, .svg"
    assert sentence in capsys.readouterr().err
