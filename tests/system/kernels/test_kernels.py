"""Tests of every kernel on every machine shape: results within bounds, no spills, within budget."""

import dataclasses
import math

import numpy as np
import pytest

from spica.hw.config import CoreConfig, MachineConfig, SharedMemoryConfig
from spica.hw.presets import PRESETS
from spica.kernels.compile import compile_program
from spica.kernels.inspection import inspect_program
from spica.kernels.kernel import Kernel, Problem, every_kernel, find_kernel
from spica.kernels.program import Program
from support.runs import is_found, passed, planted, run_kernel

BARRIER = "vx_barrier(0, SPICA_WARPS);"
KERNELS = [kernel.name for kernel in every_kernel()]


def machine(cores, warps, threads, scope="cluster", kilobytes=128):
    return MachineConfig(
        cores=cores,
        core=CoreConfig(warps=warps, threads=threads),
        barrier_scope=scope,
        shared=SharedMemoryConfig(size=kilobytes * 1024),
        units=(),
    )


#: Machine, optimisation, schedule.
FAST = {
    "core": (PRESETS["core"], 3, "round_robin"),
    "1x1x1": (machine(1, 1, 1), 2, "round_robin"),
    "3x5x6": (machine(3, 5, 6), 2, "random"),
    "2x3x7, barriers of a core": (machine(2, 3, 7, "core"), 3, "random"),
}
MACHINES = {
    "core": PRESETS["core"],
    "tiny": dataclasses.replace(PRESETS["tiny"], units=()),
    "virgo": PRESETS["virgo"],
    "1x1x1": machine(1, 1, 1),
    "1x1x32": machine(1, 1, 32),
    "1x32x1": machine(1, 32, 1),
    "1x3x2": machine(1, 3, 2),
    "8x1x1": machine(8, 1, 1),
    "5x3x31": machine(5, 3, 31),
    "3x5x6": machine(3, 5, 6),
    "8x32x32": machine(8, 32, 32),
    "8x32x32, 16 KB": machine(8, 32, 32, kilobytes=16),
    "virgo, barriers of a core": dataclasses.replace(PRESETS["virgo"], barrier_scope="core"),
    "3x5x6, barriers of a core": machine(3, 5, 6, "core"),
    "8x32x32, barriers of a core": machine(8, 32, 32, "core"),
}
#: The smallest, ragged ones, tiles that just fit, more elements than threads.
SIZES = {
    1: [(1,), (2,), (61,), (509,), (2053,)],
    2: [(1, 1), (3, 50), (53, 3), (37, 41), (64, 72)],
    3: [(1, 1, 1), (5, 3, 2), (33, 70, 37), (64, 64, 64), (70, 31, 101)],
}
#: Kernels with quadratic work, or dimensions that are not sides.
SIZES_OF = {
    "chase": [(1, 1, 1), (5, 3, 2), (33, 70, 37), (64, 16, 1000), (509, 7, 509)],
    "nbody": [(1,), (2,), (61,), (257,), (509,)],
    "random_access": [(1, 1), (3, 50), (61, 7), (2053, 300), (20011, 40000)],
    "strided": [(1, 1), (3, 50), (61, 7), (2053, 5), (20011, 16)],
}
#: Larger sizes for machines with thousands of threads.
LARGE = {1: [(8192,), (20011,)], 2: [(1, 5003), (257, 263)], 3: [(1, 300, 9), (257, 130, 67)]}


def sizes_of(kernel: Kernel) -> list[tuple[int, ...]]:
    return SIZES_OF.get(kernel.name, SIZES[len(kernel.dimensions)])


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("shape", FAST)
@pytest.mark.quick(4)
def test_right(name, shape):
    config, optimize, schedule = FAST[shape]
    kernel = find_kernel(name)
    for seed, size in enumerate(sizes_of(kernel), 1):
        passed(run_kernel(kernel, size, config, optimize=optimize, schedule=schedule, seed=seed))


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("shape", MACHINES)
def test_right_everywhere(name, shape):
    kernel = find_kernel(name)
    sizes = sizes_of(kernel)
    if name not in SIZES_OF:
        sizes = sizes + LARGE[len(kernel.dimensions)]
    for optimize in (2, 3):
        for schedule in ("round_robin", "random"):
            for seed, size in enumerate(sizes, 1):
                options = {"optimize": optimize, "schedule": schedule, "seed": seed}
                passed(run_kernel(kernel, size, MACHINES[shape], **options))


#: Warp-instructions on preset `core` at -O3, launch and end included: the measured number and about
#: a twentieth for other compiler versions.
BUDGETS = {
    "bitonic_sort": ((4096,), 240_000),
    "chase": ((256, 16, 256), 1_520),
    "conv2d": ((64, 64), 10_400),
    "copy": ((8192,), 3_590),
    "gemv": ((128, 128), 9_600),
    "layernorm": ((64, 64), 13_800),
    "mandelbrot": ((64, 64), 335_000),
    "nbody": ((256,), 140_000),
    "random_access": ((8192, 8192), 6_450),
    "reduce": ((8192,), 3_500),
    "saxpy": ((8192,), 5_500),
    "sgemm": ((64, 64, 64), 64_000),
    "softmax": ((64, 64), 10_700),
    "stencil": ((64, 64), 30_000),
    "strided": ((8192, 4), 4_350),
    "transpose": ((64, 64), 4_100),
    "vecadd": ((8192,), 5_600),
}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.quick(6)
def test_instructions(name, record_property):
    kernel = find_kernel(name)
    size, budget = BUDGETS[name]
    result = passed(run_kernel(kernel, size, "core"))
    instructions = result["instructions"]["warp"]
    record_property("instructions", instructions)
    record_property("instructions_per_element", instructions / math.prod(size))
    assert instructions <= budget


@pytest.mark.parametrize("optimize", [2, 3])
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.quick(4)
def test_inspection(name, optimize):
    sources = find_kernel(name).sources
    program = Program.load(compile_program(sources, PRESETS["core"], optimize=optimize))
    assert inspect_program(program) == []


def element_off(problem: Problem) -> Problem:
    """Return the problem with a slightly different expectation for one element of each result."""
    buffers = {}
    for name, buffer in problem.buffers.items():
        expected = buffer.expected
        if expected is not None:
            expected = expected.copy()
            if expected.dtype.kind in "iu":
                expected.flat[expected.size // 2] ^= 1
            else:
                at = np.argmax(np.where(np.abs(expected) < 1e6, np.abs(expected), 0))
                expected.flat[at] *= 1.01
        buffers[name] = dataclasses.replace(buffer, expected=expected)
    return dataclasses.replace(problem, buffers=buffers)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.quick(4)
def test_a_wrong_reference_is_seen(name):
    kernel = find_kernel(name)
    wrong = dataclasses.replace(
        kernel, pose=lambda rng, **sizes: element_off(kernel.pose(rng, **sizes))
    )
    result = run_kernel(wrong, sizes_of(kernel)[3], "core")
    checks = result["check"]["buffers"].values()
    assert result["check"]["verdict"] == "fail"
    assert all(check["wrong"] == 1 for check in checks if check["is_result"])


#: Plausible faults of each kernel: text of its source and its replacement.
MISTAKES = {
    "bitonic_sort": [("spica_barrier();", "")],
    "chase": [
        ("steps > 0; steps--", "steps > 1; steps--"),
        ("walk(nodes, 0, arguments->n)", "walk(nodes, 0, arguments->n - 1)"),
    ],
    "conv2d": [("spica_mask(x + 1 < w)", "spica_mask(1)"), ("if (y > 0) next", "if (y > 99) next")],
    "copy": [
        ("SPICA_IF (i < n)", "SPICA_IF (i + 1 < n)"),
        ("words[i] = a[i * SPICA_THREADS]", "words[i] = a[i / 2 * SPICA_THREADS]"),
        ("row = whole + warp", "row = whole + 1 + warp"),
    ],
    "gemv": [
        ("lane ^ distance", "lane"),
        ("if (row + r < m)", "if (row + r + 1 < m)"),
        ("SPICA_IF (column + lane < n)", "SPICA_IF (column + lane + 1 < n)"),
    ],
    "layernorm": [("(x - mean) * scale", "x * scale")],
    "mandelbrot": [("count < limit", "count < limit - 1")],
    "nbody": [("spica_barrier();", "")],
    "random_access": [
        ("SPICA_IF (i < n)", "SPICA_IF (i + 1 < n)"),
        ("x[places[i]]", "x[places[i / 2]]"),
    ],
    "reduce": [("spica_warp_sumf(sum)", "sum"), (BARRIER, "")],
    "saxpy": [("fmaf(a, x[i], y[i])", "fmaf(a, y[i], x[i])")],
    "sgemm": [
        (f"{BARRIER}\n        multiply(slabs, rest", "multiply(slabs, rest"),
        ("depth; row +=", "depth - 1; row +="),
    ],
    "softmax": [("spica_warp_sumf(value)", "value")],
    "stencil": [("spica_barrier();", "")],
    "strided": [
        ("SPICA_IF (i < n)", "SPICA_IF (i + 1 < n)"),
        ("x += next", "x += next - row"),
    ],
    "transpose": [("SIDE | 1", "SIDE - 1"), ("SPICA_IF (j < rows)", "SPICA_IF (j + 1 < rows)")],
    "vecadd": [("SPICA_IF (i < n)", "SPICA_IF (i + 1 < n)")],
}


@pytest.mark.parametrize(
    ("name", "right", "wrong"), [(name, *pair) for name in KERNELS for pair in MISTAKES[name]]
)
@pytest.mark.quick(2)
def test_a_broken_kernel_is_seen(name, right, wrong, tmp_path):
    kernel = find_kernel(name)
    beside = ("softmax",) if name == "layernorm" else ()
    broken = planted(kernel, tmp_path, (right, wrong), beside=beside)
    assert any(
        is_found(broken, size, machine(2, 4, 8), schedule="random", seed=seed)
        for size in sizes_of(kernel)[1:]
        for seed in range(3)
    )
