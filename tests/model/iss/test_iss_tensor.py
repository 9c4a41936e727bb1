"""Tests of the tensor instructions: register layout of matrices, and every bit of products."""

import numpy as np
import pytest

from bench.units.operands import floats as operands
from bench.units.tree import numpy_tree, tree_operands
from spica.hw.arith.dot_product.config import DotProductConfig
from spica.hw.config.formats import FORMATS, FP16, FP32
from spica.hw.config.tensor import TENSOR_NUMERICS
from spica.hw.isa.assembly import INTEGER_NAMES
from spica.hw.isa.memory_map import ENTRY, SHARED_BASE
from spica.hw.styles.register_fed.config import RegisterFedConfig
from spica.hw.styles.shared_fed.config import SharedFedConfig
from spica.sim.golden.arith.float.floats import corners, decode
from spica.sim.golden.styles.register_fed import hmma as fragments
from spica.sim.golden.styles.shared_fed import hgmma as tiles
from spica.sim.golden.styles.tensor_product import matrix_product
from spica.sim.iss.program_bench import give, machine
from support.core.hgmma_operands import random_tiles
from support.core.tensor_bench import fragments as random_fragments
from support.programs.lane_arrays import on_processor

#: Dot product of ``hmma`` by default, added to the accumulator in one step.
DOT = DotProductConfig.of(RegisterFedConfig())
ONE = FP16.bias << FP16.fraction_width
PROCESSORS = ["as_is", "down", "flushing"]


def ordinary(rng, count, rows, columns, depth):
    """Return matrices A, B and C of numbers around 1."""

    def normal(form, *shape):
        dtype = (np.float16, np.uint16) if form == FP16 else (np.float32, np.uint32)
        return rng.normal(0, 1, shape).astype(dtype[0]).view(dtype[1]).astype(np.uint32)

    a, b = normal(FP16, count, rows, depth), normal(FP16, count, depth, columns)
    return a, b, normal(FP32, count, rows, columns)


def adverse(rng, count, rows, columns, depth):
    """Return matrices whose diagonal, and some other elements, reveal errors."""
    size = max(rows, columns)
    chunks = depth // DOT.terms
    vectors = tree_operands(DOT, rng, count * size * chunks)
    a = vectors["a"].reshape(count, size, depth)[:, :rows]
    b = vectors["b"].reshape(count, size, depth)[:, :columns].transpose(0, 2, 1)
    addends = vectors["c"].reshape(count, size, chunks)[:, :, 0]
    c = rng.choice(vectors["c"], (count, rows, columns))
    for k in range(min(rows, columns)):
        c[:, k, k] = addends[:, k]
    # Zeros leave a subnormal addend unchanged.
    a = np.where(rng.random((count, rows, 1)) < 0.1, a & 0x8000, a)
    c = np.where(rng.random(c.shape) < 0.1, c & ~np.uint32(FP32.infinity), c)
    return a, b, c


def hmma_registers(rng, matrices, accumulators):
    """Return the registers of warps with A, B and C in place, random elsewhere."""
    a, b, c = matrices
    registers = rng.integers(0, 1 << 32, (len(a), 32, fragments.THREADS), dtype=np.uint32)
    registers[:, 0:8], registers[:, 8:16] = fragments.pack_a(a), fragments.pack_b(b)
    registers[:, accumulators : accumulators + 8] = fragments.pack_c(c)
    return registers


def check(got, expected):
    """Fail with the first wrong registers."""
    wrong = np.argwhere(got != expected)
    shown = [
        f"warp {w} f{r} lane {lane}: {got[w, r, lane]:#x}, not {expected[w, r, lane]:#x}"
        for w, r, lane in wrong[:5]
    ]
    assert not shown, f"{len(wrong)} wrong: " + "; ".join(shown)


def product(iss, registers, processor):
    """Return the float registers of a warp after the instruction at the entry."""
    iss.set_warp(0, 0, pc=ENTRY, mask=(1 << iss.core.threads) - 1, floats=registers)
    with on_processor(processor):
        retired = iss.step(0, 0)
    assert retired.fault is None, retired.fault.sentence
    return iss.warp(0, 0).floats


def hmma(registers, accumulators, config=None, processor="as_is"):
    """Return the registers of warps, (warps, 32, threads), after ``hmma``."""
    config = config or RegisterFedConfig()
    iss = machine(
        f"hmma x{(accumulators - 16) // config.registers}",
        threads=config.threads,
        tensor=config,
    )
    return np.array([product(iss, warp, processor) for warp in registers])


def hgmma(a, b, registers, config=None, processor="as_is"):
    """Return the registers of warps, (warps, 32, 8), after ``hgmma``."""
    config = config or SharedFedConfig()
    iss = machine("hgmma a0, a1", threads=8, tensor=config)
    places = {"a0": SHARED_BASE, "a1": SHARED_BASE + 1024}
    results = []
    for left, right, floats in zip(a, b, registers, strict=True):
        iss.reset()
        give(iss, {INTEGER_NAMES.index(name): place for name, place in places.items()})
        for place, operand in zip(places.values(), (left, right), strict=True):
            iss.write(place, operand)
        results.append(product(iss, floats, processor))
    return np.array(results)


def test_fragments_of_factors():
    # Lane l holds row l of A in f0 to f7 and column l of B, pairs of k, the even one below.
    rng = np.random.default_rng(1)
    registers = rng.integers(0, 1 << 32, (8, 8), dtype=np.uint32)
    a, b = fragments.unpack_a(registers), fragments.unpack_b(registers)
    for lane in range(8):
        for k in range(16):
            half = registers[k // 2, lane] >> (16 * (k % 2)) & 0xFFFF
            assert a[lane, k] == half
            assert b[k, lane] == half
    assert np.array_equal(fragments.pack_a(a), registers)
    assert np.array_equal(fragments.pack_b(b), registers)


def test_fragments_of_accumulators():
    registers = np.arange(64, dtype=np.uint32).reshape(8, 8)
    c = fragments.unpack_c(registers)
    for lane in range(8):
        row, column = (lane & 4) | (lane & 1), lane & 2
        places = [
            *((row, column), (row, column + 1), (row + 2, column), (row + 2, column + 1)),
            *((row, column + 4), (row, column + 5), (row + 2, column + 4), (row + 2, column + 5)),
        ]
        assert [c[place] for place in places] == registers[:, lane].tolist()
    assert np.array_equal(fragments.pack_c(c), registers)


def test_accumulators_of_hgmma():
    registers = np.arange(256, dtype=np.uint32).reshape(32, 8)
    c = tiles.unpack_tile(registers)
    for row in range(16):
        for lane in range(8):
            assert c[row, 2 * lane] == registers[2 * row, lane]
            assert c[row, 2 * lane + 1] == registers[2 * row + 1, lane]
    assert np.array_equal(tiles.pack_tile(c), registers)


@pytest.mark.parametrize("operand", ["fp16", "bf16", "tf32", "fp8_e4m3"])
def test_operands_of_hgmma_are_dense_rows(operand):
    config = SharedFedConfig(numerics="nvidia(hopper)", operand=operand)
    rng = np.random.default_rng(3)
    memory = rng.integers(0, 256, (2, 1024), dtype=np.uint8)
    a, b = tiles.hgmma_operands(*memory, config)
    assert (a.shape, b.shape) == ((16, config.depth), (config.depth, 16))
    size, drop = config.operand_width // 8, config.operand_width - FORMATS[operand].width
    for matrix, words in zip(memory, (a, b), strict=True):
        for index, number in enumerate(words.ravel()):
            container = int.from_bytes(
                matrix[size * index : size * (index + 1)].tobytes(), "little"
            )
            assert number == container >> drop
    stored = [tiles.stored_matrix(matrix, config) for matrix in (a, b)]
    if not drop:
        assert np.array_equal(stored, memory)
    again = tiles.hgmma_operands(*stored, config)
    assert all(np.array_equal(x, y) for x, y in zip(again, (a, b), strict=True))


@pytest.mark.parametrize("shape", [fragments.HMMA_SHAPE, tiles.HGMMA_SHAPE])
def test_golden_products_of_small_integers_are_exact(shape):
    rows, columns, depth = shape
    rng = np.random.default_rng(2)
    a, b, c = (rng.integers(-6, 7, size) for size in ((rows, depth), (depth, columns), shape[:2]))
    stored = [x.astype(np.float16).view(np.uint16) for x in (a, b)]
    result = matrix_product(*stored, c.astype(np.float32).view(np.uint32))
    assert np.array_equal(decode(result, FP32), a @ b + c)


def test_golden_products_are_those_of_numpy():
    rng = np.random.default_rng(3)
    a, b, c = (x[0] for x in adverse(rng, 1, *fragments.HMMA_SHAPE))
    for row, column in np.ndindex(8, 8):
        total = c[row : row + 1, column]
        for k in range(0, 16, 4):
            left, right = a[row : row + 1, k : k + 4], b[k : k + 4, column][None]
            total = numpy_tree(DOT, left, right, total)["o"]
        assert matrix_product(a, b, c)[row, column] == total[0]


@pytest.mark.parametrize("accumulators", fragments.ACCUMULATORS)
@pytest.mark.parametrize("matrices", [ordinary, adverse])
def test_hmma_is_the_golden_one(matrices, accumulators):
    rng = np.random.default_rng(accumulators)
    registers = hmma_registers(rng, matrices(rng, 300, *fragments.HMMA_SHAPE), accumulators)
    check_hmma(registers, accumulators)


def check_hmma(registers, accumulators):
    """Fail if the instruction differs from the golden model, on any host processor."""
    expected = fragments.hmma(registers, accumulators)
    for kind in PROCESSORS:
        check(hmma(registers, accumulators, processor=kind), expected)


@pytest.mark.parametrize("threads", [8, 32])
@pytest.mark.parametrize(
    ("numerics", "operand"),
    [(name, operand) for name, operands in TENSOR_NUMERICS.items() for operand in operands],
)
@pytest.mark.quick(15)
def test_all_numerics_are_the_golden_ones(numerics, operand, threads):
    """Random fragments in which extremes, subnormals, infinities and NaN meet."""
    config = RegisterFedConfig(numerics=numerics, operand=operand, threads=threads)
    registers = random_fragments(config, np.random.default_rng(4), 60)
    for kind in PROCESSORS:
        for accumulators in range(16, 32, config.registers):
            expected = fragments.hmma(registers, accumulators, config)
            check(hmma(registers, accumulators, config, kind), expected)


def test_fragments_of_warps_of_32_threads():
    """Layout of ``mma.sync.m16n8k16`` as its manual lists it, with FP16 and with TF32 operands."""
    config = RegisterFedConfig(threads=32)
    registers = np.arange(1, 129, dtype=np.uint32).reshape(4, 32)
    registers |= (registers + 1000) << 16
    a, b = (unpack(registers, config) for unpack in (fragments.unpack_a, unpack_b_of_two))
    c = fragments.unpack_c(registers)
    assert (a.shape, b.shape, c.shape) == ((16, 16), (16, 8), (16, 8))
    for lane in range(32):
        g, t = lane >> 2, lane & 3
        halves = [int(word) >> 16 * k & 0xFFFF for word in registers[:, lane] for k in range(2)]
        rows = [(g, 2 * t), (g + 8, 2 * t), (g, 2 * t + 8), (g + 8, 2 * t + 8)]
        assert [int(a[row, k + sub]) for row, k in rows for sub in range(2)] == halves
        columns = [int(b[2 * t + 8 * half + sub, g]) for half in range(2) for sub in range(2)]
        assert columns == halves[:4]
        places = [(g, 2 * t), (g, 2 * t + 1), (g + 8, 2 * t), (g + 8, 2 * t + 1)]
        assert [c[place] for place in places] == registers[:, lane].tolist()
    tf32 = RegisterFedConfig(numerics="nvidia(ampere)", operand="tf32", threads=32)
    a = fragments.unpack_a(registers << np.uint32(13), tf32)
    for lane in range(32):
        g, t = lane >> 2, lane & 3
        words = [a[g, t], a[g + 8, t], a[g, t + 4], a[g + 8, t + 4]]
        assert words == [int(word) & 0x7FFFF for word in registers[:, lane]]


def unpack_b_of_two(registers, config):
    """Return B from the first two registers."""
    return fragments.unpack_b(registers[:2], config)


@pytest.mark.parametrize("matrices", [ordinary, adverse])
def test_hgmma_is_the_golden_one(matrices):
    rng = np.random.default_rng(6)
    a, b, c = matrices(rng, 60, *tiles.HGMMA_SHAPE)
    registers = tiles.pack_tile(c)
    expected = tiles.hgmma(a, b, registers)
    stored = [tiles.stored_matrix(matrix) for matrix in (a, b)]
    for kind in PROCESSORS:
        check(hgmma(*stored, registers, processor=kind), expected)


@pytest.mark.parametrize(
    ("numerics", "operand"),
    [(name, operand) for name, operands in TENSOR_NUMERICS.items() for operand in operands],
)
@pytest.mark.quick(6)
def test_hgmma_of_all_numerics(numerics, operand):
    config = SharedFedConfig(numerics=numerics, operand=operand)
    memory, registers = random_tiles(config, np.random.default_rng(8), 20)
    expected = tiles.hgmma(*tiles.hgmma_operands(*memory, config), registers, config)
    check(hgmma(*memory, registers, config), expected)


def test_adverse_matrices_reach_all_classes():
    rng = np.random.default_rng(5)
    registers = hmma_registers(rng, adverse(rng, 300, *fragments.HMMA_SHAPE), 16)
    results = decode(fragments.hmma(registers, 16)[:, 16:24], FP32)
    sizes = np.abs(results)
    assert 0.1 < np.isnan(results).mean() < 0.7
    assert np.isposinf(results).any()
    assert np.isneginf(results).any()
    assert ((sizes > 0) & (sizes < 2.0**-126)).any()
    assert (results == 0).any()


@pytest.mark.parametrize("is_sum", [False, True])
def test_products_and_sums_of_all_corners(is_sum):
    # One product, or one sum of two, per lane's row of A; all other terms add -0, a no-op.
    left, right = (x.astype(np.uint32) for x in operands.crossed(*[corners(FP16)] * 2))
    count = -(-len(left) // 8)
    a, b = np.full((count, 8, 16), 1 << 15, np.uint32), np.full((count, 16, 8), ONE, np.uint32)
    c = np.full((count, 8, 8), 1 << 31, np.uint32)
    one = np.full(len(left), ONE, np.uint32)
    warp, place = np.divmod(np.arange(len(left)), 8)
    for k, (first, second) in enumerate([(left, one), (right, one)] if is_sum else [(left, right)]):
        a[warp, place, k] = first
        b[warp, k, place] = second
    check_hmma(hmma_registers(np.random.default_rng(8), (a, b, c), 16), 16)


@pytest.mark.slow
def test_hmma_is_the_golden_one_for_many_operands():
    rng = np.random.default_rng(9)
    for _ in range(40):
        check_hmma(hmma_registers(rng, adverse(rng, 500, *fragments.HMMA_SHAPE), 24), 24)
