"""Prediction of the analytic model in a report: cycles, and work by level of memory."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich import box
from rich.table import Table

from ..analytic.limits import LIMITS

__all__ = ["prediction_lines", "prediction_table"]

#: Quantities of `prediction.work` in words.
QUANTITIES = {
    "active_cycles": "cycles in which the unit computes",
    "products": "products of tensor units",
    "shared_read_bytes": "bytes read from shared memory",
    "shared_written_bytes": "bytes written to shared memory",
    "dma_read_bytes": "bytes read by the DMA",
    "dma_written_bytes": "bytes written by the DMA",
    "l1d_filled_bytes": "bytes of lines to L1 data caches, of operands",
    "dram_read_bytes": "bytes read from DRAM, of operands",
    "dram_written_bytes": "bytes written to DRAM, of results",
}


def prediction_lines(prediction: Mapping[str, Any]) -> Iterator[str]:
    """Yield the predicted cycles, or the largest of the limits."""
    if prediction["cycles"] is not None:
        difference = f"{100 * prediction['difference']:+.2f} % against the run"
        yield f"Analytic model: {prediction['cycles']:,} cycles, {difference}"
        return
    name, cycles = max(prediction["limits"].items(), key=lambda limit: limit[1])
    yield f"Analytic model: at least {cycles:,} cycles, in which {LIMITS[name]}"


def prediction_table(prediction: Mapping[str, Any]) -> Table:
    """Return the table of the predicted work next to that of the counters."""
    table = Table(title="Analytic model", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("quantity")
    for column in ("predicted", "measured", "difference"):
        table.add_column(column, justify="right", no_wrap=True)
    for name, words in QUANTITIES.items():
        if (pair := prediction["work"].get(name)) is not None:
            predicted, measured = pair["predicted"], pair["measured"]
            table.add_row(words, f"{predicted:,}", f"{measured:,}", difference(predicted, measured))
    return table


def difference(predicted: int, measured: int) -> str:
    """Return how far a prediction is from the measurement."""
    if predicted == measured:
        return "none"
    return f"{100 * (predicted / measured - 1):+.2f} %" if measured else "of none"
