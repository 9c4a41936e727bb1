"""Tests of issue in its environment: hazards and order, stall reasons, and cycles."""

import random
from dataclasses import replace

import pytest

from spica.hw.config import CoreConfig
from spica.hw.core.issue.issue import Issue
from spica.hw.core.issue.issue_slot import IssueSlot
from spica.hw.core.issue.stall_reason import StallReason
from spica.hw.emit.emitter import emit
from spica.hw.isa.operations import Port
from spica.hw.styles.register_fed.config import RegisterFedConfig
from spica.hw.styles.shared_fed.config import SharedFedConfig
from spica.sim.engine.testbench import require_no_loop, simulate
from support.core.issue_bench import random_program, run
from support.core.issue_entry import Entry
from support.core.issue_surroundings import Timing

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
@pytest.mark.quick(1, "rough-two_level")
def test_programs_run_without_hazard(name, timing):
    config = CONFIGS[name]
    require_no_loop(Issue, config)
    length = 20 if config.warps > 1 else 60
    result = run(config, programs(config, length), timing, seed=5)
    assert result.slots[StallReason.NONE] == length * config.warps
    assert sum(result.slots.values()) == result.cycles * config.issue_width


@pytest.mark.parametrize("name", ["oldest", "greedy"])
def test_restarted_warps_are_the_youngest(name):
    """Warps end after some instructions, warp 0 first, and compete when they restart."""
    programs = [
        [*independent([Port.INT], 8 + 8 * n), Entry(stalls_warp=True)] * 2 for n in range(4)
    ]
    run(CONFIGS[name], programs, Timing(end=1.0))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", CONFIGS)
def test_long_programs(name, seed):
    config = CONFIGS[name]
    run(config, programs(config, 300, seed), ROUGH, seed=seed)


@pytest.mark.slow
def test_programs_of_8_warps_of_8_threads():
    config = CoreConfig(issue_width=2)
    result = run(config, programs(config, 60), ROUGH)
    assert result.slots[StallReason.NONE] == 480


TENSOR = CoreConfig(tensor=RegisterFedConfig(), warps=3)


#: Products are in flight while other instructions serialise.
HGMMA = CoreConfig(tensor=SharedFedConfig(), warps=3)


def tensor_programs(config: CoreConfig, length: int, seed: int = 1):
    rng = random.Random(seed)
    return [
        random_program(rng, length, group_size=config.group_sizes[-1], ports=config.ports)
        for _ in range(config.warps)
    ]


@pytest.mark.parametrize("issue_width", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_programs_of_a_tensor_core(issue_width):
    """Instructions with register groups, and credits of their unit."""
    config = replace(TENSOR, issue_width=issue_width)
    require_no_loop(Issue, config)
    run(config, tensor_programs(config, 30), replace(ROUGH, longest=40), seed=5)


def test_programs_of_a_core_with_operands_in_shared_memory():
    require_no_loop(Issue, HGMMA)
    run(HGMMA, tensor_programs(HGMMA, 30), replace(ROUGH, longest=40), seed=5)


@pytest.mark.slow
@pytest.mark.parametrize("config", [TENSOR, HGMMA], ids=["hmma", "hgmma"])
def test_long_programs_of_a_tensor_core(config):
    for seed in range(4):
        run(config, tensor_programs(config, 100, seed), ROUGH, seed=seed)


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
    dut = require_no_loop(IssueSlot(SMALL))

    async def testbench(ctx):
        ctx.set(dut.entry.issue, HELD)
        ctx.set(dut.entry.enter, 1)
        if enters:
            ctx.set(dut.written[bus], {"valid": 1, "writes": 1, "warp": 2, "rd": 5} | event)
        await ctx.tick()
        ctx.set(dut.entry.enter, 0)
        ctx.set(dut.written[bus], {"valid": 0})
        for seen in (pending if enters else 0b011, pending, pending):
            if seen == pending:
                happens = {"valid": 1, "writes": 1, "warp": 2, "rd": 5} | event
                ctx.set(dut.written[bus], happens)
            assert ctx.get(dut.o.valid) and not ctx.get(dut.entry.free)
            assert ctx.get(dut.o.payload.pending) == seen
            await ctx.tick()
            ctx.set(dut.written[bus], {"valid": 0})
        ctx.set(dut.o.ready, 1)
        assert ctx.get(dut.entry.free)
        await ctx.tick()
        assert not ctx.get(dut.o.valid)

    simulate(dut, testbench)


def independent(ports, length=15):
    """Return instructions that write registers in turn and read others."""
    return [
        Entry(port=ports[n % len(ports)], rd=1 + n % 30, writes=True, sources=(40, 41, 42),
              reads=(True, False, False))
        for n in range(length)
    ]  # fmt: skip


def chain(port, operands=1, length=15):
    """Return instructions that each read the previous result."""
    reads = tuple(k < operands for k in range(3))
    return [Entry(port=port, rd=1, writes=True, sources=(1, 2, 3), reads=reads)] * length


def rate(config, program):
    """Return the instructions issued per cycle, limited only by hazards and collectors."""
    return run(config, [program] * config.warps, Timing()).rate


@pytest.mark.parametrize("scheduler", ["round_robin", "greedy_then_oldest", "oldest"])
@pytest.mark.quick(1)
def test_one_instruction_per_cycle(scheduler):
    config = CoreConfig(threads=1, scheduler=scheduler)
    assert rate(config, independent([Port.INT])) == 1
    assert rate(config, independent([Port.INT, Port.FP32])) == 1


def test_two_instructions_per_cycle():
    config = CoreConfig(threads=1, issue_width=2, collectors=8)
    assert rate(config, independent([Port.INT, Port.FP32], 40)) >= 1.9


def test_one_warp_issues_back_to_back():
    assert rate(CoreConfig(warps=1, threads=1), independent([Port.INT], 60)) == 1


def test_dependent_instructions_of_8_warps():
    config = CoreConfig(threads=1)
    assert rate(config, chain(Port.INT)) >= 0.98
    assert rate(config, chain(Port.FP32, 3)) >= 0.98
    assert rate(replace(config, snoop=False), chain(Port.INT)) >= 0.98


@pytest.mark.parametrize(
    ("fma_latency", "operands"), [(3, 1), (3, 3), (4, 2), (4, 3), (5, 3), (6, 1), (6, 3)]
)
@pytest.mark.quick(1)
def test_snooping_shortens_a_chain(fma_latency, operands):
    """One cycle from bus to dispatch; without snooping, the path through issue and banks."""
    config = CoreConfig(warps=1, threads=1, fma_latency=fma_latency)
    steps = [
        1 / rate(replace(config, snoop=snoop), chain(Port.FP32, operands, 60))
        for snoop in (True, False)
    ]
    # With three operands, two come from the banks after the release.
    assert steps[0] == pytest.approx(max(fma_latency + 1, operands + 2), rel=0.03)
    assert steps[1] >= steps[0] + 2


def test_reasons_of_an_empty_core():
    config = replace(SMALL, warps=2)
    load = Entry(port=Port.MEMORY, rd=1, writes=True)
    use = Entry(rd=2, writes=True, sources=(1, 0, 0), reads=(True, False, False))
    result = run(config, [[load, use], []], Timing())
    assert result.slots[StallReason.NONE] == 2
    assert result.slots[StallReason.MEMORY] >= 3
    branch = Entry(stalls_warp=True)
    result = run(config, [[branch, use], []], Timing())
    assert result.slots[StallReason.BLOCKED] >= 3
    fence = Entry(port=Port.CONTROL, stalls_warp=True, serialises=True)
    result = run(config, [[load, fence], []], Timing())
    assert result.slots[StallReason.DRAIN] >= 3
