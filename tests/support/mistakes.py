"""Programs with mistakes: their marked lines, and reports that must fit a screen."""

import json
from pathlib import Path

__all__ = ["FOLDER", "LINES", "checked", "line_of"]

FOLDER = Path(__file__).with_name("c_programs") / "mistakes"
LINES, COLUMNS = 40, 100


def line_of(path: Path | str, mark: str = "MISTAKE") -> int:
    """Return the number of the line with a comment of a program, or of one of the folder."""
    text = (FOLDER / f"{path}.c" if isinstance(path, str) else path).read_text()
    (number,) = [n for n, line in enumerate(text.splitlines(), 1) if f"/* {mark} */" in line]
    return number


def checked(failure: tuple[dict, str]) -> tuple[dict, str]:
    """Return the data and the text of a failure, which must fit a screen."""
    report, text = failure
    assert len(text.splitlines()) <= LINES
    assert max(map(len, text.splitlines())) <= COLUMNS
    assert json.loads(json.dumps(report, allow_nan=False))
    return failure
