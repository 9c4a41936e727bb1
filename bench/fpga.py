"""Benchmark of FPGA builds: fit, clock frequency, and build time."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from spica.cli.options import new_table
from spica.hw.base.progress import Progress
from spica.synth.fpga.bitstream import run_tool
from spica.synth.yosys import run_yosys

from .target import Target
from .timing import command

__all__ = ["measure", "tables"]

#: More adder stages than an ASIC needs.
STEPS = ("matrix.add_latency=4", "matrix.multiply_add_latency=4")
#: Board, preset and settings, requested MHz, least MHz to reach, and largest build time in seconds.
BUILDS = (
    ("icebreaker", "nano", (), 12, 12, 120),
    ("ice40_hx8k_b_evn", "nano", (), 12, 12, 120),
    ("ecp5_5g_evn", "tiny_matrix", STEPS, 60, 60, 1200),
    ("ulx3s_85f", "tiny_matrix", STEPS, 60, 25, 1200),
)


def measure(quick: bool, tell: Progress) -> Iterator[dict]:
    """Yield the result after every build."""
    result: dict = {"builds": [], "targets": []}
    tell("first run of the tools, which compile themselves", 0, 0)
    prepare_tools()
    for board, preset, settings, wanted, least, seconds in BUILDS[: 1 if quick else None]:
        tell(f"{preset} for {board}", len(result["builds"]), len(BUILDS))
        found = build(board, preset, settings, wanted)
        result["builds"].append(found)
        targets = (
            Target(
                name=f"{preset} on {board}, clock in the router's report",
                value=found["fmax_hertz"] / 1e6,
                limit=least,
                unit="MHz",
                at_least=True,
            ),
            Target(
                name=f"{preset} for {board}, from the command to the bitstream",
                value=found["seconds"],
                limit=seconds,
                unit="s",
            ),
        )
        result["targets"] += [target.as_dict() for target in targets]
        yield result


def prepare_tools():
    """Run the large tools once: each compiles itself in its first run after installation."""
    run_yosys("tee -o says.txt stat", {}, ["says.txt"])
    with tempfile.TemporaryDirectory(prefix="spica-bench-") as name:
        for family in ("ice40", "ecp5"):
            tool = f"nextpnr_{family}"
            run_tool(f"yowasp_{tool}", f"run_{tool}", ["--version"], Path(name))


def build(board: str, preset: str, settings: tuple[str, ...], wanted: float) -> dict:
    """Return the result of ``spica fpga`` without a cache, and its time."""
    with tempfile.TemporaryDirectory(prefix="spica-bench-") as name:
        arguments = ["fpga", board, "--preset", preset, "--frequency", str(wanted)]
        for setting in settings:
            arguments += ["--set", setting]
        times, found = command([*arguments, "-o", f"{name}/build"], f"{name}/cache")
        return found | times


def tables(result: dict) -> Iterator:
    """Yield the tables of the result."""
    table = new_table(
        "Self-test presets, placed and routed",
        *("board", "preset", "simulation"),
        numbers=["clock MHz", "fmax MHz", "logic cells", "available", "seconds"],
    )
    for build in result["builds"]:
        kind = max(
            (name for name in build["utilization"] if name in ("TRELLIS_COMB", "ICESTORM_LC")),
            key=lambda name: build["utilization"][name]["used"],
        )
        logic = build["utilization"][kind]
        table.add_row(
            build["board"],
            build["preset"],
            f"{build['simulated']['verdict']}, {build['simulated']['cycles']:,} cycles",
            f"{build['clock_hertz'] / 1e6:g}",
            f"{build['fmax_hertz'] / 1e6:.1f}",
            f"{logic['used']:,}",
            f"{logic['available']:,}",
            f"{build['seconds']:.0f}",
        )
    yield table
