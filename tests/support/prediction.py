"""Predictions of the analytic model beside runs on RTL."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from spica.hw.config import MachineConfig
from spica.sim.analytic.counted import counted_levels, counted_traffic
from spica.sim.analytic.gemm import product_of
from spica.sim.analytic.work import Prediction, work_of
from spica.sim.harness.dram import DramConfig
from support.gemm_runs import run_product
from support.runs import passed

__all__ = ["measured", "product", "require_prediction"]

#: Most bytes of a program beside operands and results, where the L2 keeps it: instructions,
#: arguments, stacks, and lines that the L2 prefetches in vain.
PROGRAM = {"dram_read_bytes": 64 * 500, "dram_written_bytes": 2048, "l1d_filled_bytes": 2048}
SMALL_L2 = 1 << 16


def product(config: MachineConfig, sizes: Sequence[int], **options):
    """Return the product of these sizes on a machine, as the model takes it."""
    return product_of(config, **dict(zip("mnk", sizes, strict=True)), **options)


def measured(
    config: MachineConfig, sizes: Sequence[int], memory: DramConfig | None = None, **options
) -> dict[str, Any]:
    """Run a product on RTL; return its result, which must be correct."""
    options |= {"engine": "verilator", "lockstep": False, "memory": memory or DramConfig()}
    return passed(run_product(config, sizes, **options))


def require_prediction(
    config: MachineConfig,
    prediction: Prediction,
    result: Mapping[str, Any],
    *,
    cycles: float | None = None,
):
    """Require that a run had the work that a prediction has, and no fewer cycles than its limits.

    `cycles` is the largest relative error of predicted cycles, if there are some. Bytes of DRAM and
    of L1 data caches are those of operands and results, and of the program.
    """
    assert prediction.traffic == counted_traffic(config, result)
    assert prediction.least_cycles <= result["cycles"]
    assert (prediction.cycles is None) == (cycles is None)
    difference = None
    if prediction.cycles is not None:
        assert prediction.cycles == pytest.approx(result["cycles"], rel=cycles)
        difference = prediction.cycles / result["cycles"] - 1
    measured = counted_levels(config, result)
    predicted, counted = (
        work_of(prediction.traffic, prediction.levels),
        work_of(prediction.traffic, measured),
    )
    assert result["prediction"] == {
        "cycles": prediction.cycles,
        "difference": difference,
        "terms": prediction.terms,
        "limits": prediction.limits,
        "work": {
            name: {"predicted": count, "measured": counted[name]}
            for name, count in predicted.items()
            if count or counted[name]
        },
    }
    for name in PROGRAM.keys() & predicted.keys():
        more = counted[name] - predicted[name]
        assert more >= 0, name
        assert more <= PROGRAM[name] or config.l2.size < SMALL_L2, name
