"""Tests of core traces: recorded lives of instructions, from fetch to write."""

import gc
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest

from spica.base.errors import UserError
from spica.hw.cluster.cores import Cores
from spica.hw.core.issue.stall_reason import StallReason
from spica.hw.isa.memory_map import ENTRY
from spica.hw.isa.operations import Port
from spica.hw.isa.program import assemble_program
from spica.sim.engine.emission_cache import emit_cached
from spica.sim.engine.verilator_model import build_harness
from spica.sim.harness.binding import Layout
from spica.sim.harness.core_harness import CoreHarness
from spica.sim.harness.core_memory import CoreMemoryConfig
from spica.sim.harness.interface import HARNESS
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.program_bench import small_config
from spica.sim.machine.program_machine import ProgramMachine
from spica.sim.trace import write_trace
from spica.sim.trace.pipeline.core_records import Recording
from spica.sim.trace.pipeline.life import STAGES, held_up, slot_totals, stages_of
from spica.sim.trace.pipeline.pipeline import pipeline_of
from support.cluster.kept_machines import AWFUL
from support.core.core_bench import image
from support.trace.recorded_core import CONFIG, PROGRAM, ROOM, SHORT, retired_on_model, run_recorded

Kind = HARNESS.enumeration("RecordKind")


def assert_lives_are_those_of_the_model(pipeline, config, text):
    """Compare each warp's instructions and the values they wrote, in order."""
    lives_of = defaultdict(list)
    for life in pipeline.lives:
        assert life.order == len(lives_of[life.warp])
        lanes = [lane for lane in range(config.core.threads) if life.mask >> lane & 1]
        register = life.rd if life.writes else None
        values = [int(life.values[lane]) for lane in lanes] if life.writes else None
        lives_of[life.warp].append((life.pc, life.word, life.mask, register, values))
    assert lives_of == retired_on_model(config, text)


def assert_lives_are_whole(pipeline):
    busy = defaultdict(list)
    fetches = set(pipeline.fetches)
    for life in pipeline.lives:
        requested, fetched, issued, collected, dispatched, offered, done = life.times
        assert requested < fetched < issued < collected < dispatched < offered <= done
        assert (requested, fetched, life.warp, life.pc & ~7) in fetches
        busy[life.collector].append((collected, dispatched))
    for spans in busy.values():
        # A collector may be allocated again in the cycle in which its instruction leaves it.
        assert all(left <= begin for (_, left), (begin, _) in pairwise(spans))


def test_instructions_live_from_fetch_to_write(recorded, pipeline):
    _, outcome = recorded
    assert outcome.stop is StopReason.DONE
    assert len(pipeline.lives) == outcome.instructions
    assert_lives_are_whole(pipeline)
    assert_lives_are_those_of_the_model(pipeline, CONFIG, PROGRAM)


@pytest.mark.full
def test_engines_record_the_same():
    (records,), outcome = run_recorded(SHORT, CONFIG)
    (others,), _ = run_recorded(SHORT, CONFIG, engine="amaranth")
    assert outcome.instructions > 20
    assert np.array_equal(records.rows, others.rows)
    assert np.array_equal(records.values, others.values)
    assert (records.end, records.slots_end) == (others.end, others.slots_end)


def test_lives_are_whole_behind_an_awful_memory():
    (records,), outcome = run_recorded(PROGRAM, CONFIG, memory=AWFUL)
    pipeline = pipeline_of(records)
    assert len(pipeline.lives) == outcome.instructions
    assert_lives_are_whole(pipeline)
    assert_lives_are_those_of_the_model(pipeline, CONFIG, PROGRAM)
    assert all(one.answered > one.accepted for one in pipeline.transfers)
    # An offer that is not accepted yet is not a request.
    assert len(records.of(Kind.kFetch)) == len(records.of(Kind.kFetched))
    accesses = [life for life in pipeline.lives if life.port is Port.MEMORY]
    assert len(pipeline.transfers) == len(accesses)


@pytest.mark.full
def test_each_core_has_records():
    config = small_config(cores=2, warps=2, threads=2)
    records, outcome = run_recorded(PROGRAM, config)
    assert [core.core for core in records] == [0, 1]
    for core in records:
        assert set(core.rows["core"]) == {core.core}
        pipeline = pipeline_of(core)
        assert len(pipeline.lives) == outcome.core_instructions[core.core]
        assert_lives_are_whole(pipeline)
    assert_lives_are_those_of_the_model(pipeline_of(records[0]), config, PROGRAM)


@pytest.mark.full
def test_two_instructions_at_a_time():
    config = small_config(warps=1, threads=1, issue_width=2, writeback_buses=1)
    (records,), outcome = run_recorded(SHORT, config, engine="amaranth")
    pipeline = pipeline_of(records)
    assert len(pipeline.lives) == outcome.instructions == slot_totals(pipeline)[StallReason.NONE]
    assert_lives_are_whole(pipeline)
    assert_lives_are_those_of_the_model(pipeline, config, SHORT)
    assert {life.slot for life in pipeline.lives} == {0, 1}
    issued = [life.issued for life in pipeline.lives]
    assert issued == sorted(issued)
    pairs = [one for one, other in pairwise(pipeline.lives) if one.issued == other.issued]
    assert len(pairs) == sum(life.slot for life in pipeline.lives)
    # Of an offer that waits for the bus, the first cycle counts.
    assert any(life.done > life.offered for life in pipeline.lives)
    assert len(records.of(Kind.kOffered)) == len(pipeline.lives)


def test_units_take_their_time(pipeline):
    lives = {port: [x for x in pipeline.lives if x.port is port] for port in Port}
    assert {life.offered - life.dispatched for life in lives[Port.INT]} == {1}
    latency = CONFIG.core.fma_latency
    assert {life.offered - life.dispatched for life in lives[Port.FP32]} == {latency}
    assert min(life.offered - life.dispatched for life in lives[Port.DIVIDE]) > latency


def test_slots_are_issued_or_have_a_reason(recorded, pipeline):
    (records,), outcome = recorded
    totals = slot_totals(pipeline)
    assert sum(totals.values()) == outcome.cycles * CONFIG.core.issue_width
    assert {reason.name: count for reason, count in totals.items()} == outcome.slots[0]
    assert records.slots_end == outcome.cycles
    for runs in [*pipeline.slots, *pipeline.warps]:
        assert runs[0].start == 0
        assert all(one.end == other.start for one, other in pairwise(runs))
        assert all(one.state != other.state for one, other in pairwise(runs))
    issued = [life.issued for life in pipeline.lives]
    (slot,) = pipeline.slots
    free = [cycle for run in slot if not run.state for cycle in range(run.start, run.end)]
    assert sorted(issued) == free


@pytest.mark.full
def test_what_holds_an_instruction_up_is_why_its_warp_waits(pipeline):
    holds = held_up(pipeline)
    for life in pipeline.lives:
        for name, start, end in holds[life.number]:
            assert start < end
            stage = {"collectors_full": "I", "bus": "W"}.get(name, "B")
            assert any(
                letter == stage and first <= start and end <= last
                for letter, first, last in stages_of(life, pipeline.end)
            )
    waits = {name for name, *_ in holds[life_named(pipeline, "div a5").number]}
    assert "memory" in waits


def life_named(pipeline, text):
    """Return the first instruction that assembles from `text` plus any operands."""
    line = next(line for line in PROGRAM.splitlines() if line.strip().startswith(text))
    (word,) = assemble_program(line)
    return next(life for life in pipeline.lives if life.word == word)


def test_stages_follow_each_other(pipeline):
    for life in pipeline.lives:
        stages = stages_of(life, pipeline.end)
        assert [letter for letter, *_ in stages] == list(STAGES)
        assert all(end == start for (_, _, end), (_, start, _) in pairwise(stages))
        inside = (life.requested, life.fetched + 1, life.issued + 1, life.collected + 1)
        assert [start for _, start, _ in stages] == [*inside, life.dispatched, life.offered]
        assert stages[-1][-1] == life.done + 1


def test_a_window_has_what_happened_in_it(recorded):
    (whole,), _ = recorded
    first, end = 60, 90
    (part,), _ = run_recorded(PROGRAM, CONFIG, window=(first, end))
    assert (part.first, part.end, part.slots_end, part.is_cut) == (first, end, end, False)
    events = [k for k in Kind if k not in (Kind.kSlot, Kind.kWarp, Kind.kActive, Kind.kBarrier)]
    inside = whole.of(*events)
    inside = inside[(inside["cycle"] >= first) & (inside["cycle"] < end)]
    rows = part.of(*events)
    # The warp of a pair requested before the window is unknown.
    known = rows["warp"] != 255
    known |= ~np.isin(rows["kind"], [Kind.kFetched])
    assert np.array_equal(rows[known], inside[known])
    pipeline = pipeline_of(part)
    assert sum(slot_totals(pipeline).values()) == end - first
    assert any(life.done is None for life in pipeline.lives)
    assert any(life.requested is None for life in pipeline.lives)


def test_too_large_a_window_keeps_its_first_cycles(recorded, tmp_path):
    (whole,), _ = recorded
    with ProgramMachine(CONFIG, optimize=0) as machine:
        machine.write(ENTRY, image(PROGRAM, ROOM))
        machine.run(1)
        recording = Recording(machine.harness, cores=1, threads=4, window=(1, 1 << 40), limit=100)
        assert machine.run().stop is StopReason.DONE
        (records,) = recording.fetch()
    assert records.is_cut
    assert 90 < len(records.rows) <= 100
    ends = [(rows.of(Kind.kDone), rows.of(Kind.kCollected)) for rows in (records, whole)]
    for cut, all_rows in zip(*ends, strict=True):
        inside = all_rows[(all_rows["cycle"] > 0) & (all_rows["cycle"] < records.end)]
        assert np.array_equal(cut, inside)
    assert np.array_equal(records.values, whole.values[: len(records.values)])
    assert len(records.values) == (records.rows["kind"] == Kind.kDone).sum()
    path = tmp_path / "trace.log"
    (said,) = write_trace(path, [records], CONFIG)
    assert said == (
        f"core 0 is recorded in cycles 1 to {records.end - 1} only: "
        f"the limit of {len(records.rows)} records is reached"
    )
    assert f"# {said}" in path.read_text()


def test_wrong_windows_are_refused():
    with pytest.raises(UserError, match="must end after it begins, not be cycles 5 to 4"):
        run_recorded(PROGRAM, CONFIG, window=(5, 5))
    with (
        ProgramMachine(CONFIG, optimize=0) as machine,
        pytest.raises(UserError, match="records need a machine with `record`"),
    ):
        machine.records()
    gc.collect()


def driven(cycles, limit=100):
    """Return the records of outputs that are set by hand, cycle by cycle."""
    layout = Layout.of(emit_cached(CONFIG, "cores", kind=Cores))
    words = {port.name: port.word for port in layout.outputs}
    harness = CoreHarness(build_harness(), layout, CONFIG, CoreMemoryConfig())
    harness.begin_cores(True, max_cycles=100, watchdog=100)
    recording = Recording(harness, cores=1, threads=4, window=(0, 100), limit=limit)
    for values in [{}, *cycles]:
        outputs = np.zeros(layout.output_words, np.uint32)
        inputs = np.zeros(layout.input_words, np.uint32)
        for name, value in ({"core0_busy": 1} | values).items():
            outputs[words[name]] = value
        harness.step(harness.handle, outputs, inputs)
    (records,) = recording.fetch()
    harness.close()
    return records


OFFERED = {"core0_observed_offered_4_valid": 1, "core0_observed_offered_4_pc": 0x8000_0040}
DONE = {"core0_observed_done_0_valid": 1, "core0_observed_done_0_pc": 0x8000_0040}


@pytest.mark.full
def test_an_offer_right_behind_one_of_the_same_instruction_is_another():
    """Stores of a loop may end one right after the other."""
    records = driven([{}, OFFERED, OFFERED | DONE, OFFERED, OFFERED | DONE, {}, OFFERED | DONE])
    assert records.of(Kind.kOffered)["cycle"].tolist() == [1, 3, 6]
    assert records.of(Kind.kDone)["cycle"].tolist() == [2, 4, 6]


@pytest.mark.parametrize("limit", range(5, 16))
def test_what_is_cut_is_whole_cycles(limit):
    records = driven([OFFERED | DONE] * 6, limit)
    whole = driven([OFFERED | DONE] * 6)
    assert records.is_cut == (len(whole.rows) > limit)
    assert not whole.is_cut
    inside = whole.rows[: len(records.rows)]
    assert np.array_equal(records.rows, inside)
    assert len(records.values) == len(records.of(Kind.kDone))
    # The state of a slot in a cycle is known one cycle later.
    events = whole.rows[whole.rows["kind"] != Kind.kSlot]
    rows = records.rows[records.rows["kind"] != Kind.kSlot]
    assert len(rows) == (events["cycle"] < records.end).sum()
