"""Size limits of matrices in kernels that work by rows."""

from ..hw.config.checks import require_integer

__all__ = ["require_matrix"]

#: Largest number of elements of a matrix: 256 MiB of FP32.
MOST_ELEMENTS = 1 << 26


def require_matrix(rows: int, columns: int) -> None:
    """Raise unless kernels accept a matrix of this shape."""
    require_integer("rows", rows, 1, MOST_ELEMENTS)
    require_integer("columns", columns, 1, MOST_ELEMENTS)
    if rows * columns > MOST_ELEMENTS:
        raise ValueError(
            f"rows x columns must be at most {MOST_ELEMENTS}, not {rows} x {columns} = "
            f"{rows * columns}"
        )
