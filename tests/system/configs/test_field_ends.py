"""Presets with each field at the ends of its range: refused in one sentence, or complete and right.

``python bench/config_ends.py`` runs all of them; the tests here are a part of its runs.
"""

import random

import pytest

from spica.base.errors import UserError
from spica.hw.config.rtl_support import require_rtl
from spica.hw.isa.memory_map import STACK_BYTES
from spica.hw.machine.counters import counter_table
from spica.hw.machine.register_blocks import register_blocks
from spica.hw.presets import PRESETS
from spica.hw.presets.ends import changes_to_ends
from spica.hw.presets.override import override
from spica.kernels.gemm.host.plan import plan
from spica.kernels.gemm.problem import GemmProblem
from spica.kernels.header import program_header
from spica.sim.analytic.gemm import predict, product_of
from spica.sim.machine.watchdog import sweep_cycles
from spica.sim.report.result import PASS
from spica.sim.run.exact_kernels import kernel_of
from spica.sim.run.options import SimtOptions
from spica.sim.run.program_workload import KernelWorkload
from spica.sim.run.workload import run_workload

SIZES = {
    "gemm": {"m": 8, "n": 8, "k": 8},
    "attention": {"queries": 1, "depth": 64},
    "sgemm": {"m": 17, "n": 17, "k": 17},
}
#: Several tiles of `tiny` in each dimension, ragged.
PRODUCT = {"m": 72, "n": 40, "k": 104}


def changed(preset):
    """Yield each setting of an end and the config with it."""
    for name, value in changes_to_ends(PRESETS[preset]):
        setting = f"{name}={value}"
        yield setting, override(PRESETS[preset], [setting])


def assert_sentence(error, setting):
    text = str(error)
    assert "\n" not in text and len(text) > 20, f"{setting}: {text}"


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.quick(4)
def test_what_derives_from_a_config_exists_or_is_refused_in_one_sentence(preset):
    """Tables and header of every end; the RTL, or the host's map of counters, may refuse it."""
    for setting, config in changed(preset):
        try:
            require_rtl(config, config.clusters)
            assert list(counter_table(config))
        except UserError as error:
            assert_sentence(error, setting)
        assert register_blocks(config)
        if config.cores:
            assert "SPICA_CONFIG" in program_header(config, STACK_BYTES)


@pytest.mark.parametrize("preset", [name for name, config in PRESETS.items() if config.cores])
def test_a_prediction_exists_or_is_refused_in_one_sentence(preset):
    for setting, config in changed(preset):
        try:
            assert predict(config, product_of(config, **PRODUCT)).least_cycles > 0
        except UserError as error:
            assert_sentence(error, setting)


@pytest.mark.parametrize("preset", [name for name, config in PRESETS.items() if not config.cores])
def test_a_host_plans_a_product_or_refuses_it_in_one_sentence(preset):
    for setting, config in changed(preset):
        unit = config.units[0]
        formats = {"operand": unit.operand, "c_format": unit.narrow_format.name}
        try:
            assert plan(config, GemmProblem.placed(**PRODUCT, **formats)).steps
        except ValueError as error:
            assert_sentence(error, setting)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["gemm", "attention"])
@pytest.mark.parametrize("preset", [name for name, config in PRESETS.items() if config.cores])
def test_kernels_plan_or_are_refused_in_one_sentence(preset, kernel):
    for setting, config in changed(preset):
        try:
            assert kernel_of(kernel, config, {}).problem(SIZES[kernel], 1).buffers
        except (UserError, ValueError) as error:
            assert_sentence(error, setting)


def run(config, kernel, sizes, **options):
    """Run a kernel of a changed machine; it must pass, or be refused in one sentence."""
    limits = {"max_instructions": 3_000_000, "max_cycles": 3_000_000}
    try:
        workload = KernelWorkload(kernel_of(kernel, config, {}), sizes)
        result = run_workload(workload, "machine", config, SimtOptions(**limits, **options))
    except UserError as error:
        assert_sentence(error, kernel)
    else:
        assert result["check"]["verdict"] == PASS, result["check"]


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["gemm", "sgemm"])
def test_programs_run_with_every_field_of_the_smallest_machine_at_its_ends(kernel):
    for setting, config in changed("tiny"):
        print(setting)
        run(config, kernel, PRODUCT if kernel == "gemm" else SIZES[kernel])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_rtl_runs_with_two_fields_at_their_ends(seed):
    """Random pairs of ends of a small machine, without those that only make it large."""
    rng = random.Random(seed)
    base = PRESETS["tiny"]
    small = [end for end in changes_to_ends(base) if end[0].startswith(("dma.", "axi.", "l2."))]
    settings = [f"{name}={value}" for name, value in rng.sample(small, 2)]
    try:
        config = override(base, settings)
    except ValueError as error:
        assert_sentence(error, settings)
        return
    print(settings)
    run(config, "gemm", PRODUCT, engine="verilator")


@pytest.mark.parametrize(
    ("settings", "rows"),
    [
        ([], 32),
        (["l2.size=16777216"], 65_536),
        (["l2.size=16777216", "l2.ways=1"], 262_144),
        (["core.l1d.size=1048576", "core.l1d.ways=1"], 16_384),
    ],
    ids=str,
)
def test_the_watchdog_waits_for_the_largest_cache(settings, rows):
    """A cache is cleared after a reset, a row in each cycle."""
    assert sweep_cycles(override(PRESETS["tiny"], settings)) == rows


@pytest.mark.slow
@pytest.mark.parametrize("ways", [1, 16])
def test_a_large_cache_is_cleared_before_the_watchdog_ends_the_run(ways):
    config = override(PRESETS["tiny"], ["l2.size=16777216", f"l2.ways={ways}"])
    run(config, "sgemm", SIZES["sgemm"], engine="verilator")


@pytest.mark.parametrize("settings", [["cores=1"], ["core.warps=1"]], ids=str)
@pytest.mark.full
def test_code_that_a_changed_machine_makes_slow_is_right_nevertheless(settings):
    config = override(PRESETS["virgo"], settings)
    workload = KernelWorkload(kernel_of("attention", config, {}), {"queries": 16, "depth": 64})
    result = run_workload(workload, "machine", config, SimtOptions())
    assert result["check"]["verdict"] == PASS
    (warning,) = result["check"]["code_warnings"]
    assert "stores to its stack" in warning
