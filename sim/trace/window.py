"""Window of a trace: its first cycle and the cycle after its last."""

from ...base.errors import UserError
from ...hw.config.checks import require_integer

__all__ = ["require_window"]


def require_window(window: tuple[int, int], latest: int) -> None:
    """Raise unless a window begins at cycle `latest` or before, and ends after it begins."""
    first, end = window
    require_integer("first cycle", first, 0, latest)
    if end <= first:
        raise UserError(f"the window must end after it begins, not be cycles {first} to {end - 1}")
