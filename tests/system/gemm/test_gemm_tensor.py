"""Bit-exact tests of the matrix product on tensor units: instruction-set model and RTL."""

import dataclasses

import numpy as np
import pytest

from spica.base.errors import UserError
from spica.hw.config import AxiConfig, CoreConfig, MachineConfig, SharedMemoryConfig
from spica.hw.presets import PRESETS
from spica.hw.presets.override import override
from spica.hw.styles.register_fed.config import RegisterFedConfig
from spica.kernels.gemm.problem import GemmProblem
from spica.kernels.gemm.register_fed.arrange import arranged_a, arranged_b
from spica.kernels.gemm.register_fed.cores import pose
from spica.kernels.gemm.register_fed.plan import FRAGMENT_BYTES, register_fed_plan
from spica.sim.golden.styles.register_fed.hmma import hmma, pack_a, pack_b, unpack_c
from spica.sim.golden.styles.registry import golden_product
from spica.sim.harness.dram import DramConfig
from spica.sim.run.exact_kernels import exact_cores_kernel
from support.command_line import message_of
from support.gemm_runs import assert_fault_is_detected, assert_right, faults_of, run_product

MACHINES = ("ampere", "ampere_fp32", "volta")
AMPERE, AMPERE_FP32, VOLTA = (PRESETS[name] for name in MACHINES)
#: One core with rows of 32 bytes. The tile is 32 x 16, three instructions deep.
TINY = MachineConfig(
    cores=1,
    core=CoreConfig(
        warps=4,
        tensor=RegisterFedConfig(),
        l1i=PRESETS["tiny"].core.l1i,
        l1d=PRESETS["tiny"].core.l1d,
    ),
    shared=SharedMemoryConfig(size=16 * 1024, banks=2),
    units=(),
    axi=AxiConfig(data_width=128),
    l2=PRESETS["tiny"].l2,
)
TINY_VOLTA = dataclasses.replace(TINY, dma=None)
#: Numerics of tensor units other than those of a preset.
OTHER_NUMERICS = [("ampere", "nvidia(volta)"), ("hopper", "nvidia(hopper)")]
BF16 = "core.tensor_numerics=nvidia({}) core.tensor_operand=bf16"
#: Unused elements at the ends of rows.
GAPS = (3, 5, 7)
#: Less than a tile or an instruction, whole tiles, several tiles with rests in all directions.
SIZES = [(1, 1, 1), (17, 33, 65), (128, 64, 64), (130, 70, 200)]


def formats_of_c(config):
    """Return the formats that C may have, the narrow one first."""
    return ("fp32",) if config.tensor.operand == "fp32" else ("fp16", "fp32")


@pytest.mark.parametrize("arrangement", ["outside", "inside"])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("preset", MACHINES)
@pytest.mark.quick(3)
def test_products_are_right_to_the_bit(preset, size, arrangement):
    config = PRESETS[preset]
    c_format = formats_of_c(config)[size[0] % 2 - 1]
    result = run_product(config, size, c_format=c_format, gaps=GAPS, arrangement=arrangement)
    assert_right(result)
    assert result["options"]["arrangement"] == arrangement


@pytest.mark.parametrize("c_format", ["fp16", "fp32"])
@pytest.mark.parametrize("rows", [7, 8, 9])
@pytest.mark.quick(2)
def test_edges_of_c_within_the_block_of_a_warp(rows, c_format):
    for columns, gap in ((13, 1), (14, 0), (15, 1), (16, 0), (16, 1), (17, 1)):
        gaps = (0, 0, gap)
        assert_right(run_product(TINY, (rows, columns, 9), c_format=c_format, gaps=gaps))


@pytest.mark.parametrize("preset", MACHINES)
@pytest.mark.quick(1)
def test_whole_words_of_all_formats(preset):
    config = PRESETS[preset]
    for c_format in formats_of_c(config):
        assert_right(run_product(config, (128, 128, 32), c_format=c_format, gaps=(0, 2, 4)))


@pytest.mark.parametrize("preset", MACHINES)
@pytest.mark.quick(1)
def test_values_that_break_arithmetic_are_equal_to_the_bit(preset):
    config = PRESETS[preset]
    result = run_product(
        config, (70, 60, 50), c_format="fp32", data="extreme", arrangement="inside"
    )
    assert_right(result)
    assert result["check"]["buffers"]["c"]["max_abs_error"] > 0


@pytest.mark.parametrize("seed", range(1, 3))
@pytest.mark.full
def test_no_order_of_warps_and_loads_does_harm(seed):
    for config in (AMPERE, AMPERE_FP32, VOLTA):
        assert_right(run_product(config, (130, 70, 200), schedule="random", seed=seed))
    for config in (TINY, TINY_VOLTA):
        assert_right(
            run_product(config, (70, 50, 200), schedule="random", seed=seed, arrangement="inside")
        )


@pytest.mark.parametrize(
    "config",
    [
        TINY,
        TINY_VOLTA,
        override(TINY, ["core.warps=1"]),
        dataclasses.replace(AMPERE, cores=3, barrier_scope="core"),
        dataclasses.replace(AMPERE, cores=4),
        dataclasses.replace(VOLTA, cores=4),
        dataclasses.replace(VOLTA, cores=3, barrier_scope="core"),
    ],
    ids=[
        *("one core", "one core without a DMA", "one warp", "barriers of a core", "four cores"),
        *("four cores without a DMA", "three cores without a DMA"),
    ],
)
@pytest.mark.quick(2)
def test_other_machines(config):
    assert_right(run_product(config, (70, 50, 100), gaps=GAPS, arrangement="inside"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "options"),
    [*((preset, {"arrangement": "inside"}) for preset in MACHINES), ("hopper", {"gaps": GAPS})],
)
def test_lockstep_on_the_rtl(preset, options):
    for size in ((130, 70, 70), (128, 64, 128)):
        assert_right(run_product(PRESETS[preset], size, engine="verilator", **options))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["amaranth", "verilator"])
@pytest.mark.parametrize("machine", [TINY, TINY_VOLTA], ids=["dma", "no dma"])
def test_a_small_machine_on_both_engines(machine, engine):
    config = override(machine, ["core.warps=2"])
    plan, size = register_fed_plan(config), (9, 10, 20)
    result = run_product(config, size, engine=engine, memory=DramConfig(latency=10))
    assert_right(result)
    assert result["shared_read_bytes"] == {"rows": plan.read_bytes(*size)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "size"),
    [
        ("ampere", (128, 64, 128)),
        ("volta", (128, 64, 128)),
        ("ampere", (100, 130, 40)),
        ("ampere_fp32", (100, 130, 40)),
    ],
)
def test_reads_of_shared_memory(preset, size):
    config = PRESETS[preset]
    result = run_product(config, size, engine="verilator", lockstep=False)
    assert result["shared_read_bytes"] == {"rows": register_fed_plan(config).read_bytes(*size)}
    assert (result["instructions"]["polling"] > 0) == (config.dma is not None)
    products = sum(core["counters"]["operations_tensor"] for core in result["cores"])
    assert register_fed_plan(config).read_bytes(*size) == products * 3 * FRAGMENT_BYTES // 2


def test_reads_of_whole_tiles_are_three_eighths_of_a_byte_per_multiply_add():
    plan = register_fed_plan(AMPERE)
    for n in (256, 512, 1024):
        assert plan.read_bytes(n, n, n) * 8 == 3 * n**3
    assert plan.read_bytes(256, 256, 256) == 6 << 20
    assert plan.read_bytes(1, 1, 1) == plan.read_bytes(128, 64, 16)


def test_fragments_are_the_registers_of_instructions():
    plan, rng = register_fed_plan(AMPERE), np.random.default_rng(1)
    a = rng.standard_normal((130, 40)).astype(np.float16)
    b = rng.standard_normal((40, 70)).astype(np.float16)
    panels_a, panels_b = arranged_a(a, plan), arranged_b(b, plan)
    wide_a, wide_b = np.zeros((256, 48), np.uint32), np.zeros((48, 128), np.uint32)
    wide_a[:130, :40], wide_b[:40, :70] = a.view(np.uint16), b.view(np.uint16)
    for panel, step in ((0, 0), (3, 1), (16, 2), (31, 0)):
        block = wide_a[8 * panel : 8 * panel + 8, 16 * step : 16 * step + 16]
        assert np.array_equal(panels_a[panel, step], pack_a(block))
    for panel, first in ((0, 0), (3, 48), (4, 1), (6, 33), (8, 64), (12, 65)):
        block = wide_b[16:32, first : first + 16 : 2]
        assert np.array_equal(panels_b[panel, 1], pack_b(block))
    assert (len(panels_a), len(panels_b)) == (32, 16)


def test_golden_model_is_a_chain_of_instructions():
    rng, tensor = np.random.default_rng(2), AMPERE.tensor
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((8, 48), (48, 8)))
    registers = np.zeros((32, 8), np.uint32)
    for k in range(0, 48, 16):
        registers[0:8] = pack_a(a[:, k : k + 16].view(np.uint16))
        registers[8:16] = pack_b(b[k : k + 16].view(np.uint16))
        registers = hmma(registers, 24, tensor)
    problem = GemmProblem.placed(m=8, n=8, k=48, c_format="fp32")
    c = golden_product(AMPERE, problem, a, b)
    assert np.array_equal(c.view(np.uint32), unpack_c(registers[24:]))


@pytest.mark.parametrize(("preset", "numerics"), OTHER_NUMERICS)
def test_results_of_other_numerics_fail(preset, numerics):
    config = PRESETS[preset]
    kernel = exact_cores_kernel(config, c_format="fp32")
    other = override(config, [f"core.tensor_numerics={numerics}"])
    result = run_product(other, (16, 16, 64), kernel=kernel)
    assert result["check"]["buffers"]["c"]["mismatches"] > 100


@pytest.mark.parametrize(("preset", "numerics"), OTHER_NUMERICS)
def test_other_numerics_are_right_to_the_bit(preset, numerics):
    config = override(PRESETS[preset], [f"core.tensor_numerics={numerics}"])
    assert_right(run_product(config, (40, 40, 40), c_format="fp32", data="extreme"))


@pytest.mark.parametrize(
    ("preset", "settings", "message"),
    [
        ("ampere", BF16.format("ampere"), "on tensor units must be fp16 or fp32, not bf16"),
        (
            "ampere",
            "shared.size=16384 shared.subbanks=16 shared.banks=4",
            r"needs 3 tiles of 6 fragments.*4608 bytes, not 4096",
        ),
        ("hopper", BF16.format("hopper"), "gemm with hgmma must be fp16 or fp32, not bf16"),
        (
            "hopper",
            "shared.size=16384",
            r"of 2 steps in each .* 2 x 3 x 1024 = 6144 bytes, not 4096",
        ),
        ("hopper", "dma=none", "gemm with hgmma needs a DMA"),
    ],
)
def test_refused_machines(preset, settings, message):
    with pytest.raises(UserError, match=message):
        run_product(override(PRESETS[preset], settings.split()), (8, 8, 8))


def test_a_refused_arrangement():
    with pytest.raises(UserError, match="arrangement must be one of outside, inside"):
        run_product(AMPERE, (8, 8, 8), arrangement="middle")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("gemm --preset virgo --arrange inside", "--arrange does not apply to gemm"),
        ("gemm --preset hopper --arrange inside", "--arrange does not apply to gemm"),
        ("gemm --preset ampere --arrange before", "choose one of outside, inside"),
        ("gemm --preset ampere --memory-latency 3", "--memory-latency does not apply"),
        *(
            (
                f"gemm_add --preset {preset}",
                f"gemm_add needs cores and a matrix unit, and {preset} has no matrix unit",
            )
            for preset in ("ampere", "hopper")
        ),
    ],
)
def test_refused_options(options, message, capsys):
    assert message in " ".join(message_of(capsys, f"run {options} --size 8").split())


FAULTS = {
    "tensor_fragments.h": [("across + TENSOR_ACROSS),", "across),")],
    "tensor_dma.h": [
        ("(2 * TENSOR_ACROSS - 1) * pitch", "(2 * TENSOR_ACROSS) * pitch"),
        ("dram += TENSOR_BANKS * pitch", "dram += pitch"),
        (">= TENSOR_SLOTS)", ">= TENSOR_SLOTS + 2)"),
        ("    spica_tile_await(tensor_at.loads + needed", "    if (0) spica_tile_await(needed"),
    ],
    "tensor_store.h": [
        ("(lane & 5)", "(lane & 4)"),
        ("row_ < TENSOR->m", "row_ <= TENSOR->m"),
        ("fsw f17, 4(%0)", "fsw f17, 8(%0)"),
    ],
    "tensor_gemm.h": [
        ("        tensor_clear();\n        left", "        left"),
        ("step < steps; step++", "step <= steps; step++"),
    ],
    "tensor_arrange.h": [
        ("words[r + 1] >> 16 << 16", "words[r + 1] << 16"),
        ("step < end; step++, to +=", "step + 1 < end; step++, to +="),
    ],
}


#: Faults of copies by the cores: piece by piece, and of whole tiles.
FAULTS_OF_COPIES = {
    "tensor_cores.h": [
        ("odd * TENSOR_ACROSS", "odd"),
        ("+ tensor_a_piece() * PIECE_BYTES +\n            (at->i", "+\n            (at->i"),
        ("at->j * 2 * TENSOR_ACROSS * pitch", "at->j * TENSOR_ACROSS * pitch"),
        ("at->b_place -= SPICA_CONSTANT((TENSOR_SLOTS - 1)", "at->b_place -= SPICA_CONSTANT((1)"),
        ("    tensor_advance(&at);\n    tensor_put(&at, 0", "    tensor_put(&at, 0"),
    ],
    "tensor_positions.h": [
        ("at->i + 1, 0);", "at->i, 0);"),
        ("panel -= TENSOR_DOWN;", ""),
        ("at->a += TENSOR_PANEL_BYTES;", ""),
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "old", "new"), faults_of(FAULTS))
def test_faults_are_detected(name, old, new, tmp_path):
    kernel = exact_cores_kernel(AMPERE, arrangement="inside", gaps=(0, 0, 2))
    assert_fault_is_detected(AMPERE, kernel, (129, 100, 420), (name, old, new), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "old", "new"), faults_of(FAULTS_OF_COPIES))
def test_faults_of_copies_by_cores_are_detected(name, old, new, tmp_path):
    machine = VOLTA if name == "tensor_cores.h" else dataclasses.replace(VOLTA, cores=4)
    kernel = exact_cores_kernel(machine, gaps=(0, 0, 2))
    assert_fault_is_detected(machine, kernel, (129, 100, 420), (name, old, new), tmp_path)


def test_operands_in_other_places():
    problem, product = pose(AMPERE, np.random.default_rng(1), m=20, n=30, k=40, gaps=GAPS)
    assert problem.tensor_macs == product.macs == 20 * 30 * 40
    assert problem.macs == ()
    rest = 4 * FRAGMENT_BYTES // 4
    assert problem.buffers["a_fragments"].data.size == 128 * 48 // 2 + rest
    assert problem.buffers["b_fragments"].data.size == 64 * 48 // 2 + rest
