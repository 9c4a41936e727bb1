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
from spica.sim.golden.memory.shared.shared_timing import conflict_degree, cycles_of_row
from spica.sim.units.shared_memory.costs import (
    BESIDE,
    EIGHT_LANES,
    Row,
    bytes_per_cycle,
    conflict_rows,
    lanes_on,
    row_costs,
    strided,
    wide,
)
from spica.sim.units.shared_memory.stress import SharedStress

MEMORY = EIGHT_LANES.memory
LANES = MEMORY.narrow_ports
#: Strides in words at which a row of all lanes fits in memory.
STRIDES = range((MEMORY.size // 4 - 1) // (LANES - 1) + 1)


@pytest.fixture(scope="module")
def stress():
    with SharedStress(EIGHT_LANES, optimize=0) as stress:
        yield stress


def degrees(rows):
    return [conflict_degree(MEMORY, row.addresses) for row in rows]


@pytest.mark.parametrize("store", [False, True], ids=["loads", "stores"])
def test_every_stride_costs_its_degree(stress, store):
    rows = [strided(LANES, stride, store=store) for stride in STRIDES]
    costs = row_costs(stress, rows)
    assert costs == degrees(rows)
    # Within a bank: the greatest common divisor of subbanks and stride.
    assert costs[:9] == [8, 1, 2, 1, 4, 1, 2, 1, 8]
    assert {1, 2, 3, 4, 8} <= {*costs}


@pytest.mark.parametrize("degree", range(1, LANES + 1))
def test_every_degree(stress, degree):
    rows = conflict_rows(degree, seed=degree)
    assert degrees(rows) == [degree] * len(rows)
    assert row_costs(stress, rows) == [degree] * len(rows)


def test_random_rows(stress):
    """Loads and stores take the cycles of their own conflicts if they have no line in common."""
    rng = random.Random(1)
    rows, expected = [], []
    for span in (16, 64, MEMORY.size // 4) * 200:
        stores = [rng.random() < 0.5 for _ in range(LANES)]
        # Loads of even lines, stores to odd ones.
        words = [rng.randrange(span) for _ in range(LANES)]
        lines = MEMORY.subbanks
        addresses = [
            4 * (word // lines // 2 * 2 * lines + lines * store + word % lines)
            for word, store in zip(words, stores, strict=True)
        ]
        rows.append(Row(addresses, stores))
        pairs = [*zip(addresses, stores, strict=True)]
        both = [[place for place, store in pairs if store == kind] for kind in (False, True)]
        expected.append(max(conflict_degree(MEMORY, each) for each in both))
    assert row_costs(stress, rows) == expected
    assert {*expected} >= {1, 2, 3, 4}


@pytest.mark.parametrize("name", BESIDE)
def test_wide_accesses_go_first_and_leave_the_rest(stress, name):
    wides, lanes, expected = BESIDE[name]
    assert bytes_per_cycle(stress, wides | lanes) == expected


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
        return m


def group_cycles(config, rows, writes):
    """Return the cycles between groups, each offered as soon as there is room."""
    dut = LanesAndMemory(config)
    require_no_loop(dut, ports=[])
    starts = []

    async def bench(ctx):
        lanes = len(dut.i.payload.lanes)
        for addresses, write in zip([*rows, rows[0]], [*writes, 0], strict=True):
            ctx.set(dut.i.valid, 1)
            ctx.set(
                dut.i.payload,
                {
                    "target": Target.SHARED,
                    "is_store": write,
                    "lanes": (1 << lanes) - 1,
                    "strobes": [15] * lanes,
                    "places": [address // 4 for address in addresses],
                },
            )
            waited = 1
            while not ctx.get(dut.i.ready):
                await ctx.tick()
                waited += 1
            await ctx.tick()
            starts.append(waited)

    simulate(dut, bench)
    return starts[1:]


@pytest.mark.parametrize("ports", [8, 2])
def test_a_row_of_a_core_costs_what_its_ports_and_conflicts_say(ports):
    memory = SharedMemoryConfig(size=1024, banks=1, subbanks=8)
    core = CoreConfig(shared_ports=ports)
    config = replace(PRESETS["core"], shared=memory, core=core)
    rows = [strided(8, stride).addresses for stride in (0, 1, 2, 3, 4, 6, 8, 16)]
    expected = [max(8 // ports, conflict_degree(memory, row)) for row in rows]
    assert {*expected} == {max(8 // ports, degree) for degree in (1, 2, 4, 8)}
    assert [cycles_of_row(cluster_ports(config), row) for row in rows] == expected
    assert group_cycles(config, 2 * rows, [0] * 8 + [1] * 8) == 2 * expected


@pytest.mark.parametrize("ports", [1, 2, 4, 8])
def test_rows_within_a_bank_have_a_formula_however_few_the_ports(ports):
    """The model, which the RTL is compared with, follows the formula too."""
    config = replace(EIGHT_LANES, memory=replace(MEMORY, size=1 << 17, narrow_ports=ports))
    within = range(config.memory.size // config.memory.banks // 4 // 8)
    for stride in within:
        row = strided(8, stride).addresses
        degree = conflict_degree(config.memory, row)
        assert cycles_of_row(config, row) == max(8 // ports, degree), stride
