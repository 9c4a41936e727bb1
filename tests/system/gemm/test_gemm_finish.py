"""Bit-exact tests of products whose tiles the cores finish, on the instruction-set model."""

import dataclasses
from itertools import product

import numpy as np
import pytest

from spica.base.errors import UserError
from spica.hw.config import MachineConfig
from spica.hw.isa.memory_map import DMA, DMA_BASE, MATRIX, MATRIX_BASE
from spica.hw.presets import PRESETS
from spica.kernels.bodies import bodies_of
from spica.kernels.compile import compile_program
from spica.kernels.program import Program
from spica.sim.run.exact_kernels import EXACT_KERNELS
from support.gemm_runs import assert_right, count_accesses, run_product
from support.runs import is_found, planted

KERNELS = ("gemm_add", "gemm_bias_gelu")
#: Kernels that differ from these in one function of an element.
SIMPLE = ("gemm_bias", "gemm_bias_relu")
SIZES = [(1, 1, 1), (17, 33, 65), (128, 64, 128), (100, 130, 70)]
#: Unused elements at the ends of rows: odd, and such that words stay aligned.
ODD_GAPS, EVEN_GAPS = (3, 5, 7), (3, 5, 2)
#: Issue slots of a core in the cycles of a tile with K = 512 on the matrix unit.
SLOTS = 4 * 128 * 64 * 128 // 256
#: Instructions of a warp for two rows of each lane: loads, bias, gelu, rounding, store, loop.
MOST_OF_A_WORD = 25
#: Instructions of a run with a fault.
MOST = 20_000_000
TINY = PRESETS["tiny"]


def changed(config: MachineConfig, *, core=None, matrix=None, **rest) -> MachineConfig:
    """Return a machine with changed fields of itself, its cores and its matrix unit."""
    assert config.core is not None
    return dataclasses.replace(
        config,
        core=dataclasses.replace(config.core, **(core or {})),
        units=(dataclasses.replace(config.units[0], **(matrix or {})),),
        **rest,
    )


#: Other arithmetic, more lanes than columns, one finishing warp, left-over warps.
MACHINES = {
    "output-stationary": changed(TINY, matrix={"dataflow": "output_stationary"}),
    "fp8": changed(TINY, matrix={"operand": "fp8_e4m3"}),
    "fp32": changed(TINY, matrix={"operand": "fp32"}),
    "wide warps": changed(TINY, core={"threads": 16}),
    "two warps": changed(TINY, core={"warps": 2}),
    "one thread": changed(TINY, core={"threads": 1}),
    "three cores": changed(TINY, cores=3, core={"warps": 3}),
    "cores of one warp": changed(TINY, cores=3, core={"warps": 1}),
    "barriers of cores": changed(TINY, cores=2, barrier_scope="core"),
    "small tile": changed(TINY, matrix={"tile": (8, 4, 8)}),
}


@pytest.mark.parametrize(("c_format", "gaps"), [("fp16", ODD_GAPS), ("fp32", ODD_GAPS)])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("preset", ["virgo", "tiny"])
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.quick(1)
def test_results_are_right_to_the_bit(name, preset, size, c_format, gaps):
    result = run_product(PRESETS[preset], size, c_format=c_format, gaps=gaps, name=name)
    assert_right(result)


@pytest.mark.parametrize("c_format", ["fp16", "fp32"])
@pytest.mark.parametrize("name", SIMPLE)
@pytest.mark.full
def test_bias_and_relu_are_right_to_the_bit(name, c_format):
    for size, data in (((1, 1, 1), "random"), ((50, 35, 70), "extreme")):
        result = run_product(TINY, size, c_format=c_format, gaps=EVEN_GAPS, data=data, name=name)
        assert_right(result)


@pytest.mark.full
def test_relu_keeps_nan_and_clears_negative_elements(tmp_path):
    size = (50, 35, 70)
    unchanged = [("x & ~(x >> 31)", "x")]
    broken_relu = broken(tmp_path, "gemm_bias_relu", *unchanged, gaps=ODD_GAPS)
    assert run_product(TINY, size, kernel=broken_relu)["check"]["verdict"] == "fail"
    problem = EXACT_KERNELS["gemm_bias_relu"](TINY, data="extreme").problem(
        dict(zip("mnk", size, strict=True)), 1
    )
    bits = problem.buffers["c"].bits
    assert bits is not None and np.isnan(bits).any()
    assert not np.signbit(bits[~np.isnan(bits)]).any() and (bits == 0).any() and (bits > 0).any()


@pytest.mark.parametrize("gaps", [(0, 0, 0), EVEN_GAPS], ids=str)
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.full
def test_words_and_elements_side_by_side(name, gaps):
    """If C is aligned, whole groups of columns are written in words, the last by elements."""
    for preset, size in (("virgo", (130, 200, 40)), ("tiny", (40, 52, 40))):
        assert_right(run_product(PRESETS[preset], size, gaps=gaps, name=name))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.quick(1)
def test_every_kind_of_machine(name, machine):
    config = MACHINES[machine]
    data = "random" if machine == "fp32" else "extreme"
    for size in ((70, 35, 50), (20, 90, 30)):
        assert_right(run_product(config, size, gaps=EVEN_GAPS, name=name))
        assert_right(run_product(config, size, schedule="random", seed=2, data=data, name=name))


@pytest.mark.parametrize(("operand", "c_format"), [("int8", "int32"), ("bf16", "fp32")])
@pytest.mark.full
def test_sums_in_other_formats(operand, c_format):
    matrix = {"operand": operand, "read_scale": False}
    config = changed(TINY, matrix=matrix)
    for seed in (1, 2):
        options = {"c_format": c_format, "schedule": "random", "seed": seed, "gaps": ODD_GAPS}
        assert_right(run_product(config, (40, 40, 50), **options, name="gemm_add"))


@pytest.mark.parametrize("seed", range(1, 7))
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.full
def test_no_order_that_the_machine_leaves_open_does_harm(name, seed):
    for size in ((100, 50, 140), (70, 40, 20)):
        assert_right(
            run_product(TINY, size, schedule="random", seed=seed, data="extreme", name=name)
        )


@pytest.mark.parametrize("c_format", ["fp16", "fp32"])
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.quick(1)
def test_values_that_break_arithmetic_are_equal_to_the_bit(name, c_format):
    assert_right(
        run_product(PRESETS["virgo"], (150, 160, 50), c_format=c_format, data="extreme", name=name)
    )


def test_sums_of_integers_are_exact():
    result = run_product(TINY, (40, 40, 50), c_format="fp32", data="integers", name="gemm_add")
    assert_right(result)
    assert result["check"]["buffers"]["c"]["max_abs_error"] == 0


def broken(tmp_path, name, *changes, **options):
    """Return a kernel for `tiny` with a fault in its source or in the library."""
    kernel = EXACT_KERNELS[name](TINY, **options)
    return planted(kernel, tmp_path, *changes, beside=("gemm", "gemm_bias"))


MISTAKES = {
    "a tile is taken before it is there": [
        ("running <= gemm_of(handed->started) - done", "running < 9")
    ],
    "a tile comes before the last was read": [
        ("    if (gemm_of(handed->is_handed))\n        gemm_barrier();\n", ""),
        ("            return;\n        gemm_barrier();\n", "            return;\n"),
    ],
    "one barrier too many": [
        ("        if (!finish_next(&at))", "gemm_barrier();\n        if (!finish_next(&at))")
    ],
    "the other way through the tiles": [("at.panel & 1 ? last", "0 ? last")],
    "a bias of the neighbour": [("column + first + apart, end", "column + first, end")],
    "the pitch of a whole tile": [
        (
            "pitch = VIRGO_BLOCKS(n, VIRGO_COLUMNS) *",
            "pitch = VIRGO_BLOCKS(GEMM_N, VIRGO_COLUMNS) *",
        )
    ],
    "words where C is not aligned": [(" && !(((uint32_t)c | c_pitch) & 3)", "")],
    "words beyond the last column": [("(group + 1) * FINISH_WIDTH <= n", "1")],
    "elements beyond the last column": [("SPICA_IF (part.columns > 0)", "SPICA_IF (1)")],
    "no room for the tile": [("OF_UNIT(FINISHED_GEMM,", "OF_UNIT(GEMM,")],
    "rows of another team": [("GEMM_C_PLACE + down * pitch", "GEMM_C_PLACE + (down ^ 1) * pitch")],
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.quick(1)
def test_mistakes_are_found(tmp_path, mistake):
    changes = MISTAKES[mistake]
    kernels = [
        broken(tmp_path, "gemm_bias_gelu", *changes, gaps=gaps) for gaps in (ODD_GAPS, EVEN_GAPS)
    ]
    assert any(
        is_found(kernel, size, TINY, schedule="random", seed=seed, max_instructions=MOST)
        for size, kernel, seed in product(((70, 38, 70), (64, 40, 20)), kernels, range(1, 4))
    )


@pytest.mark.full
def test_nothing_is_broken_where_nothing_was_changed(tmp_path):
    kernel = broken(tmp_path, "gemm_bias_gelu", gaps=ODD_GAPS)
    assert_right(run_product(TINY, (70, 38, 70), kernel=kernel, schedule="random"))


def longest_loop(program: Program) -> int:
    """Return the instructions of the longest innermost loop without splits."""
    bodies = bodies_of(program).values()
    body = next(body for body in bodies if body.function.name == "finish_all")
    longest = 0
    for step in body.steps.values():
        targets = [pc for pc in body.successors(step) if pc <= step.pc]
        for target in targets:
            inside = [other for other in body.steps.values() if target <= other.pc <= step.pc]
            names = [other.name for other in inside]
            if "vx_split" not in names and names.count("fexp2.s") == 2:
                longest = max(longest, len(inside))
    return longest


@pytest.mark.full
def test_instructions_of_what_the_cores_do():
    """Two elements of each lane; a whole tile within 30 % of the matrix unit's time for it."""
    config = PRESETS["virgo"]
    kernel = EXACT_KERNELS["gemm_bias_gelu"](config)
    assert 0 < longest_loop(Program.load(compile_program(kernel.sources, config))) <= MOST_OF_A_WORD
    result = run_product(config, (512, 256, 64), name="gemm_bias_gelu")
    assert_right(result)
    assert max(core["instructions"] for core in result["cores"]) < 0.3 * SLOTS * 16


def test_commands_are_those_of_gemm_but_for_spills(monkeypatch):
    """256 x 256 x 256: 32 computes and 8 tiles of C, a spill of which is one instruction."""
    writes, _ = count_accesses(monkeypatch)
    assert_right(run_product(PRESETS["virgo"], (256, 256, 256), name="gemm_bias_gelu"))
    assert writes[MATRIX_BASE + MATRIX["instruction"].offset] == 2 * 32 + 8 + 2
    # Neither operand's panels fit besides the tile of C: either choice loads the same amount.
    assert writes[DMA_BASE + DMA["start"].offset] <= 2 * 32
    assert sum(writes.values()) <= 7 * 64 + 3 * (2 * 32 + 8 + 2) + 2 * 8 + 4


def test_bf16_results_are_refused():
    config = changed(TINY, matrix={"operand": "bf16"})
    with pytest.raises(UserError, match="must be fp16 or fp32, not bf16"):
        run_product(config, (4, 4, 4), name="gemm_add")


def test_machines_that_cannot_are_refused():
    for name in KERNELS:
        with pytest.raises(UserError, match=f"{name} needs a matrix unit"):
            EXACT_KERNELS[name](PRESETS["core"])
        with pytest.raises(UserError, match="besides the commanding one: 2 or more, not 1"):
            EXACT_KERNELS[name](changed(TINY, core={"warps": 1}))
        with pytest.raises(UserError, match="2 or more, not 0"):
            EXACT_KERNELS[name](PRESETS["matrix"])
    int8 = changed(TINY, matrix={"operand": "int8", "read_scale": False})
    with pytest.raises(UserError, match="needs floating-point operands, not int8"):
        EXACT_KERNELS["gemm_bias_gelu"](int8)


def test_operands_and_bias_are_posed():
    problem = EXACT_KERNELS["gemm_bias_gelu"](TINY).problem({"m": 3, "n": 5, "k": 4}, 1)
    assert problem.arguments[-1] == "bias"
    assert problem.buffers["bias"].data.dtype == np.float32
    added = EXACT_KERNELS["gemm_add"](TINY).problem({"m": 3, "n": 5, "k": 4}, 1)
    assert np.isfinite(added.buffers["c"].data).all()
