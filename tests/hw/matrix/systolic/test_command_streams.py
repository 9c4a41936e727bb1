"""Tests of a matrix unit with streams of commands of every kind, against the model."""

from dataclasses import replace

import pytest
from amaranth import EnableInserter

from spica.hw.config import MatrixUnitConfig
from spica.hw.isa.commands import Function
from spica.hw.isa.memory_map import DRAM_BASE
from spica.hw.matrix.systolic.systolic_unit import SystolicUnit
from spica.hw.presets import PRESETS
from spica.sim.engine.testbench import require_no_loop, simulate
from support.matrix.random_commands import CommandStream
from support.matrix.systolic_unit_bench import MatrixHost

TINY = PRESETS["tiny_matrix"]
#: Cycles after which a stream counts as endless; the longest take a tenth.
LIMIT = 20_000


def with_unit(**changes):
    """Return a cluster with a different matrix unit, and small tiles of its command words."""
    return replace(TINY, units=(replace(TINY.units[0], **{"tile": (16, 16, 8), **changes}),))


CONFIGS = {
    "fp16": with_unit(),
    "output-stationary": with_unit(dataflow="output_stationary"),
    "every option": with_unit(row_scale=True, load_d=True),
    "loads of D output-stationary": with_unit(load_d=True, dataflow="output_stationary"),
    "int8": with_unit(operand="int8", read_scale=False),
    "bf16 2x8": with_unit(rows=2, columns=8, operand="bf16"),
    "8x2 latency 4": with_unit(rows=8, columns=2, multiply_add_latency=4),
    "fp8 latency 1": with_unit(operand="fp8_e4m3", multiply_add_latency=1, add_latency=1),
    "fp32 2x2": with_unit(operand="fp32", rows=2, columns=2),
    "fp8_e5m2 2x4": with_unit(operand="fp8_e5m2", rows=2, columns=4),
}


def run(stream: CommandStream, *, stall: float, seed: int = 0):
    """Run a stream on the unit alone, with stalls its clock is gated; compare with the model."""
    machine = MatrixHost(stream.config, stream.writes, stall=stall, seed=seed)
    dut = machine.dut
    machine.dram[:], machine.shared[:] = stream.dram.tobytes(), stream.shared.tobytes()
    dram, shared, registers = stream.expected()

    async def testbench(ctx):
        await machine.run(ctx)
        assert await machine.registers(ctx, *registers) == registers
        await ctx.tick().repeat(2)
        assert not ctx.get(dut.busy) and not ctx.get(dut.events.as_value())

    simulate(EnableInserter(dut.busy)(dut) if stall else dut, testbench, timeout=LIMIT)
    assert machine.dram == dram.tobytes()
    assert machine.shared == shared.tobytes()


class SplitStores(CommandStream):
    """Two rounds of a compute and `stores` stores of its column blocks, with fewer rows."""

    def __init__(self, stores: int):
        self.stores = stores
        super().__init__(CONFIGS["fp16"], 0, groups=0)

    def fill_accumulator(self):
        """Add the rounds; the first compute defines the rows that are stored."""
        for number in range(2):
            self.bounds((4, 4, 1), (0, 0, 3))
            self.fire(Function.ACCUMULATOR, 0)
            self.fire(Function.SPAD_AB, 0, self.size // 4 // self.matrix.b_bytes)
            self.loop(0x2B8)
            self.bounds((4, 1, 1), (1, 0, 0))
            self.fire(Function.STRIDES_DC, 0, 16)
            for column in range(self.stores):
                self.fire(Function.ACCUMULATOR, 16 * column)
                to = self.base + 0x8000 + 0x1000 * number + 8 * column
                self.fire(Function.ADDRESSES_DC, 0, to)
                self.loop(0x78)


@pytest.mark.parametrize("stall", [0.0, pytest.param(0.4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("stores", [4, pytest.param(3, marks=pytest.mark.slow)])
def test_a_compute_that_follows_narrower_stores_lets_them_end(stores, stall):
    """Its weights enter the array while the last store waits for the drain of the one before."""
    run(SplitStores(stores), stall=stall)


# The last stream scales rows of several column blocks.
@pytest.mark.parametrize(("name", "seed"), [*((name, 1) for name in CONFIGS), ("every option", 12)])
@pytest.mark.quick("fp16-*")
def test_a_random_stream(name, seed):
    require_no_loop(SystolicUnit, MatrixUnitConfig.of(CONFIGS[name]))
    run(CommandStream(CONFIGS[name], seed, groups=4), stall=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFIGS)
def test_random_streams_of_a_unit_alone(name):
    for seed in range(30):
        run(CommandStream(CONFIGS[name], seed, groups=4), stall=0.3 * (seed % 3), seed=seed)


def test_streams_use_every_kind_of_command():
    """Each kind is in some of the first streams, with and without the other parts."""
    seen: set[tuple[str, bool]] = set()
    config = MatrixUnitConfig.of(CONFIGS["every option"])
    names = ("load_a", "compute", "store", "spill", "accumulate", "transpose_a", "transpose_b")
    names += ("wide", "relu", "scale_lines", "load_d")
    for seed in range(12):
        stream = CommandStream(CONFIGS["every option"], seed)
        assert stream.base == DRAM_BASE
        for operation in stream.operations(config):
            seen |= {(name, bool(operation[name])) for name in names}
    assert seen == {(name, value) for name in names for value in (False, True)}
