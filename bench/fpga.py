"""Benchmark of FPGA builds: fit, clock frequency, and time from an empty cache to the bitstream."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from spica.base.progress import Progress
from spica.synth.fpga.bitstream import run_tool
from spica.synth.yosys import run_yosys

from .commands import Column, Command, command_table, measured

__all__ = ["measure", "tables"]

COLUMNS = {
    "fmax MHz": Column("fmax_hertz", lambda value: f"{value / 1e6:.1f}"),
    "logic cells, iCE40": Column("utilization.ICESTORM_LC.used", "{:,}".format),
    "ECP5": Column("utilization.TRELLIS_COMB.used", "{:,}".format),
    "simulated cycles": Column("simulated.cycles", "{:,}".format),
    "seconds": Column("seconds", "{:.0f}".format),
}
#: More adder stages than an ASIC needs.
STEPS = "--set matrix.add_latency=4 --set matrix.multiply_add_latency=4"
#: Board, preset with settings, requested MHz, least MHz to reach, and largest build time in
#: seconds.
BOARDS = (
    ("icebreaker", "nano", 12, 12, 120),
    ("ice40_hx8k_b_evn", "nano", 12, 12, 120),
    ("ecp5_5g_evn", f"tiny_matrix {STEPS}", 60, 60, 1200),
    ("ulx3s_85f", f"tiny_matrix {STEPS}", 60, 25, 1200),
)


def measure(quick: bool, progress: Progress) -> Iterator[dict]:
    """Yield the result after every build."""
    progress("first run of the tools, which compile themselves", 0, 0)
    prepare_tools()
    commands = [
        Command(
            line=f"fpga {board} --preset {preset} --frequency {megahertz} -o {board}",
            least={"fmax_hertz": least * 1e6},
            most={"seconds": seconds},
            cache=f"cache-{board}",
        )
        for board, preset, megahertz, least, seconds in BOARDS[: 1 if quick else None]
    ]
    yield from measured(commands, COLUMNS, progress)


def prepare_tools():
    """Run the large tools once: each compiles itself in its first run after installation."""
    run_yosys("tee -o says.txt stat", {}, ["says.txt"])
    with tempfile.TemporaryDirectory(prefix="spica-bench-") as name:
        for family in ("ice40", "ecp5"):
            tool = f"nextpnr_{family}"
            run_tool(f"yowasp_{tool}", f"run_{tool}", ["--version"], Path(name))


def tables(result: dict) -> Iterator:
    """Yield the figures of every board."""
    yield command_table("Self-test presets, placed and routed", result, COLUMNS)
