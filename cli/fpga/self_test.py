"""Self-test of a cluster on an FPGA: a matrix product and the expected contents of memory."""

from itertools import count

import numpy as np
from amaranth.lib import wiring

from ...base.progress import Progress
from ...hw.config import MachineConfig, SystolicConfig
from ...hw.isa.memory_map import CORES, CORES_BASE, DRAM_BASE
from ...kernels.commands import Host
from ...kernels.gemm.data import operands
from ...kernels.gemm.host.schedule import schedule
from ...kernels.gemm.problem import GemmProblem
from ...kernels.gemm.target import systolic_unit
from ...sim.engine.block_bench import BlockBench
from ...sim.golden.matrix.gemm import gemm
from ...sim.golden.styles.registry import golden_product
from ...sim.run.product_workload import pose
from ...synth.fpga.self_test.array_test import ArrayTest, ArrayTestConfig, Step
from ...synth.fpga.self_test.axi_ram import Window
from ...synth.fpga.self_test.host_player import HostPlayerConfig
from ...synth.fpga.self_test.report import ReportConfig
from ...synth.fpga.self_test.self_test import SelfTest, SelfTestConfig
from ...synth.fpga.self_test.uart import UartConfig

__all__ = ["BAUD", "array_test", "received", "self_test", "test_of", "verdict_of"]

BAUD = 115_200
#: Simulated cycles between two checks of the outputs, and the limit of a test.
CHUNK, PATIENCE = 4096, 1 << 20


def test_of(config: MachineConfig | SystolicConfig, clock: float, seed: int) -> wiring.Component:
    """Return the component of a test: a product with partial tiles, or a test of an array."""
    if not isinstance(config, MachineConfig):
        rows = 4 * config.rows
        return ArrayTest(array_test(config, m=rows, k=rows, clock=clock, seed=seed))
    matrix = systolic_unit(config, "a self-test")
    m, n, k = 4 * matrix.rows + 3, 4 * matrix.columns + 1, 8 * matrix.rows + 5
    return SelfTest(self_test(config, m=m, n=n, k=k, clock=clock, seed=seed))


def verdict_of(test: wiring.Component, progress: Progress | None = None) -> tuple[str, int]:
    """Simulate a test; return ``pass``, ``FAIL`` or ``endless``, and its cycles."""
    with BlockBench(test, optimize=1, progress=progress) as bench:
        bench.reset()
        for _ in range(PATIENCE // CHUNK):
            last = {name: int(values[-1]) for name, values in bench.run(cycles=CHUNK).items()}
            if not last["running"]:
                return "pass" if last["passed"] else "FAIL", last["cycles"]
    return "endless", PATIENCE


def self_test(
    config: MachineConfig,
    *,
    m: int,
    n: int,
    k: int,
    clock: float,
    seed: int = 1,
    repeat: int | None = None,
) -> SelfTestConfig:
    """Return a test of a product of random operands, with the result of the golden model.

    Parameters
    ----------
    config : MachineConfig
        Config with a matrix unit; its cores, if any, are not started.
    m, n, k : int
        Sizes of the product.
    clock : float
        Clock frequency in hertz, for the serial line of `BAUD`.
    seed : int
        Seed of the operands.
    repeat : int or None
        Cycles between two reports; None for half a second.

    """
    problem, steps = pose(config, m, n, k)
    a, b = operands(problem, "random", seed)
    c = golden_product(config, problem, a, b, steps.tiling.k)
    host = Host()
    schedule(config, problem, host, steps)
    if config.cores:
        flush = CORES_BASE + CORES["flush"].offset
        host.commands.write(flush, 1)
        host.commands.wait_equal(flush, 0)
    image = problem.image(a, b)
    end = max(address + len(data) for address, data in image)
    least = max(64, config.axi.masters * config.axi.interleave_bytes)
    size = next(least << n for n in count() if least << n >= end - DRAM_BASE)
    before = np.zeros(size, np.uint8)
    for address, data in image:
        before[address - DRAM_BASE :][: len(data)] = data
    after = before.copy()
    pitch = problem.c_pitch * problem.element_bytes("c")
    for row, values in enumerate(c):
        start = problem.c_base - DRAM_BASE + row * pitch
        after[start : start + values.nbytes] = values.view(np.uint8)
    return SelfTestConfig(
        cluster=config,
        windows=(Window(base=DRAM_BASE, before=before.tobytes(), after=after.tobytes()),),
        host=HostPlayerConfig(commands=tuple(map(tuple, host.commands.array().tolist()))),
        report=report(clock, repeat),
    )


def report(clock: float, repeat: int | None) -> ReportConfig:
    """Return the config of the report at a clock frequency in hertz."""
    uart = UartConfig(cycles_per_bit=round(clock / BAUD))
    return ReportConfig(uart=uart, repeat=repeat or round(clock / 2))


def array_test(
    matrix: SystolicConfig,
    *,
    m: int,
    k: int,
    clock: float,
    seed: int = 1,
    repeat: int | None = None,
) -> ArrayTestConfig:
    """Return a test of an array alone: a product of random operands, as wide as the array.

    Parameters
    ----------
    matrix : SystolicConfig
        Config of a weight-stationary array.
    m, k : int
        Rows of A, and their length, a multiple of the rows of the array.
    clock, seed, repeat : float, int, int or None
        As in `self_test`.

    """
    form, wide = matrix.operand, matrix.accumulator_format.name
    problem = GemmProblem.placed(m=m, n=matrix.columns, k=k, operand=form, c_format=wide)
    a, b = operands(problem, "random", seed)
    data = gemm(matrix, problem, a, b, k).tobytes()
    a_codes, b_codes = stored(a), stored(b)
    # The weights of an element must stay until the last row of A has passed it.
    passes = [Step()] * (matrix.rows * matrix.element_latency)
    steps = []
    for first in range(0, k, matrix.rows):
        slab = slice(first, first + matrix.rows)
        steps += [Step(weights=tuple(codes), row=row) for row, codes in enumerate(b_codes[slab])]
        steps += [
            Step(a=tuple(codes[slab]), swap=row == 0, accumulate=first > 0, address=row)
            for row, codes in enumerate(a_codes)
        ]
        steps += passes
    beat = matrix.drain_bytes
    beats = [data[at : at + beat] for at in range(0, len(data), beat)]
    return ArrayTestConfig(
        matrix=matrix,
        steps=tuple(steps),
        rows=m,
        expected=tuple(int.from_bytes(beat, "little") for beat in beats),
        report=report(clock, repeat),
    )


def stored(values: np.ndarray) -> list[list[int]]:
    """Return the bits of operands as unsigned integers."""
    return values.view(np.dtype(f"u{values.itemsize}")).tolist()


def received(line: np.ndarray, cycles_per_bit: int) -> bytes:
    """Return the bytes sent on a serial line, given its level in every cycle."""
    data, at = bytearray(), 0
    while at + 10 * cycles_per_bit <= len(line):
        if line[at]:
            at += 1
            continue
        start, *bits, stop = line[at + cycles_per_bit // 2 :: cycles_per_bit][:10]
        if start or not stop:
            raise ValueError(f"a byte must have a stop bit; the byte at cycle {at} has none")
        data.append(sum(int(bit) << place for place, bit in enumerate(bits)))
        at += 10 * cycles_per_bit - cycles_per_bit // 2
    return bytes(data)
