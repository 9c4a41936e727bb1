"""Test of the cycles between groups of lanes at shared memory."""

from dataclasses import replace

import pytest

from spica.hw.config import CoreConfig, SharedMemoryConfig
from spica.hw.memory.memory_unit.layouts import Target
from spica.hw.presets import PRESETS
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.memory.memory_unit.shared_lanes import is_row
from spica.sim.golden.memory.shared.shared_memory import conflict_degree
from support.memory.request_path import LanesAndMemory


def group_cycles(config, accesses, writes):
    """Return the cycles between groups, each offered as soon as there is room."""
    dut = require_no_loop(LanesAndMemory(config), ports=[])
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
    strides = [[4 * stride * lane for lane in range(8)] for stride in (0, 1, 2, 3, 4, 6, 8, 16)]
    # A unit stride that crosses from one row to the next.
    others = [[*ROWS, [4 * (lane + 3) for lane in range(8)]], strides]
    expected = [
        [max(8 // ports, conflict_degree(memory, addresses)) for addresses in accesses]
        for accesses in others
    ]
    assert {*expected[1]} == {max(8 // ports, degree) for degree in (1, 2, 4, 8)}
    if row_port:
        expected[0][: len(ROWS)] = [1] * len(ROWS)
        expected[1][:2] = [1, 1]
    accesses, cycles = [*others[0], *others[1]], [*expected[0], *expected[1]]
    count = len(accesses)
    assert group_cycles(config, 2 * accesses, [0] * count + [1] * count) == 2 * cycles
