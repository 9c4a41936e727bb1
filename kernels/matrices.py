"""Sizes of matrices that kernels work on by rows."""

from ..hw.config.checks import require_integer

__all__ = ["require_matrix"]

#: Most elements of a matrix: a quarter of a GiB of FP32.
MOST_ELEMENTS = 1 << 26


def require_matrix(rows: int, columns: int) -> None:
    """Raise unless a matrix of this shape is one that kernels take."""
    require_integer("rows", rows, 1, MOST_ELEMENTS)
    require_integer("columns", columns, 1, MOST_ELEMENTS)
    if rows * columns > MOST_ELEMENTS:
        raise ValueError(
            f"rows x columns must be at most {MOST_ELEMENTS}, not {rows} x {columns} = "
            f"{rows * columns}"
        )
