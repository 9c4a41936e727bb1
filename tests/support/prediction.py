"""Predictions of the analytic model beside runs on RTL."""

from collections.abc import Mapping
from typing import Any

import pytest

from spica.hw.config import ClusterConfig
from spica.sim.analytic.work import Prediction, counted_levels, counted_traffic, work_of

__all__ = ["require_prediction"]

#: Largest difference of the bytes that a product reads from DRAM: lines that the L2 prefetches.
BYTES = 10_240


def require_prediction(
    config: ClusterConfig,
    found: Prediction,
    result: Mapping[str, Any],
    *,
    cycles: float,
    is_product: bool = True,
):
    """Require that a run had the exact work, cycles and bytes that a prediction has.

    `cycles` is the largest relative error of cycles. Bytes that a product writes to DRAM must be
    exact; those of attention may have errors of 10 % written and 15 % read.
    """
    assert found.traffic == counted_traffic(config, result)
    assert found.cycles == pytest.approx(result["cycles"], rel=cycles)
    measured = counted_levels(config, result)
    predicted, counted = work_of(found.traffic, found.levels), work_of(found.traffic, measured)
    assert result["prediction"] == {
        "cycles": found.cycles,
        "difference": found.cycles / result["cycles"] - 1,
        "terms": found.terms,
        "work": {
            name: {"predicted": count, "measured": counted[name]}
            for name, count in predicted.items()
            if count or counted[name]
        },
    }
    assert found.levels is not None
    read, written = found.levels.dram_read_bytes, found.levels.dram_written_bytes
    if is_product:
        assert written == measured.dram_written_bytes
    else:
        assert written == pytest.approx(measured.dram_written_bytes, rel=0.1)
    if read is not None:
        limit = {"abs": BYTES} if is_product else {"rel": 0.15}
        assert read == pytest.approx(measured.dram_read_bytes, **limit)
    if found.levels.l1d_filled_bytes is not None:
        assert found.levels.l1d_filled_bytes == pytest.approx(measured.l1d_filled_bytes, rel=0.1)
