"""Tests of the tensor unit: matrix products of random fragments, against the golden model."""

from dataclasses import replace

import pytest

from spica.hw.arith.dot_product.config import DotProductConfig
from spica.hw.arith.dot_product.latency import dot_product_latency
from spica.hw.config.tensor import TENSOR_NUMERICS
from spica.hw.styles.register_fed.config import RegisterFedConfig
from spica.hw.styles.register_fed.register_fed_unit import RegisterFedUnit
from spica.synth.measure import measure
from support.core.tensor_bench import TensorRun, core_with, instructions, results_of

VIRGO = RegisterFedConfig()
VOLTA, AMPERE, HOPPER = (
    RegisterFedConfig(numerics=f"nvidia({name})") for name in ("volta", "ampere", "hopper")
)
#: One config for each number of words per step, and the longest chain in the fewest cycles.
SHAPES = [VIRGO, VOLTA, AMPERE, HOPPER]
FP32 = RegisterFedConfig(numerics="fp32_rne", operand="fp32")
#: The same in warps of 32 threads.
WIDE = [replace(tensor, threads=32) for tensor in SHAPES]
ALL = [
    RegisterFedConfig(numerics=numerics, operand=operand)
    for numerics, operands in TENSOR_NUMERICS.items()
    for operand in operands
]
ALL += [replace(tensor, threads=32) for tensor in ALL]
CELLS = {VIRGO: 7_200, VOLTA: 2_400, FP32: 4_200}
DEPTH = 60
LANES = 8


def name_of(tensor: RegisterFedConfig) -> str:
    return f"{tensor.numerics}_{tensor.operand}" + ("_wide" if tensor.threads != 8 else "")


def check(tensor: RegisterFedConfig, count: int, seed: int = 1, **options) -> TensorRun:
    """Run random products; fail unless all results are those of the golden model."""
    config = core_with(tensor, warps=4)
    given = instructions(config, count, seed)
    run = TensorRun(config, given, seed=seed, **options)
    assert run.results == [
        result for operation in given for result in results_of(config, operation)
    ]
    assert len(run.active) == tensor.steps * count
    return run


@pytest.mark.parametrize("tensor", [*SHAPES, FP32], ids=name_of)
@pytest.mark.quick(1)
def test_products_match_the_golden_model(tensor):
    check(tensor, 3, pause=0.2, stall=0.6, overlap=True)


@pytest.mark.parametrize(
    "tensor", [*WIDE[1:3], pytest.param(WIDE[3], marks=pytest.mark.slow)], ids=name_of
)
@pytest.mark.full
def test_wide_products_match_the_golden_model(tensor):
    """Fragments of `mma.sync.m16n8k16`; 64 steps for each."""
    check(tensor, 2, pause=0.2, stall=0.4, overlap=True)


def test_slow_operands():
    """Steps wait for the registers of two warps whose micro-operations alternate."""
    check(VOLTA, 4, seed=6, pause=0.7, overlap=True)


@pytest.mark.slow
@pytest.mark.parametrize("tensor", ALL, ids=name_of)
def test_all_numerics_match_the_golden_model(tensor):
    check(tensor, 6, pause=0.2, stall=0.4, overlap=True)


@pytest.mark.slow
@pytest.mark.parametrize("tensor", [*SHAPES, FP32], ids=name_of)
def test_many_products_match_the_golden_model(tensor):
    """On Verilator: stalls on both sides, on one, and on none."""
    for seed, (pause, stall) in enumerate([(0, 0), (0.8, 0), (0, 0.9), (0.4, 0.8)]):
        check(tensor, 60, seed, pause=pause, stall=stall, overlap=True, is_native=True)


@pytest.mark.parametrize(
    "tensor",
    [
        VOLTA,
        AMPERE,
        HOPPER,
        *(pytest.param(operation, marks=pytest.mark.slow) for operation in (VIRGO, FP32)),
    ],
    ids=name_of,
)
@pytest.mark.full
def test_instructions_follow_each_other_without_a_gap(tensor):
    count = 5
    run = check(tensor, count)
    first = tensor.step_words
    assert run.accepted[:8] == list(range(8))
    assert run.active == list(range(first, first + 32 * count))
    # Results of an instruction: parts of the last set, then the dot product and the queue.
    parts = LANES // tensor.dot_products
    delay = 4 + dot_product_latency(DotProductConfig.of(tensor))
    ends = [32 * n + 32 - parts * (8 - k) + parts - 1 for n in range(count) for k in range(8)]
    assert run.result_cycles == [first + end + delay for end in ends]


def test_a_stall_is_absorbed_by_the_queue():
    """The results of one instruction wait in the unit without a cost."""
    config = core_with(VOLTA, warps=1)
    given = instructions(config, 3, seed=3)
    unstalled = list(range(2, 2 + 3 * 32))
    # The last set of the second instruction begins in cycle 58. One register more waits at `o`.
    assert TensorRun(config, given, willing=lambda cycle: cycle >= 58).active == unstalled
    late = TensorRun(config, given, willing=lambda cycle: cycle >= 100)
    assert late.active[:57] == unstalled[:57]
    assert late.active[57:] == [cycle + 42 for cycle in unstalled[57:]]


@pytest.mark.slow
@pytest.mark.parametrize("tensor", CELLS, ids=name_of)
def test_cost(tensor):
    measured = measure(RegisterFedUnit(core_with(tensor)), "tensor_unit")
    assert measured.cells <= CELLS[tensor]
    assert measured.depth <= DEPTH
