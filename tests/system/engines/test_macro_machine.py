"""Tests of a machine with SRAM macros: values, cycles and counters as without macros."""

import functools

import pytest

from spica.hw.emit.sram_macros import MacroLimits
from spica.hw.presets import PRESETS
from spica.kernels.gemm.problem import GemmProblem
from spica.sim.engine import engines
from spica.sim.harness.dram import DramConfig
from spica.sim.machine.command_machine import CommandMachine
from spica.sim.run.product_run import run_gemm
from support.runs import passed, run_kernel

pytestmark = pytest.mark.full

#: Every memory, however small: a read in the cycle of a write to its word is random.
EVERY = MacroLimits(bits=0, words=0)
DRAM = DramConfig(stall=0.2, bytes_per_cycle=24, seed=3)


@pytest.fixture
def macros(monkeypatch):
    """Return a function that makes all later models use macros."""
    emit_cached = engines.emit_cached

    def use():
        monkeypatch.setattr(engines, "emit_cached", functools.partial(emit_cached, limits=EVERY))

    return use


def product(preset: str, size: tuple[int, int, int], **options) -> dict:
    """Return the outcome of a product on a machine without cores; it must be correct."""
    config, (m, n, k) = PRESETS[preset], size
    problem = GemmProblem.placed(m=m, n=n, k=k, c_pitch=n + n % 2)
    with CommandMachine(config, name=preset, memory=DRAM, **options) as machine:
        run = run_gemm(machine, config, problem, "extreme", seed=7)
        assert run.c_check.passed, run.c_check
        c = machine.read(*problem.c_region).tobytes()
    return {"cycles": run.execution.cycles, "counters": run.counters, "c": c}


@pytest.mark.parametrize(
    ("preset", "size"),
    [
        ("tiny_matrix", (37, 21, 70)),
        pytest.param("matrix", (128, 70, 200), marks=pytest.mark.slow),
    ],
)
def test_products_are_the_same(macros, preset, size):
    plain = product(preset, size)
    macros()
    for seed in (1, 2):  # seed of memory contents at power-up and after collisions
        assert product(preset, size, seed=seed, optimize=0) == plain


def program(kernel: str, sizes: tuple[int, ...]) -> dict:
    """Return the outcome of a kernel on the cores of `tiny`; it must be correct."""
    options = {"engine": "verilator", "lockstep": False, "memory": DRAM, "model_optimize": 1}
    result = passed(run_kernel(kernel, sizes, **options))
    return {name: result[name] for name in ("run_cycles", "cores", "counters", "instructions")}


@pytest.mark.slow
def test_programs_are_the_same(macros):
    """With caches, and nested splits."""
    runs = [
        ("gemm", (40, 24, 64)),
        ("mandelbrot", (16, 8)),
        ("bitonic_sort", (64,)),
        ("transpose", (24, 40)),
    ]
    plain = [program(*run) for run in runs]
    macros()
    assert [program(*run) for run in runs] == plain
