"""Bit-exact tests of the matrix product on tensor units that read shared memory."""

import dataclasses

import numpy as np
import pytest

from spica.hw.presets import PRESETS
from spica.hw.presets.override import override
from spica.kernels.gemm.problem import GemmProblem
from spica.kernels.gemm.shared_fed.cores import pose
from spica.kernels.gemm.shared_fed.plan import shared_fed_plan
from spica.sim.golden.styles.registry import golden_product
from spica.sim.golden.styles.shared_fed.hgmma import hgmma, unpack_tile
from spica.sim.run.exact_kernels import exact_cores_kernel
from support.gemm_runs import assert_fault_is_detected, assert_right, faults_of, run_product

HOPPER = PRESETS["hopper"]
FP32 = override(HOPPER, ["core.tensor_numerics=fp32_rne", "core.tensor_operand=fp32"])
#: Unused elements at the ends of rows.
GAPS = (3, 5, 7)
#: Less than a block, whole tiles, several tiles with rests in all directions.
SIZES = [(1, 1, 1), (15, 17, 33), (128, 64, 64), (65, 100, 100), (130, 70, 200)]


def machine(cores, warps, **fields):
    """Return `hopper` with other numbers of cores and warps."""
    core = dataclasses.replace(HOPPER.core, warps=warps)
    return dataclasses.replace(HOPPER, cores=cores, core=core, **fields)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.quick(2)
def test_products_are_right_to_the_bit(size):
    result = run_product(HOPPER, size, c_format=("fp16", "fp32")[size[0] % 2], gaps=GAPS)
    assert_right(result)
    assert result["options"]["arrangement"] is None


@pytest.mark.parametrize("c_format", ["fp16", "fp32"])
@pytest.mark.quick(1)
def test_whole_words_of_both_formats(c_format):
    assert_right(run_product(HOPPER, (33, 128, 40), c_format=c_format, gaps=(0, 2, 4)))


@pytest.mark.parametrize(("config", "c_format"), [(HOPPER, "fp16"), (HOPPER, "fp32"), (FP32, None)])
@pytest.mark.quick(1)
def test_values_that_break_arithmetic_are_equal_to_the_bit(config, c_format):
    assert_right(run_product(config, (70, 60, 50), c_format=c_format, data="extreme"))


@pytest.mark.parametrize("seed", range(1, 3))
@pytest.mark.quick(1)
def test_no_order_of_warps_and_loads_does_harm(seed):
    assert_right(run_product(HOPPER, (130, 70, 420), schedule="random", seed=seed))


@pytest.mark.parametrize(
    "config",
    [
        machine(1, 8),
        machine(1, 1),
        machine(2, 3),
        machine(2, 4),
        machine(8, 8),
        machine(3, 6, barrier_scope="core"),
        machine(4, 8, barriers=1),
        override(HOPPER, ["shared.size=32768"]),
        override(HOPPER, ["shared.banks=1"]),
    ],
    ids=[
        "one core",
        "one warp",
        "three warps",
        "four warps",
        "eight cores",
        "barriers of a core",
        "one barrier",
        "two slots",
        "one bank",
    ],
)
@pytest.mark.quick(2)
def test_other_machines(config):
    assert_right(run_product(config, (70, 50, 130), gaps=GAPS, schedule="random"))


def test_fp32_operands():
    assert_right(run_product(FP32, (70, 50, 100), gaps=GAPS))
    assert shared_fed_plan(FP32).tensor.depth == 16


def test_plan():
    plan = shared_fed_plan(HOPPER)
    assert (plan.m, plan.n, plan.slots) == (128, 64, 10)
    assert plan.read_bytes(256, 256, 256) == 4 << 20
    for n in (256, 512, 1024):
        assert plan.read_bytes(n, n, n) * 4 == n**3
    assert plan.products(1, 1, 1) == 1
    assert plan.products(17, 33, 65) == 2 * 3 * 3
    assert (shared_fed_plan(machine(2, 3)).m, shared_fed_plan(machine(2, 3)).n) == (96, 16)


def test_golden_model_is_a_chain_of_instructions():
    rng, tensor = np.random.default_rng(2), HOPPER.tensor
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((16, 96), (96, 16)))
    registers = np.zeros((32, 8), np.uint32)
    for k in range(0, 96, 32):
        registers = hgmma(
            a[:, k : k + 32].view(np.uint16), b[k : k + 32].view(np.uint16), registers, tensor
        )
    problem = GemmProblem.placed(m=16, n=16, k=96, c_format="fp32")
    c = golden_product(HOPPER, problem, a, b)
    assert np.array_equal(c.view(np.uint32), unpack_tile(registers))


def test_operands_keep_their_order():
    problem, product = pose(HOPPER, np.random.default_rng(1), m=20, n=30, k=40, gaps=GAPS)
    assert problem.tensor_macs == product.macs == 20 * 30 * 40
    assert {name: buffer.data.shape for name, buffer in problem.buffers.items()} == {
        "a": (20, 43),
        "b": (40, 35),
        "c": (20, 37),
    }


@pytest.mark.slow
@pytest.mark.parametrize("size", [(128, 64, 128), (100, 130, 40), (17, 33, 65)])
def test_reads_of_shared_memory(size):
    result = run_product(HOPPER, size, engine="verilator", lockstep=False)
    assert_right(result)
    read = result["shared_read_bytes"]
    assert set(read) <= {f"tensor{core}" for core in range(4)}
    assert sum(read.values()) == shared_fed_plan(HOPPER).read_bytes(*size)
    products = sum(core["counters"]["operations_tensor"] for core in result["cores"])
    assert products == shared_fed_plan(HOPPER).products(*size)


#: Faults of the program, on a machine with parts of operands in irregular distances.
FAULTS = {
    "hgmma_sizes.h": [("(vx_core_id() + vx_warp_id()) % HGMMA_ACROSS", "0")],
    "hgmma_dma.h": [
        ("(HGMMA_SLOTS - HGMMA_TURN", "(2 * HGMMA_SLOTS - HGMMA_TURN"),
        ("    spica_tile_await(", "    if (0) spica_tile_await("),
        (": operand.size - 1;", ": operand.size;"),
        ("needed <= HGMMA_SHORT ? 1", "needed <= HGMMA_SHORT ? 0"),
    ],
    "hgmma_store.h": [
        ("row + (r) < HGMMA->m", "row + (r) <= HGMMA->m"),
        ("column < HGMMA->n)", "column <= HGMMA->n)"),
        ("HGMMA_NARROW_(6)\n", "HGMMA_NARROW_(8)\n"),
        ('%0, %1\\n\\tfmv.w.x f" #even ", x0', "%0, %1"),
    ],
    "hgmma_gemm.h": [
        ("        column += HGMMA_N;\n", "        column += 2 * HGMMA_N;\n"),
        ("step % HGMMA_TURN == 0", "step % (2 * HGMMA_TURN) == 0"),
    ],
}
#: Zeros beyond the end of k, in shared memory: of B and of A.
FILL_FAULTS = ["HGMMA_DEPTH | HGMMA_B_ROW << 16", "HGMMA_CORE_M | HGMMA_A_ROW << 16"]
#: Faults of the descriptors that are written by all lanes: whole steps of `hopper`.
RUN_FAULTS = [
    ("hgmma_dma.h", "+ k * HGMMA_BYTES, a_pitch", ", a_pitch"),
    ("hgmma_dma.h", "slot + HGMMA_A_BYTES);\n}\n\n/* Advances", "slot);\n}\n\n/* Advances"),
    ("hgmma_dma.h", "depth < slots ? depth : slots", "depth"),
    ("hgmma_descriptors.h", "advance - parts * unit", "advance"),
    ("hgmma_descriptors.h", "= HGMMA_BANK_BYTES},", "= HGMMA_SLOT_BYTES},"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "old", "new"), faults_of(FAULTS))
def test_faults_are_detected(name, old, new, tmp_path):
    config = machine(8, 8)
    kernel = exact_cores_kernel(config, gaps=(0, 0, 2))
    assert_fault_is_detected(config, kernel, (273, 140, 420), (name, old, new), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("fill", FILL_FAULTS)
def test_missing_zeros_are_detected(fill, tmp_path):
    """The last step is in the slot of step 4, where infinities are left. By zero they are NaN."""
    rng, k = np.random.default_rng(4), 14 * 32 + 2
    a, b = (rng.uniform(0.5, 1, shape).astype(np.float16) for shape in ((40, k), (k, 40)))
    a[5, 140] = b[140, 7] = np.inf
    kernel = exact_cores_kernel(HOPPER, given=(a, b))
    assert_right(run_product(HOPPER, (40, 40, k), kernel=kernel))
    assert_fault_is_detected(HOPPER, kernel, (40, 40, k), ("hgmma_dma.h", fill, "0"), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "old", "new"), RUN_FAULTS)
def test_faults_of_descriptors_are_detected(name, old, new, tmp_path):
    kernel = exact_cores_kernel(HOPPER)
    assert_fault_is_detected(HOPPER, kernel, (128, 128, 448), (name, old, new), tmp_path)
