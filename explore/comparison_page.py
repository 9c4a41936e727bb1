"""Page of a comparison: chart and table in one HTML file that needs no network."""

from pathlib import Path

from ..sim.trace.page import filled
from .comparison import Comparison, with_ratios
from .comparison_chart import comparison_chart

__all__ = ["comparison_page"]


def comparison_page(comparison: Comparison) -> str:
    """Return the page; a part of a bar under the pointer shows its value."""
    data = {
        "chart": comparison_chart(comparison),
        "heads": ["figure", *with_ratios(comparison.names, [])],
        "rows": [
            [section if label is None else label, cells]
            for section, label, cells in comparison.table()
        ],
        "notes": comparison.notes,
    }
    title = f"compare {comparison.title}"
    return filled("comparison", title, data, folder=Path(__file__).parent)
