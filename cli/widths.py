"""Width of output that does not go to a terminal."""

import os

__all__ = ["piped_width"]

#: Columns without ``$COLUMNS``, and the least number that is followed.
WIDTH, LEAST = 160, 40


def piped_width(default: int = WIDTH) -> int:
    """Return the columns of piped output: ``$COLUMNS``, at least `LEAST`, or a default."""
    columns = os.environ.get("COLUMNS", "")
    return max(LEAST, int(columns)) if columns.isascii() and columns.isdecimal() else default
