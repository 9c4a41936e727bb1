"""Tests of memory-bound kernels: few instructions per word, many loads in flight, traffic."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from spica.hw.config import CoreConfig, MachineConfig, SharedMemoryConfig
from spica.hw.presets import PRESETS
from spica.kernels.bodies import steps
from spica.kernels.chase.kernel import ring
from spica.kernels.compile import compile_program
from spica.kernels.gemv.kernel import factors
from spica.kernels.kernel import find_kernel
from spica.kernels.program import Program
from spica.sim.harness.dram import DramConfig
from support.runs import passed, run_kernel

LOADS = ("lw", "flw")
STACK_POINTER = 2


def run(name, config, *extents, **options):
    return passed(run_kernel(name, extents, config, **options))


TINY = PRESETS["tiny"]
NOTHING_AHEAD = replace(TINY, l2=replace(TINY.l2, prefetch=0))


def on_rtl(name, *extents, config=TINY, **memory):
    return run(name, config, *extents, engine="verilator", memory=DramConfig(**memory))


# -- on the instruction-set model


@pytest.mark.parametrize("cores", [1, 2, 3, 5, 8])
@pytest.mark.parametrize(
    ("name", "extents"),
    [
        ("copy", (20_011,)),
        ("strided", (9_001, 3)),
        ("random_access", (9_001, 5_003)),
        ("chase", (37, 5, 100)),
        ("gemv", (67, 131)),
    ],
)
@pytest.mark.quick(5)
def test_right_on_any_number_of_cores(name, extents, cores):
    config = MachineConfig(
        cores=cores,
        core=CoreConfig(warps=4, threads=8),
        shared=SharedMemoryConfig(size=32 * 1024),
        units=(),
    )
    run(name, config, *extents, schedule="random")


#: Instructions of a warp for each of its rows of words, without launch and end: of a whole block of
#: rows, by the size of the block.
PER_ROW = {
    "copy": (11 / 4, (1 << 15,), (1 << 16,)),
    "strided": (28 / 8, (1 << 14, 4), (1 << 15, 4)),
    "random_access": (43 / 8, (1 << 14, 99), (1 << 15, 99)),
}


@pytest.mark.parametrize("name", PER_ROW)
@pytest.mark.parametrize("preset", ["core", "virgo"])
@pytest.mark.quick(2)
def test_instructions_per_row(name, preset, record_property):
    most, few, many = PER_ROW[name]
    config = PRESETS[preset]
    counts = [run(name, config, *extents)["instructions"]["warp"] for extents in (few, many)]
    rows = (many[0] - few[0]) // config.core.threads
    per_row = (counts[1] - counts[0]) / rows
    record_property("instructions_per_row", per_row)
    assert per_row <= most


def test_instructions_per_row_of_a_matrix():
    """A load and a multiply-add per row, a quarter of the loads of x, and little else."""
    counts = [run("gemv", PRESETS["core"], 32, n)["instructions"]["warp"] for n in (1024, 2048)]
    assert (counts[1] - counts[0]) / (32 * 1024 / 8) <= 43 / 16


#: Loads in flight per warp before it waits for one: all consecutive ones.
IN_FLIGHT = {"copy": 4, "gemv": 20, "random_access": 8, "saxpy": 16, "vecadd": 16}


def is_load_of_data(step):
    """Return whether it is a load, but not of a function's saved registers."""
    return step.name in LOADS and step.field("rs1") != STACK_POINTER


@pytest.mark.parametrize("name", IN_FLIGHT)
@pytest.mark.quick(1)
def test_loads_in_flight(name):
    sources = find_kernel(name).sources
    program = Program.load(compile_program(sources, PRESETS["virgo"]))
    code = [
        step
        for address, data in program.text
        for step in steps(program, address, address + len(data))
        # Address updates between loads wait for none of them.
        if step.name not in ("add", "addi")
    ]
    flights = [
        len(list(loads)) for is_one, loads in itertools.groupby(code, is_load_of_data) if is_one
    ]
    assert max(flights) >= IN_FLIGHT[name]


@pytest.mark.parametrize("n", [1, 2, 3, 61, 1000])
@pytest.mark.quick(2)
def test_a_ring_goes_through_every_node(n):
    rng = np.random.default_rng(1)
    order = ring(rng, n)
    assert order[0] == 0
    assert sorted(order) == list(range(n))
    stride = 3
    buffers = find_kernel("chase").problem({"n": n, "stride": stride, "steps": n + 5}, 2).buffers
    nodes, place, seen = buffers["nodes"].data, 0, []
    for _ in range(n):
        seen.append(place)
        place = int(nodes[place // 4])
    assert place == 0
    assert sorted(seen) == list(range(0, 4 * stride * n, 4 * stride))
    assert seen[5 % n] == buffers["last"].expected[0]


@pytest.mark.parametrize("n", [1, 2, 63, 64, 1000, 1 << 18, 1 << 20])
@pytest.mark.quick(2)
def test_sums_of_factors_are_exact(n):
    rng = np.random.default_rng(1)
    values = np.abs(factors(rng, max(2, 20_000 // n), n)).astype(np.float64)
    assert values.min() == 1
    # The worst case: one largest product per column.
    assert n * values.max() ** 2 <= 1 << 24
    assert values.max() >= min(2047, np.sqrt((1 << 24) / n)) * 0.95
    assert (values == np.rint(values)).all()


@pytest.mark.parametrize(
    ("name", "sizes", "message"),
    [
        ("strided", {"n": 1 << 20, "stride": 65}, "n x stride must be at most 67108864, not"),
        ("chase", {"n": 1 << 20, "stride": 65, "steps": 1}, "n x stride must be at most 67108864"),
        ("gemv", {"m": 1 << 20, "n": 65}, "m x n must be at most 67108864, not 1048576 x 65 = "),
        (
            *("softmax", {"rows": 65536, "columns": 1025}),
            "rows x columns must be at most 67108864, not 65536 x 1025 = 67174400$",
        ),
        ("layernorm", {"rows": 65536, "columns": 1025}, "rows x columns must be at most 67108864"),
    ],
)
def test_data_too_large_is_refused(name, sizes, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        find_kernel(name).problem(sizes, seed=1)


# -- on the RTL of a small cluster


@pytest.mark.full
def test_a_step_takes_as_long_as_memory():
    """A ring that no cache holds: each step is slower by the additional DRAM latency."""
    steps = 256
    near, far = (
        on_rtl("chase", 512, 16, steps, config=NOTHING_AHEAD, latency=latency)["cycles"] / steps
        for latency in (50, 150)
    )
    assert near > 50
    assert far - near == pytest.approx(100, abs=3)


@pytest.mark.full
def test_strides_read_as_much_as_lines_say():
    """Words farther apart than a line cost a line each, except for prefetched lines."""
    n = 1024
    assert TINY.core
    line = TINY.core.l1d.line_bytes
    reads = {
        stride: on_rtl("strided", n, stride, config=NOTHING_AHEAD)["memory"]["traffic"]["run"][
            "read_bytes"
        ]
        for stride in (1, 4, 16, 32)
    }
    for stride, bytes_read in reads.items():
        more = n * (min(4 * stride, line) - 4)
        assert bytes_read - reads[1] == pytest.approx(more, rel=0.05, abs=512)


@pytest.mark.full
def test_a_copy_writes_each_word_once():
    """And reads each at least once, and at most a quarter of them, read ahead, a second time."""
    few, many = (on_rtl("copy", n)["memory"]["traffic"]["run"] for n in (2048, 6144))
    assert many["written_bytes"] - few["written_bytes"] == 4 * 4096
    assert 4 * 4096 <= many["read_bytes"] - few["read_bytes"] <= 1.25 * 4 * 4096
