"""Tests of issue in its environment: against its model, for hazards, and in cycles."""

import random
from dataclasses import replace

import pytest

from spica.hw.config import CoreConfig
from spica.hw.core.issue.issue import Issue
from spica.hw.core.issue.issue_slot import IssueSlot
from spica.hw.core.issue.stall_reason import StallReason
from spica.hw.emit.emitter import emit
from spica.hw.isa.operations import Port
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.core.issue.issue import Entry, IssueModel
from spica.synth.measure import measure
from support.core.issue_bench import random_program, run_beside, run_model
from support.core.issue_surroundings import PipeError, Timing

SMALL = CoreConfig(warps=4, threads=2)
ROUGH = Timing(
    starve=0.2, refuse=0.2, hold=0.3, conflict=0.3, busy=0.2, longest=12, barrier=0.2, end=0.2
)
CONFIGS = {
    "one": SMALL,
    "two": replace(SMALL, issue_width=2, collectors=2),
    "no_snoop": replace(SMALL, snoop=False, issue_width=2),
    "greedy": replace(SMALL, scheduler="greedy_then_oldest", writeback_buses=4),
    "oldest": replace(SMALL, scheduler="oldest", fma_latency=6, writeback_buses=1),
    "two_level": replace(SMALL, scheduler="two_level", warps=3, issue_width=2),
    "least": CoreConfig(warps=1, threads=1, collectors=1, writeback_buses=1),
}


def programs(config, length, seed=1):
    rng = random.Random(seed)
    return [random_program(rng, length) for _ in range(config.warps)]


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("timing", [Timing(), ROUGH], ids=["smooth", "rough"])
@pytest.mark.quick(1)
def test_same_as_the_model(name, timing):
    config = CONFIGS[name]
    require_no_loop(Issue, config)
    length = 20 if config.warps > 1 else 60
    run = run_beside(config, programs(config, length), timing, seed=5)
    assert run.slots[StallReason.NONE] == length * config.warps
    assert sum(run.slots.values()) == run.cycles * config.issue_width


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", CONFIGS)
def test_same_as_the_model_for_long(name, seed):
    config = CONFIGS[name]
    run_beside(config, programs(config, 300, seed), ROUGH, seed=seed)


@pytest.mark.slow
def test_same_as_the_model_with_8_warps_of_8_threads():
    config = CoreConfig(issue_width=2)
    run = run_beside(config, programs(config, 60), ROUGH)
    assert run.slots[StallReason.NONE] == 480


TENSOR = CoreConfig(tensor="hmma", warps=3)


#: Products are in flight while other instructions serialise.
HGMMA = CoreConfig(tensor="hgmma", warps=3)


def tensor_programs(config: CoreConfig, length: int, seed: int = 1):
    rng = random.Random(seed)
    return [
        random_program(rng, length, group_size=config.group_sizes[-1], ports=config.ports)
        for _ in range(config.warps)
    ]


@pytest.mark.parametrize("issue_width", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_tensor_core_is_the_same_as_the_model(issue_width):
    """Instructions with register groups, and credits of their unit."""
    config = replace(TENSOR, issue_width=issue_width)
    require_no_loop(Issue, config)
    run_beside(config, tensor_programs(config, 30), replace(ROUGH, longest=40), seed=5)


def test_core_with_operands_in_shared_memory_is_the_same_as_the_model():
    require_no_loop(Issue, HGMMA)
    run_beside(HGMMA, tensor_programs(HGMMA, 30), replace(ROUGH, longest=40), seed=5)


@pytest.mark.parametrize("config", [TENSOR, HGMMA], ids=["hmma", "hgmma"])
@pytest.mark.full
def test_no_hazard_of_a_tensor_core_is_missed(config):
    for seed in range(4):
        run_model(config, tensor_programs(config, 100, seed), ROUGH, seed=seed)


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.quick(2)
def test_no_hazard_is_missed(name):
    """The model alone is fast enough for many programs."""
    for seed in range(3):
        config = CONFIGS[name]
        run = run_model(config, programs(config, 150, seed), ROUGH, seed=seed)
        assert run.slots[StallReason.NONE] == 150 * config.warps


@pytest.mark.parametrize(
    ("warps", "threads"), [(1, 1), (5, 3), pytest.param(32, 32, marks=pytest.mark.slow)]
)
@pytest.mark.quick(1)
def test_converts(warps, threads):
    config = CoreConfig(warps=warps, threads=threads, scheduler="oldest", issue_width=2)
    require_no_loop(Issue, config)


def test_emits_one_module_for_all_warps():
    modules = emit(Issue(SMALL), "issue").modules
    instances = {module.component: module.instances for module in modules}
    assert instances == {"WarpScoreboard": 4, "IssueSlot": 1, "Arbiter": 1}


HELD = {"warp": 2, "pending": 0b011, "instruction": {"sources": [5, 6, 5]}}


@pytest.mark.parametrize(
    ("event", "pending"),
    [
        ({}, 0b010),
        ({"rd": 6}, 0b001),
        ({"rd": 7}, 0b011),
        ({"warp": 1}, 0b011),
        ({"writes": 0}, 0b011),
        ({"valid": 0}, 0b011),
    ],
)
@pytest.mark.parametrize("enters", [False, True])
@pytest.mark.parametrize("bus", [0, 1])
def test_pending_of_what_waits_for_a_collector(event, pending, bus, enters):
    """A result on a bus is not pending from the cycle in which the instruction enters."""
    dut = IssueSlot(SMALL)

    async def testbench(ctx):
        ctx.set(dut.issue, HELD)
        ctx.set(dut.enter, 1)
        if enters:
            ctx.set(dut.written[bus], {"valid": 1, "writes": 1, "warp": 2, "rd": 5} | event)
        await ctx.tick()
        ctx.set(dut.enter, 0)
        ctx.set(dut.written[bus], {"valid": 0})
        for seen in (pending if enters else 0b011, pending, pending):
            if seen == pending:
                happens = {"valid": 1, "writes": 1, "warp": 2, "rd": 5} | event
                ctx.set(dut.written[bus], happens)
            assert ctx.get(dut.o.valid) and not ctx.get(dut.free)
            assert ctx.get(dut.o.payload.pending) == seen
            await ctx.tick()
            ctx.set(dut.written[bus], {"valid": 0})
        ctx.set(dut.o.ready, 1)
        assert ctx.get(dut.free)
        await ctx.tick()
        assert not ctx.get(dut.o.valid)

    require_no_loop(dut)
    simulate(dut, testbench)


class NothingPending(IssueModel):
    """Fault: no operand is marked as arriving on a bus."""

    def pending(self, warp, entry, cycle):
        return (False,) * 3


class WrittenStaysPending(IssueModel):
    """Fault: a write in the cycle of issue is missed."""

    def pending(self, warp, entry, cycle):
        return super().pending(warp, entry, replace(cycle, written=[]))


class HeldStaysPending(IssueModel):
    """Fault: a write while the collectors are full is missed."""

    def offer(self, cycle):
        return super().offer(replace(cycle, written=[]))


class Overtakes(IssueModel):
    """Fault: destinations may be pending."""

    def waits_for(self, warp, entry):
        return super().waits_for(warp, replace(entry, writes=False))


class FirstResultIsAll(IssueModel):
    """Fault: the first of two results for a register ends the wait for both."""

    def written(self, warp, rd):
        warp.results.pop(rd, None)


class ReleasesTheSecond(IssueModel):
    """Fault: the announcement of the first of two results releases the second."""

    def release(self, cycle):
        super().release(cycle)
        for event in cycle.arriving:
            if event is not None and event[1] in self.warps[event[0]].results:
                self.warps[event[0]].results[event[1]][-1].blocked = False


class PairsAnything(IssueModel):
    """Fault: two instructions of a pair may depend on each other."""

    def goes_with(self, warp, first, second):
        return not first.stalls_warp and not second.serialises and first.port != second.port


class PairsOnePort(IssueModel):
    """Fault: two instructions of a pair may use one port."""

    def goes_with(self, warp, first, second):
        port = Port.INT if second.port != Port.INT else Port.MEMORY
        return super().goes_with(warp, first, replace(second, port=port))


class NeverStops(IssueModel):
    """Fault: branches do not stop their warp."""

    def issue(self, warp, cycle):
        issued = super().issue(warp, cycle)
        return [replace(entry, stalls_warp=False) for entry in issued]


class NeverResumes(IssueModel):
    """Fault: a stopped warp stays stopped."""

    def settle(self, cycle, taken, issued):
        super().settle(replace(cycle, resume=set()), taken, issued)


class NeverDrains(IssueModel):
    """Fault: a fence does not wait."""

    def reason(self, warp, cycle):
        heads = [[replace(entry, serialises=False) for entry in head] for head in cycle.heads]
        return super().reason(warp, replace(cycle, heads=heads))


@pytest.mark.parametrize(
    "fault",
    [
        NothingPending,
        WrittenStaysPending,
        HeldStaysPending,
        Overtakes,
        FirstResultIsAll,
        ReleasesTheSecond,
        PairsAnything,
        PairsOnePort,
        NeverStops,
        NeverResumes,
        NeverDrains,
    ],
)
@pytest.mark.quick(4)
def test_the_rest_of_the_core_sees_faults(fault):
    """A bench that passes a broken scoreboard proves nothing about a correct one."""
    config = CONFIGS["two"]
    crowded = replace(ROUGH, hold=0.8)  # results wait for a bus
    with pytest.raises(PipeError):
        run_model(config, programs(config, 400), crowded, model=fault(config))


def independent(ports, length=120):
    """Return instructions that write registers in turn and read others."""
    return [
        Entry(port=ports[n % len(ports)], rd=1 + n % 30, writes=True, sources=(40, 41, 42),
              reads=(True, False, False))
        for n in range(length)
    ]  # fmt: skip


def chain(port, operands=1, length=120):
    """Return instructions that each read the previous result."""
    reads = tuple(k < operands for k in range(3))
    return [Entry(port=port, rd=1, writes=True, sources=(1, 2, 3), reads=reads)] * length


def rate(config, program):
    """Return the instructions issued per cycle, limited only by hazards and collectors."""
    return run_model(config, [program] * config.warps, Timing()).rate


@pytest.mark.parametrize("scheduler", ["round_robin", "greedy_then_oldest", "oldest"])
@pytest.mark.quick(1)
def test_one_instruction_per_cycle(scheduler):
    config = CoreConfig(scheduler=scheduler)
    assert rate(config, independent([Port.INT])) >= 0.98
    assert rate(config, independent([Port.FP32])) >= 0.98
    assert rate(config, independent([Port.INT, Port.FP32])) >= 0.98


def test_two_instructions_per_cycle():
    config = CoreConfig(issue_width=2, collectors=8)
    assert rate(config, independent([Port.INT, Port.FP32])) >= 1.9


def test_one_warp_issues_back_to_back():
    config = CoreConfig(warps=1)
    run = run_beside(config, [independent([Port.INT], 60)], Timing())
    assert run.slots[StallReason.NONE] == 60
    assert run.cycles <= 60 + 4


def test_dependent_instructions_of_8_warps():
    assert rate(CoreConfig(), chain(Port.INT)) >= 0.98
    assert rate(CoreConfig(), chain(Port.FP32, 3)) >= 0.98
    assert rate(CoreConfig(snoop=False), chain(Port.INT)) >= 0.98


@pytest.mark.parametrize("fma_latency", [3, 4, 5, 6])
@pytest.mark.parametrize("operands", [1, 2, 3])
@pytest.mark.quick(1)
def test_snooping_shortens_a_chain(fma_latency, operands):
    """One cycle from bus to dispatch; without snooping, the path through issue and banks."""
    config = CoreConfig(warps=1, fma_latency=fma_latency)
    steps = [
        1 / rate(replace(config, snoop=snoop), chain(Port.FP32, operands, 400))
        for snoop in (True, False)
    ]
    # With three operands, two come from the banks after the release.
    assert steps[0] == pytest.approx(max(fma_latency + 1, operands + 2), rel=0.02)
    assert steps[1] >= steps[0] + 2


def test_reasons_of_an_empty_core():
    config = replace(SMALL, warps=2)
    load = Entry(port=Port.MEMORY, rd=1, writes=True)
    use = Entry(rd=2, writes=True, sources=(1, 0, 0), reads=(True, False, False))
    run = run_model(config, [[load, use], []], Timing())
    assert run.slots[StallReason.NONE] == 2
    assert run.slots[StallReason.MEMORY] >= 3
    branch = Entry(stalls_warp=True)
    run = run_model(config, [[branch, use], []], Timing())
    assert run.slots[StallReason.BLOCKED] >= 3
    fence = Entry(port=Port.CONTROL, stalls_warp=True, serialises=True)
    run = run_model(config, [[load, fence], []], Timing())
    assert run.slots[StallReason.DRAIN] >= 3


@pytest.mark.parametrize(
    ("config", "cells", "depth"),
    [(CoreConfig(), 700, 45), (CoreConfig(issue_width=2), 1050, 50)],
    ids=["one", "two"],
)
@pytest.mark.full
def test_cells_and_depth(config, cells, depth):
    measured = measure(Issue(config), "issue")
    assert measured.cells <= cells
    assert measured.depth <= depth
