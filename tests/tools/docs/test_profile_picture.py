"""Tests of the picture of a profile report in docs/measuring.md."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
SUMS = {"cycles": 40, "instructions": 8, "states": {"memory": 30, "ready": 10}}
PROFILE = SUMS | {
    "functions": [{"function": "scale", "file": "scale.c"} | SUMS],
    "lines": [{"file": "scale.c", "line": 7, "function": "scale", "text": "y[i] = a;"} | SUMS],
    "code": [
        {"file": "scale.c", "line": 7, "assembly": "sw a0, 0(a1)"}
        | SUMS
        | {"waits": [{"address": 0x80000010, "assembly": "mul a0, a2, a3", "cycles": 4}]}
    ],
}


def shown(svg):
    """Return the text of a picture with ordinary spaces."""
    return svg.replace("&#160;", " ")


def test_picture_shows_the_tables_without_a_network(page_writer):
    svg = page_writer("profile_picture").picture(PROFILE)
    assert "scale.c:7" in shown(svg)
    assert "memory 75 %" in shown(svg)
    assert "url(http" not in svg and "@font-face" not in svg


def test_picture_is_of_the_command_of_the_page(page_writer):
    writer = page_writer("profile_picture")
    page = (ROOT / "docs" / "measuring.md").read_text()
    assert f"{writer.COMMAND}\n" in page
    stored = shown(writer.PICTURE.read_text())
    assert writer.COMMAND in stored
    rows = re.findall(r"^ +([\d.]+ %) +([\d,]+) +([\d,]+) .* (\S+\.[cS]:\d+) ", page, re.M)
    assert len(rows) > 4
    for row in rows:
        assert all(cell in stored for cell in row)
