"""Tests of every kernel on the RTL of cores, in lockstep with the instruction-set model."""

import pytest

from spica.hw.config import MachineConfig
from spica.kernels.kernel import every_kernel, find_kernel
from support.core.lockstep_fuzz import FUZZ_CONFIGS, OPTIMIZE, TIMINGS, shape_name
from support.runs import passed, run_kernel

KERNELS = [kernel.name for kernel in every_kernel()]
#: Small and ragged, by the number of dimensions.
SIZES = {1: (61,), 2: (13, 11), 3: (9, 7, 5)}
#: The cluster of the fast tests: two issue slots, three threads, a request for each of them.
FAST = FUZZ_CONFIGS[2:3]
#: Sizes on Amaranth's simulator.
BOTH_ENGINES = {"vecadd": (64,), "reduce": (64,), "mandelbrot": (8, 4)}


def on_rtl(name: str, config: MachineConfig, **options):
    size = SIZES[len(find_kernel(name).dimensions)]
    options = {"engine": "verilator", "model_optimize": OPTIMIZE, **options}
    result = passed(run_kernel(name, size, config, **options))
    assert result["options"]["lockstep"]
    width = config.core.issue_width
    for core in result["cores"]:
        # As many slots as there were issued instructions, and each slot counted once.
        assert core["issue_slots"]["issued"] == core["instructions"]
        assert sum(core["issue_slots"].values()) % width == 0
    return result


@pytest.mark.parametrize("config", FAST, ids=shape_name)
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.full
def test_right(name, config):
    on_rtl(name, config)


@pytest.mark.slow
@pytest.mark.parametrize("config", FUZZ_CONFIGS, ids=shape_name)
@pytest.mark.parametrize("timing", TIMINGS, ids=("at once", "by chance", "far", "seldom"))
@pytest.mark.parametrize("name", KERNELS)
def test_right_everywhere(name, timing, config):
    on_rtl(name, config, memory=timing)


@pytest.mark.slow
@pytest.mark.parametrize("name", BOTH_ENGINES)
def test_both_engines_take_the_same_cycles(name):
    verilator, amaranth = (
        passed(run_kernel(name, BOTH_ENGINES[name], engine=engine))
        for engine in ("verilator", "amaranth")
    )
    for what in ("cycles", "run_cycles", "cores", "counters", "instructions", "check"):
        assert verilator[what] == amaranth[what]
