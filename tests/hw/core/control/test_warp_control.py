"""Tests of warp control against the instruction-set model: effects on fetch, issue and outside."""

import random
from dataclasses import dataclass, field

import pytest

from spica.hw.config import CoreBlockConfig
from spica.hw.core.control.faults import FaultCause
from spica.hw.core.control.warp_control import WarpControl
from spica.sim.engine.testbench import put, require_no_loop, simulate
from spica.sim.iss.program_bench import small_config
from support.core.control_model import CAUSES, COUNTER, ControlModel
from support.core.control_sequence import ControlSequence


@dataclass
class Seen:
    """Outputs of each kind in order, and the state with each result."""

    results: list = field(default_factory=list)
    faults: list = field(default_factory=list)
    redirects: list = field(default_factory=list)
    resumed: list = field(default_factory=list)
    commands: list = field(default_factory=list)
    states: list = field(default_factory=list)


def bits(mask):
    return [place for place in range(mask.bit_length()) if mask >> place & 1]


def result_of(given, effect):
    lanes = bits(given.mask)
    values = [effect.values[t] for t in lanes] if effect.values else None
    return given.warp, given.pc, given.mask, given.rd, values


def fault_of(given, cause):
    address = given.scalar(1) if cause is FaultCause.MISALIGNED_JUMP else None
    return given.warp, given.pc, cause, given.mask, address


def state_of(model):
    frm = [fcsr >> 5 for fcsr in model.fcsr]
    return model.masks, model.active, model.waiting, frm, model.exit_code


def expect(config, count, seed):
    """Return random instructions and their effects."""
    model = ControlModel(config)
    sequence = ControlSequence(model, random.Random(seed))
    instructions, expected = [], Seen()
    for _ in range(count):
        given = sequence.next()
        effect = model.execute(given)
        instructions.append(given)
        expected.results.append(result_of(given, effect))
        if effect.fault is not None:
            expected.faults.append(fault_of(given, effect.fault))
        expected.redirects += [(warp, pc, effect.starts) for warp, pc in effect.turns]
        expected.resumed += bits(effect.resumed)
        if effect.command is not None:
            expected.commands.append(effect.command)
        # Warps are started one by one.
        expected.states.append(None if effect.starts else state_of(model))
    return instructions, expected


def watch(dut, count, seen, rng, stall):
    """Return a testbench that takes and records results and commands."""
    watched = (dut.o.valid, dut.o.payload, dut.fault.valid, dut.fault.payload)
    watched += (dut.redirect.valid, dut.redirect.payload, dut.warps.started, dut.warps.resume)
    watched += (dut.command.valid, dut.command.payload)
    watched += (dut.warps.masks, dut.active, dut.warps.at_barrier, dut.floats.frm, dut.exit_code)

    async def testbench(ctx):
        ctx.set(dut.counters.value, COUNTER)
        was_valid, after = False, 0
        while after < 40:
            ready, takes = rng.random() >= stall, rng.random() >= stall
            ctx.set(dut.o.ready, ready)
            ctx.set(dut.command.ready, takes)
            (
                _,
                _,
                valid,
                result,
                fails,
                fault,
                turns,
                turn,
                started,
                resume,
                commands,
                word,
                *state,
            ) = await ctx.tick().sample(*watched)
            after += len(seen.results) == count
            if valid and not was_valid:
                masks, active, waiting, frm, exit_code = state
                seen.states.append(([*masks], active, waiting, [*frm], exit_code))
            was_valid = valid and not ready
            if valid and ready:
                values = [result["values"][t] for t in bits(result.mask)] if result.writes else None
                seen.results.append((result.warp, result.pc, result.mask, result.rd, values))
            if fails:
                address = fault.address if fault.cause == FaultCause.MISALIGNED_JUMP else None
                seen.faults.append((fault.warp, fault.pc, fault.cause, fault.lanes, address))
            if turns:
                assert started in (0, 1 << turn.warp)
                seen.redirects.append((turn.warp, turn.pc, bool(started)))
            else:
                assert not started
            seen.resumed += bits(resume)
            if commands and takes:
                seen.commands.append(word)

    return testbench


def run(config, instructions, *, stall=0.0, seed=1):
    """Return the outputs of a core's control for `instructions`."""
    dut = require_no_loop(WarpControl(CoreBlockConfig.of(config)), ports=[])
    seen = Seen()

    async def feed(ctx):
        payloads = [given.payload for given in instructions]
        await put(ctx, dut.i, payloads, rng=random.Random(seed), stall=stall)

    watcher = watch(dut, len(instructions), seen, random.Random(seed + 1), stall)
    simulate(dut, feed, watcher, timeout=40 * len(instructions) + 1000)
    return seen


def compare(config, instructions, expected, **how):
    seen = run(config, instructions, **how)
    for number, (ours, theirs) in enumerate(zip(seen.results, expected.results, strict=True)):
        assert ours == theirs, f"{number}: {instructions[number]}"
    for number, (ours, theirs) in enumerate(zip(seen.states, expected.states, strict=True)):
        assert theirs in (None, ours), f"{number}: {instructions[number]}"
    seen.states = expected.states
    assert seen == expected


@pytest.mark.parametrize("stall", [0.0, 0.5])
@pytest.mark.parametrize(
    ("warps", "threads", "count", "scope"),
    [(1, 1, 100, "core"), (2, 2, 250, "core"), (3, 5, 250, "cluster"), (4, 4, 300, "core")],
)
@pytest.mark.quick(1)
def test_random_sequences(warps, threads, count, scope, stall):
    config = small_config(warps=warps, threads=threads, barrier_scope=scope)
    instructions, expected = expect(config, count, count)
    compare(config, instructions, expected, stall=stall)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("warps", "threads", "count"),
    [(1, 1, 2000), (2, 2, 4000), (4, 4, 8000), (5, 3, 4000), (8, 8, 3000), (32, 32, 200)],
)
def test_long_random_sequences(warps, threads, count):
    config = small_config(warps=warps, threads=threads, barrier_scope="core")
    instructions, expected = expect(config, count, count)
    compare(config, instructions, expected, stall=0.1)
    if count == 8000:
        # In a single core, the last expected warp opens the barrier.
        assert {fault[2] for fault in expected.faults} == set(CAUSES) - {FaultCause.BARRIER_FULL}


def test_random_sequence_8x8():
    config = small_config(warps=8, threads=8)
    instructions, expected = expect(config, 120, 3)
    compare(config, instructions, expected)
