"""Products on machines whose DMA queues few descriptors, or many, on the instruction-set model."""

import dataclasses

import pytest

from spica.hw.presets import PRESETS
from spica.sim.analytic.gemm import predict, product_of
from support.gemm_runs import assert_right, run_product

#: One load per step, two per step, and several panels of both operands.
SIZES = [(64, 64, 64), (40, 100, 300), (260, 20, 70)]


def queued(preset, descriptors, **core):
    """Return a preset with this number of queued descriptors and other parameters of its cores."""
    config = PRESETS[preset]
    return dataclasses.replace(
        config,
        dma=dataclasses.replace(config.dma, queue=descriptors),
        core=dataclasses.replace(config.core, **core),
    )


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("descriptors", [1, 2, 3, 16])
@pytest.mark.quick(2)
def test_a_product_ends_with_any_queue_of_the_dma(descriptors, warps):
    config = queued("tiny", descriptors, warps=warps)
    for size in SIZES:
        assert_right(run_product(config, size, max_instructions=1_000_000))
    random = {"schedule": "random", "seed": descriptors}
    assert_right(run_product(config, SIZES[0], max_instructions=1_000_000, **random))


@pytest.mark.slow
@pytest.mark.parametrize("descriptors", [1, 2])
def test_a_short_queue_does_not_hold_the_program_in_rtl(descriptors):
    config = queued("tiny", descriptors)
    assert_right(run_product(config, (64, 64, 64), engine="verilator", max_cycles=100_000))


def test_the_prediction_knows_the_loads_of_a_short_queue():
    cycles = [predicted_cycles(queued("virgo", descriptors)) for descriptors in (16, 4, 2, 1)]
    assert cycles == sorted(cycles)
    assert cycles[2] == cycles[3]


def predicted_cycles(config):
    return predict(config, product_of(config, m=256, n=256, k=512)).cycles
