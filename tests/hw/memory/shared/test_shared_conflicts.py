"""Tests of the exact cost of conflicts in shared memory."""

import random
from dataclasses import replace

import pytest
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from spica.hw.config import PRESETS, CoreConfig, MemoryUnitConfig, SharedMemoryConfig
from spica.hw.lib.interfaces.core_memory import data_response_layout
from spica.hw.lib.streams import ResponseSignature
from spica.hw.memory.memory_unit.layouts import Target, group_layout
from spica.hw.memory.memory_unit.shared_lanes import SharedLanes
from spica.hw.memory.shared.shared_memory import SharedMemory, cluster_ports
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.memory.memory_unit.shared_lanes import is_row
from spica.sim.golden.memory.shared.shared_memory import conflict_degree
from spica.sim.units.shared_memory.costs import (
    BESIDE,
    EIGHT_LANES,
    Lanes,
    bytes_per_cycle,
    conflicting_lanes,
    lane_costs,
    lanes_on,
    strided,
    wide,
)
from spica.sim.units.shared_memory.stress import SharedStress

MEMORY = EIGHT_LANES.memory
LANES = MEMORY.narrow_ports
#: Strides in words at which all lanes fit in memory.
STRIDES = range((MEMORY.size // 4 - 1) // (LANES - 1) + 1)


@pytest.fixture(scope="module")
def stress():
    with SharedStress(EIGHT_LANES, optimize=0) as stress:
        yield stress


def degrees(accesses):
    return [conflict_degree(MEMORY, each.addresses) for each in accesses]


@pytest.mark.parametrize("store", [False, True], ids=["loads", "stores"])
@pytest.mark.full
def test_every_stride_costs_its_degree(stress, store):
    accesses = [strided(LANES, stride, store=store) for stride in STRIDES]
    costs = lane_costs(stress, accesses)
    assert costs == degrees(accesses)
    # Within a bank: the greatest common divisor of subbanks and stride.
    assert costs[:9] == [8, 1, 2, 1, 4, 1, 2, 1, 8]
    assert {1, 2, 3, 4, 8} <= {*costs}


@pytest.mark.parametrize("degree", range(1, LANES + 1))
@pytest.mark.full
def test_every_degree(stress, degree):
    accesses = conflicting_lanes(degree, seed=degree)
    assert degrees(accesses) == [degree] * len(accesses)
    assert lane_costs(stress, accesses) == [degree] * len(accesses)


@pytest.mark.full
def test_random_lanes(stress):
    """Loads and stores take the cycles of their own conflicts if they have no line in common."""
    rng = random.Random(1)
    found, expected = [], []
    for span in (16, 64, MEMORY.size // 4) * 200:
        stores = [rng.random() < 0.5 for _ in range(LANES)]
        # Loads of even lines, stores to odd ones.
        words = [rng.randrange(span) for _ in range(LANES)]
        lines = MEMORY.subbanks
        addresses = [
            4 * (word // lines // 2 * 2 * lines + lines * store + word % lines)
            for word, store in zip(words, stores, strict=True)
        ]
        found.append(Lanes(addresses, stores))
        pairs = [*zip(addresses, stores, strict=True)]
        both = [[place for place, store in pairs if store == kind] for kind in (False, True)]
        expected.append(max(conflict_degree(MEMORY, each) for each in both))
    assert lane_costs(stress, found) == expected
    assert {*expected} >= {1, 2, 3, 4}


@pytest.mark.parametrize("name", BESIDE)
@pytest.mark.full
def test_wide_accesses_go_first_and_leave_the_rest(stress, name):
    wides, lanes, expected = BESIDE[name]
    assert bytes_per_cycle(stress, wides | lanes) == expected


@pytest.mark.full
def test_lanes_never_hold_up_wide_accesses(stress):
    wides = {"read_0": wide(0), "read_1": wide(1), "write_0": wide(2, store=True)}
    alone = bytes_per_cycle(stress, wides)
    for bank in range(MEMORY.banks):
        for store in (False, True):
            beside = bytes_per_cycle(stress, wides | lanes_on(bank, store=store))
            assert {kind: beside[kind] for kind in alone} == alone


class LanesAndMemory(wiring.Component):
    """The lanes of one core before shared memory.

    Members
    -------
    i, o
        Ports of `SharedLanes`.
    """

    def __init__(self, config):
        self.config, self.unit = config, MemoryUnitConfig.of(config)
        super().__init__({
            "i": In(stream.Signature(group_layout(self.unit))),
            "o": Out(ResponseSignature(data_response_layout(config.core))),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.lanes = lanes = SharedLanes(self.unit)
        m.submodules.memory = memory = SharedMemory(cluster_ports(self.config))
        connect(m, flipped(self.i), lanes.i)
        connect(m, lanes.o, flipped(self.o))
        for port in range(self.unit.core.shared_ports):
            connect(m, lanes.port[port], getattr(memory, f"narrow_{port}"))
        if lanes.has_rows:
            connect(m, lanes.row, memory.row_0)
        return m


def group_cycles(config, accesses, writes):
    """Return the cycles between groups, each offered as soon as there is room."""
    dut = LanesAndMemory(config)
    require_no_loop(dut, ports=[])
    starts = []

    async def bench(ctx):
        lanes = len(dut.i.payload.lanes)
        for addresses, write in zip([*accesses, accesses[0]], [*writes, 0], strict=True):
            group = {
                "target": Target.SHARED,
                "is_store": write,
                "lanes": (1 << lanes) - 1,
                "strobes": [15] * lanes,
                "places": [address // 4 for address in addresses],
            }
            if config.row_bytes:
                group["is_row"] = is_row(config.row_bytes, addresses)
            ctx.set(dut.i.valid, 1)
            ctx.set(dut.i.payload, group)
            waited = 1
            while not ctx.get(dut.i.ready):
                await ctx.tick()
                waited += 1
            await ctx.tick()
            starts.append(waited)

    simulate(dut, bench)
    return starts[1:]


#: Accesses of eight lanes that are a row: permuted, and of one word.
ROWS = [*([4 * (8 + lane ^ mask) for lane in range(8)] for mask in (0, 5, 7)), [64] * 8]


@pytest.mark.parametrize("row_port", [True, False], ids=["row port", "narrow ports only"])
@pytest.mark.parametrize("ports", [8, 2])
@pytest.mark.quick(1)
def test_lanes_of_a_core_cost_what_row_ports_and_conflicts_say(ports, row_port):
    memory = SharedMemoryConfig(size=1024, banks=1, subbanks=8)
    core = CoreConfig(shared_ports=ports, row_port=row_port)
    config = replace(PRESETS["core"], shared=memory, core=core)
    strides = [strided(8, stride).addresses for stride in (0, 1, 2, 3, 4, 6, 8, 16)]
    # A unit stride that crosses from one row to the next.
    others = [[*ROWS, [4 * (lane + 3) for lane in range(8)]], strides]
    expected = [
        [max(8 // ports, conflict_degree(memory, each)) for each in accesses] for accesses in others
    ]
    assert {*expected[1]} == {max(8 // ports, degree) for degree in (1, 2, 4, 8)}
    if row_port:
        expected[0][: len(ROWS)] = [1] * len(ROWS)
        expected[1][:2] = [1, 1]
    accesses, cycles = [*others[0], *others[1]], [*expected[0], *expected[1]]
    count = len(accesses)
    assert group_cycles(config, 2 * accesses, [0] * count + [1] * count) == 2 * cycles
