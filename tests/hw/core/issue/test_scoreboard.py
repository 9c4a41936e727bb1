"""Tests of the scoreboard: held-back instructions, and the exact cycle of their release."""

from dataclasses import replace

import pytest

from spica.hw.config import CoreConfig
from spica.hw.core.issue.scoreboard import Scoreboard
from spica.hw.core.issue.scoreboard_events import REACH, release_delay
from spica.hw.core.issue.stall_reason import WARP_REASONS, StallReason
from spica.hw.core.issue.warp_scoreboard import FIXED_PORTS, UNDER_WAY, VARIABLE_PORTS
from spica.hw.isa.operations import Port
from spica.sim.engine.testbench import require_no_loop, simulate

CONFIG = CoreConfig(warps=2, threads=2)
READER = {"reads": 1, "sources": [5, 0, 0]}  # reads x5
WRITER = {"writes": 1, "rd": 5}
BOTH = READER | WRITER
PORTS = {
    "resume": lambda dut: dut.warps.resume,
    "started": lambda dut: dut.warps.started,
    "issue": lambda dut: dut.claims.slots,
    "dispatched": lambda dut: dut.results.dispatched,
    "arriving": lambda dut: dut.results.arriving,
    "written": lambda dut: dut.results.written,
}


class Bench:
    """A scoreboard in a simulation; events last one cycle."""

    def __init__(self, dut, ctx):
        self.dut, self.ctx = dut, ctx

    def head(self, fields, warp=0, seconds=None):
        """Put an instruction at the head of a buffer, and one behind it."""
        self.ctx.set(self.dut.active, 3)
        self.ctx.set(self.dut.heads[0][warp], {"valid": 1, "instruction": fields})
        if seconds is not None:
            self.ctx.set(self.dut.heads[1][warp], {"valid": 1, "instruction": seconds})

    async def cycle(self, **events):
        """Drive the events of a cycle: ``name=(index, fields)``, ``grant=`` and ``resume=``."""
        ports = []
        for name, event in events.items():
            port = PORTS[name](self.dut)
            if isinstance(event, tuple):
                port = port[event[0]]
                event = {"valid": 1} | event[1]
            self.ctx.set(port, event)
            ports.append((port, {"valid": 0} if isinstance(event, dict) else 0))
        await self.ctx.tick()
        for port, nothing in ports:
            self.ctx.set(port, nothing)

    async def issue(self, rd, warp=0, **flags):
        """Issue an instruction that writes `rd`."""
        claim = {"rd": rd, "writes": 1} | flags
        self.ctx.set(self.dut.claims.grant, 1 << warp)
        await self.cycle(issue=(0, claim))
        self.ctx.set(self.dut.claims.grant, 0)

    def ready(self, warp=0):
        """Return whether the warp can issue."""
        return bool(self.ctx.get(self.dut.readiness.ready) >> warp & 1)

    def reason(self, warp=0):
        """Return the stall reason."""
        return StallReason(self.ctx.get(self.dut.reason.as_value()) >> 4 * warp & 15)

    def pending(self, warp=0):
        """Return the sources of the head that will arrive on a bus."""
        return self.ctx.get(self.dut.readiness.pending[warp][0])


def bench(config, test):
    dut = require_no_loop(Scoreboard(config))

    async def testbench(ctx):
        await test(Bench(dut, ctx))

    simulate(dut, testbench)


async def clears(board, warp=0) -> int:
    """Return the cycles until the head can issue."""
    for cycle in range(10):
        if board.ready(warp):
            return cycle
        await board.cycle()
    raise AssertionError("never ready")


def done(rd, warp=0, writes=1):
    return (0, {"warp": warp, "rd": rd, "writes": writes})


@pytest.mark.parametrize("head", [READER, WRITER, BOTH])
@pytest.mark.parametrize("snoop", [True, False])
def test_held_back_from_claim_to_write(head, snoop):
    async def test(board):
        board.head(head)
        board.head(head, warp=1)
        assert board.ready() and board.reason() == StallReason.NONE
        await board.issue(6)
        await board.issue(0, writes=0)
        await board.issue(4, warp=1)
        await board.issue(5)
        for _ in range(3):
            assert not board.ready() and board.reason() == StallReason.SCOREBOARD
            assert board.ready(1), "another warp has registers of its own"
            await board.cycle()
        await board.cycle(written=done(4, warp=1))
        await board.cycle(written=done(6))
        await board.cycle(written=done(5, writes=0))
        assert not board.ready()
        await board.cycle(written=done(5))
        assert board.ready()

    bench(replace(CONFIG, snoop=snoop), test)


@pytest.mark.parametrize("port", VARIABLE_PORTS)
def test_readers_go_when_a_result_arrives(port):
    async def test(board):
        board.head(READER)
        board.head(WRITER, warp=1)
        await board.issue(5)
        await board.issue(5, warp=1)
        event = {"warp": 0, "rd": 5}
        await board.cycle(arriving=(VARIABLE_PORTS.index(port), event | {"rd": 4}))
        assert not board.ready()
        await board.cycle(arriving=(VARIABLE_PORTS.index(port), event))
        assert board.ready() and board.pending() == 1
        await board.cycle(arriving=(VARIABLE_PORTS.index(port), event | {"warp": 1}))
        assert not board.ready(1), "who writes it waits for the write"

    bench(CONFIG, test)


@pytest.mark.parametrize("fma_latency", [3, 4, 5, 6])
@pytest.mark.parametrize("lanes", [1, 2])
@pytest.mark.quick(1)
def test_readers_go_some_time_after_the_dispatch(fma_latency, lanes):
    """Readers issue `REACH` cycles before the result is on a bus, if it is that far off."""
    config = replace(CONFIG, fma_latency=fma_latency, fp32_lanes=lanes)
    latency = {Port.INT: 1, Port.FP32: fma_latency + 2 // lanes - 1}

    async def test(board):
        for number, port in enumerate(FIXED_PORTS):
            board.head(READER)
            await board.issue(5)
            await board.cycle()
            assert not board.ready()
            await board.cycle(dispatched=(number, {"warp": 0, "rd": 5}))
            waited = 1 + await clears(board)  # since the cycle of the dispatch
            assert waited == max(1, latency[port] - REACH)
            assert waited == release_delay(config, port) + 1
            assert board.pending() == 1
            await board.cycle(written=done(5))

    bench(config, test)


def test_two_results_of_one_register():
    """An accumulation: the second waits for the first, and readers for the second."""

    async def test(board):
        arrives = (0, {"warp": 0, "rd": 5})
        board.head(BOTH)
        await board.issue(5)
        assert not board.ready()
        await board.cycle(arriving=arrives)
        assert board.ready() and board.pending() == 1
        await board.issue(5)
        for _ in range(2):
            await board.cycle(arriving=arrives)  # the first still waits for a bus
            assert not board.ready(), "the second has not been announced"
        board.ctx.set(board.dut.results.arriving[0], {"valid": 1, "warp": 0, "rd": 5})
        await board.cycle(written=done(5))
        board.ctx.set(board.dut.results.arriving[0], {"valid": 0})
        assert not board.ready() and board.pending() == 1, "the second is still to come"
        await board.cycle(arriving=arrives)
        assert board.ready()
        board.head(WRITER)
        assert not board.ready(), "who only writes it waits for the second"
        await board.cycle(written=done(5))
        assert board.ready() and board.pending() == 0

    bench(CONFIG, test)


def test_loads_are_distinguished_from_other_producers():
    async def test(board):
        board.head({"reads": 0b111, "sources": [5, 6, 7]})
        await board.issue(6)
        assert board.reason() == StallReason.SCOREBOARD
        await board.issue(7, loads=1)
        assert board.reason() == StallReason.MEMORY
        await board.cycle(written=done(7))
        assert board.reason() == StallReason.SCOREBOARD
        await board.issue(7)
        assert board.reason() == StallReason.SCOREBOARD

    bench(CONFIG, test)


def test_drained_and_crowded():
    async def test(board):
        board.head({"serialises": 1})
        board.head({}, warp=1)
        assert board.ready()
        for _ in range(UNDER_WAY):
            assert board.ready(1)
            await board.issue(0, warp=1, writes=0)
        assert not board.ready(1) and board.reason(1) == StallReason.DRAIN
        assert board.ready()
        await board.issue(9, writes=0)
        assert not board.ready() and board.reason() == StallReason.DRAIN
        assert board.ctx.get(board.dut.drained) == 0
        await board.cycle(written=done(0, writes=0))
        assert board.ready() and board.ctx.get(board.dut.drained) == 1
        await board.cycle(written=done(0, warp=1, writes=0))
        assert board.ready(1)

    bench(CONFIG, test)


@pytest.mark.parametrize("how", ["resume", "started"])
def test_stopped_until_resumed(how):
    async def test(board):
        board.head({})
        await board.issue(0, writes=0, stalls_warp=1)
        assert not board.ready() and board.reason() == StallReason.BLOCKED
        board.ctx.set(board.dut.warps.at_barrier, 1)
        assert board.reason() == StallReason.BARRIER
        board.ctx.set(board.dut.warps.at_barrier, 0)
        await board.cycle(written=done(0, writes=0))
        assert not board.ready(), "done is not carried out"
        await board.cycle(**{how: 2})
        assert not board.ready(), "another warp"
        await board.cycle(**{how: 1})
        assert board.ready()

    bench(CONFIG, test)


def test_an_acquire_stops_its_warp_until_everything_before_is_done():
    async def test(board):
        board.head({"port": Port.MEMORY})
        board.head({}, warp=1)
        await board.issue(7)
        await board.issue(0, writes=0, acquires=1)
        acquired = board.dut.acquired
        for register in (7, None):
            assert not board.ready() and board.reason() == StallReason.DRAIN
            assert board.ready(1) and not board.ctx.get(acquired)
            await board.cycle(written=done(register or 0, writes=register is not None))
        assert board.ctx.get(acquired) and not board.ready(), "the caches are old"
        await board.cycle()
        assert board.ready() and not board.ctx.get(acquired)

    bench(replace(CONFIG, atomics=True), test)


def test_nothing_goes_with_an_acquire_before_it():
    async def test(board):
        board.head(FIRST | {"acquires": 1}, seconds=SECOND)
        assert not board.ctx.get(board.dut.readiness.ready_slot_1)
        board.head(FIRST, seconds=SECOND | {"acquires": 1})
        assert board.ctx.get(board.dut.readiness.ready_slot_1)

    bench(replace(CONFIG, issue_width=2, atomics=True), test)


def test_not_there_and_not_active():
    async def test(board):
        assert board.reason() == StallReason.IDLE
        board.head({})
        board.ctx.set(board.dut.heads[0][0], {"valid": 0})
        assert not board.ready() and board.reason() == StallReason.NO_INSTRUCTION
        board.head({})
        board.ctx.set(board.dut.active, 2)
        assert not board.ready() and board.reason() == StallReason.IDLE

    bench(CONFIG, test)


FIRST = {"port": Port.INT, "writes": 1, "rd": 5}
SECOND = {"port": Port.FP32, "writes": 1, "rd": 6, "reads": 2, "sources": [5, 7, 5]}


@pytest.mark.parametrize(
    ("first", "second", "goes"),
    [
        ({}, {}, True),
        ({"rd": 7}, {}, False),
        ({"rd": 7, "writes": 0}, {}, True),
        ({"rd": 6}, {}, False),
        ({"rd": 6}, {"writes": 0}, True),
        ({"rd": 6, "writes": 0}, {}, True),
        ({}, {"reads": 1}, False),
        ({}, {"reads": 4}, False),
        ({}, {"port": Port.INT}, False),
        ({"stalls_warp": 1}, {}, False),
        ({}, {"stalls_warp": 1}, True),
        ({}, {"serialises": 1}, False),
        ({"serialises": 1}, {}, True),
        ({"reads": 1, "sources": [6, 0, 0]}, {}, True),
    ],
)
@pytest.mark.quick(5)
def test_what_goes_with_what(first, second, goes):
    async def test(board):
        board.head(FIRST | first, seconds=SECOND | second)
        assert board.ctx.get(board.dut.readiness.ready_slot_1) == goes
        await board.issue(7)
        if SECOND["reads"] & 2 and second.get("reads", 2) == 2:
            assert board.ctx.get(board.dut.readiness.ready_slot_1) == 0, "waits for x7"

    bench(replace(CONFIG, issue_width=2), test)


def test_done_without_an_issue_is_reported():
    async def test(board):
        await board.cycle(written=done(5))

    with pytest.raises(AssertionError, match="more instructions completed than were issued"):
        bench(CONFIG, test)


def test_reasons_are_in_order_and_fit():
    assert list(StallReason) == sorted(StallReason)
    assert len(WARP_REASONS) == 7
    assert max(StallReason) < 16
