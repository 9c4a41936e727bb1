"""Tests of redirects: branches at once, control results one by one, one redirect per cycle."""

import random

import pytest

from spica.hw.config import CoreConfig
from spica.hw.core.control.faults import FaultCause
from spica.hw.core.control.redirects import Redirects
from spica.hw.isa.memory_map import ENTRY
from spica.sim.engine.testbench import require_no_loop, simulate

DIVERGENT, MISALIGNED = FaultCause.DIVERGENT_BRANCH, FaultCause.MISALIGNED_JUMP


def run(config, cycles, *, branches=None, turns=None, faults=None, active=-1):
    """Return the events of each cycle that has any.

    Inputs are payloads by cycle. Events of a cycle are the redirect's warp and pc, resumed warps,
    started warps, and the fault.
    """
    dut = require_no_loop(Redirects(config), ports=[])
    ports = [
        (dut.branch, branches or {}),
        (dut.control.turn, turns or {}),
        (dut.control.fault, faults or {}),
    ]
    seen = []

    async def bench(ctx):
        ctx.set(dut.masks.active, active & (1 << config.warps) - 1)
        ctx.set(dut.masks.mask, [warp + 1 for warp in range(config.warps)])
        signals = (dut.redirect.valid, dut.redirect.payload, dut.resume, dut.start)
        signals += (dut.fault.valid, dut.fault.payload)
        for cycle in range(cycles):
            for port, payloads in ports:
                ctx.set(port.valid, cycle in payloads)
                if cycle in payloads:
                    ctx.set(port.payload, {"pc": ENTRY} | payloads[cycle])
            _, _, turns, turn, resume, start, fails, fault = await ctx.tick().sample(*signals)
            to = (turn.warp, turn.pc) if turns else None
            wrong = (fault.warp, fault.pc, fault.cause, fault.lanes, fault.address)
            if turns or resume or start or fails:
                seen.append((cycle, to, resume, start, wrong if fails else None))

    simulate(dut, bench)
    return seen


def test_branches_are_answered_in_their_cycle():
    config = CoreConfig(warps=4, threads=4, divergent_branch="error")
    branches = {
        0: {"warp": 1, "target": ENTRY + 64},
        1: {"warp": 2, "target": ENTRY + 4},
        2: {"warp": 1, "target": ENTRY + 64, "disagree": 0b0101},
        3: {"warp": 2, "target": ENTRY + 66},
        4: {"warp": 3, "target": ENTRY + 64},  # it is not active
        5: {"warp": 3, "target": ENTRY + 2},
        6: {"warp": 0, "pc": 0xFFFF_FFFC, "target": 0},
        7: {"warp": 0, "pc": ENTRY + 8, "target": ENTRY + 8},
    }
    assert run(config, 9, branches=branches, active=0b0111) == [
        (0, (1, ENTRY + 64), 0b0010, 0, None),
        (1, None, 0b0100, 0, None),
        (2, None, 0, 0, (1, ENTRY, DIVERGENT, 0b0101, ENTRY + 64)),
        (3, None, 0, 0, (2, ENTRY, MISALIGNED, 3, ENTRY + 66)),
        (6, None, 0b0001, 0, None),
        (7, (0, ENTRY + 8), 0b0001, 0, None),
    ]


def test_threads_may_disagree_where_the_last_decides():
    config = CoreConfig(warps=4, threads=4, divergent_branch="vortex")
    branches = {1: {"warp": 0, "target": ENTRY + 64, "disagree": 3}}
    assert run(config, 3, branches=branches) == [(1, (0, ENTRY + 64), 1, 0, None)]


@pytest.mark.parametrize("is_start", [False, True])
def test_a_turn_of_many_warps_makes_way_for_branches(is_start):
    config = CoreConfig(warps=8, threads=2)
    turns = {0: {"warps": 0b1001_0010, "pc": ENTRY + 8, "is_start": is_start}}
    branches = {2: {"warp": 5, "target": ENTRY}, 3: {"warp": 2, "target": ENTRY + 4}}
    expected = []
    for cycle, warp in ((1, 1), (3, 4), (4, 7)):
        who = (0, 1 << warp) if is_start else (1 << warp, 0)
        expected.append([cycle, (warp, ENTRY + 8), *who, None])
    expected[1][2] |= 0b100  # a branch to the next instruction needs no redirect
    expected.insert(1, [2, (5, ENTRY), 1 << 5, 0, None])
    assert run(config, 8, turns=turns, branches=branches) == [tuple(row) for row in expected]


def test_faults_of_branches_go_before_those_of_control():
    config = CoreConfig(warps=2, threads=2)
    branches = {cycle: {"warp": 0, "target": ENTRY + 2} for cycle in (1, 2)}
    faults = {0: {"warp": 1, "cause": FaultCause.STACK_OVERFLOW, "lanes": 2, "address": 5}}
    redirects = run(config, 6, branches=branches, faults=faults)
    jump = (0, ENTRY, MISALIGNED, 1, ENTRY + 2)
    assert [(cycle, fault) for cycle, *_, fault in redirects] == [
        (1, jump),
        (2, jump),
        (3, (1, ENTRY, FaultCause.STACK_OVERFLOW, 2, 5)),
    ]


@pytest.mark.parametrize("warps", [1, 5, 32])
def test_nothing_is_lost(warps):
    """Random branches and control results: each is seen once, those of control in order."""
    rng = random.Random(warps)
    dut = require_no_loop(Redirects(CoreConfig(warps=warps, threads=1)), ports=[])
    expected, seen = [], []
    resumed = [0]

    async def bench(ctx):
        ctx.set(dut.masks.active, (1 << warps) - 1)
        for cycle in range(600):
            branch = cycle < 500 and rng.random() < 0.4
            turn = cycle < 500 and rng.random() < 0.5 and not ctx.get(dut.control.busy)
            plain = rng.getrandbits(warps) if cycle < 500 and rng.random() < 0.2 else 0
            many, start = rng.getrandbits(warps), rng.getrandbits(1)
            target = ENTRY + 4 * rng.randrange(2, 64)
            ctx.set(dut.branch.valid, branch)
            ctx.set(dut.branch.payload, {"warp": 0, "pc": ENTRY, "target": target})
            ctx.set(dut.control.turn.valid, turn)
            ctx.set(dut.control.turn.payload, {"warps": many, "pc": cycle, "is_start": start})
            ctx.set(dut.control.resumed, plain)
            signals = (dut.redirect.valid, dut.redirect.payload, dut.start, dut.resume)
            _, _, turns, to, started, resume = await ctx.tick().sample(*signals)
            continues = 1 << to.warp if turns and not started else 0
            assert resume == continues | resumed[0]
            resumed[0] = plain
            if turn:
                redirects = [warp for warp in range(warps) if many >> warp & 1]
                expected.extend((warp, cycle, start) for warp in redirects)
            if branch:
                assert turns
                assert (to.warp, to.pc) == (0, target)
            elif turns:
                seen.append((to.warp, to.pc, int(bool(started))))

    simulate(dut, bench)
    assert seen == expected
    assert len(expected) > 80
