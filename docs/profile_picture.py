"""Writer of the picture of a profile report in measuring.md; run by ``make docs``."""

import io
import re
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme

import spica
from spica.sim.report.profile_report import profile_tables

COMMAND = "spica run sgemm --preset tiny --size 16 --dram-latency 100 --profile"
PICTURE = Path(__file__).with_name("pictures") / "profile.svg"
WIDTH = 112
BLACK, GREY, WHITE = (36, 41, 47), (110, 118, 129), (255, 255, 255)
THEME = TerminalTheme(WHITE, BLACK, [BLACK] * 8, [GREY] * 8)


def picture(profile: dict) -> str:
    """Return the tables of a profile as SVG, in fonts of the reader's system."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    for table in profile_tables(profile, WIDTH):
        console.print(table)
    text = console.export_svg(title=COMMAND, theme=THEME, unique_id="profile")
    text = re.sub(r"@font-face \{.*?\}\s*", "", text, flags=re.DOTALL)
    return text.replace("font-family: Fira Code, monospace", "font-family: monospace")


if __name__ == "__main__":
    machine = spica.Machine("tiny", dram=spica.Dram(latency=100))
    run = machine.run("sgemm", m=16, n=16, k=16, profile=True)
    PICTURE.write_text(picture(run.to_dict()["source_profile"]))
