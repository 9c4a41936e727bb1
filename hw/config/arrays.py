"""Named arrays that are too small to be a cluster."""

from .systolic import SystolicConfig

__all__ = ["ARRAYS"]

ARRAYS: dict[str, SystolicConfig] = {
    "nano": SystolicConfig(
        rows=2, columns=2, operand="int8", accumulator_bytes=128, tile=(8, 2, 8)
    ),
}
