"""Whether a cluster fits an FPGA, how fast it runs there, and how long that takes to find out."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from spica.cli.options import new_table
from spica.synth.fpga import run_tool
from spica.synth.yosys import run_yosys

from .target import Target
from .timing import command

__all__ = ["measure", "tables"]

#: Adders in more steps than an ASIC needs.
STEPS = ("matrix.add_latency=4", "matrix.multiply_add_latency=4")
#: Board, preset and settings, the MHz asked for; what it must reach and in which time at most.
BUILDS = (
    ("icebreaker", "nano", (), 12, 12, 120),
    ("ice40_hx8k_b_evn", "nano", (), 12, 12, 120),
    ("ecp5_5g_evn", "tiny_matrix", STEPS, 60, 60, 1200),
    ("ulx3s_85f", "tiny_matrix", STEPS, 60, 25, 1200),
)


def measure(quick: bool, tell: Callable[[str, int, int], None]) -> Iterator[dict]:
    """Yield the result after every build."""
    result: dict = {"builds": [], "targets": []}
    tell("tools, which compile themselves once", 0, 0)
    prepare_tools()
    for board, preset, settings, wanted, least, seconds in BUILDS[: 1 if quick else None]:
        tell(f"{preset} for {board}", len(result["builds"]), len(BUILDS))
        found = build(board, preset, settings, wanted)
        result["builds"].append(found)
        targets = (
            Target(
                name=f"{preset} on {board}, as its router reports",
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
    """Run the large tools once: in the first run after its installation each compiles itself."""
    run_yosys("tee -o says.txt stat", {}, ["says.txt"])
    with tempfile.TemporaryDirectory(prefix="spica-bench-") as name:
        for family in ("ice40", "ecp5"):
            tool = f"nextpnr_{family}"
            run_tool(f"yowasp_{tool}", f"run_{tool}", ["--version"], Path(name))


def build(board: str, preset: str, settings: tuple[str, ...], wanted: float) -> dict:
    """Return what ``spica fpga`` says of a build with nothing in the cache, and its time."""
    with tempfile.TemporaryDirectory(prefix="spica-bench-") as name:
        arguments = ["fpga", board, "--preset", preset, "--frequency", str(wanted)]
        for setting in settings:
            arguments += ["--set", setting]
        times, found = command([*arguments, "-o", f"{name}/build"], f"{name}/cache")
        return found | times


def tables(result: dict) -> Iterator:
    """Yield the result for people."""
    table = new_table(
        "Presets that test themselves, placed and routed",
        *("board", "preset", "in simulation"),
        numbers=["clock MHz", "at most MHz", "logic", "of", "seconds"],
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
