"""``spica fpga``: bitstream of a preset with a self-test, for a board."""

import tempfile
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ...api.progress import ProgressDisplay
from ...base.errors import UserError
from ...hw.config import ARRAYS, MachineConfig
from ...hw.config.rtl_support import require_rtl
from ...hw.emit.emitter import emit
from ...hw.presets import PRESETS
from ...sim.run.request.choices import choose
from ...sim.run.request.machine import changed
from ...synth.fpga.bitstream import Build, board_top, build_bitstream, require_tools
from ...synth.fpga.boards import find_board
from ..files import make_folder
from ..options import WHOLE, Flag, JsonOption, JsonOutput, SetOption, new_table, standard_output
from .self_test import BAUD, test_of, verdict_of

__all__ = ["fpga"]

DESIGN = "self_test"
#: Files of a build.
FILES = ("design.bit", f"{DESIGN}.v", "board.v", "route.log", "report.json")
TOO_SLOW = 1


def fpga(
    board: str,
    /,
    *,
    preset: str,
    output: Annotated[Path, Parameter(name=("--output", "-o"))],
    frequency: float | None = None,
    seed: Annotated[int, WHOLE] = 1,
    simulate: bool = True,
    force: Flag = False,
    settings: SetOption = (),
    json: JsonOption = None,
) -> int:
    """Build a bitstream with a self-test: a preset computes a matrix product and checks it.

    LEDs show pass, fail and running. The serial port, at 115,200 baud, sends the verdict and the
    cycle count twice a second. The design is simulated before it is built.

    Parameters
    ----------
    board
        Board of amaranth-boards with an ECP5 or an iCE40, for example ulx3s_85f.
    preset
        Preset of `spica list`, or nano, a 2 x 2 array that fits small iCE40s.
    output
        Folder of the bitstream; created if it does not exist.
    frequency
        Target of placement and routing in MHz; default: the board's clock.
    seed
        Seed of the operands and of the placer.
    simulate
        Simulate the design before it is built.
    force
        Replace files of the same names in the folder.

    """
    target = find_board(board)
    require_tools(target)
    known = PRESETS | ARRAYS
    config = changed(known[choose("preset", preset, known)], settings)
    if isinstance(config, MachineConfig):
        require_rtl(config, config.clusters)
    hertz = target.frequency if frequency is None else 1e6 * frequency
    if not target.frequency <= hertz <= 1e9:
        raise UserError(
            f"--frequency must be between the board's clock, {target.frequency / 1e6:g} MHz, and "
            f"1000 MHz, not {frequency:g}"
        )
    require_free(output, force)
    test = test_of(config, target.frequency, seed)
    with JsonOutput(json) as result:
        with ProgressDisplay() as progress, tempfile.TemporaryDirectory() as name:
            verdict, cycles = None, None
            if simulate:
                progress("simulating", 0, 0)
                verdict, cycles = verdict_of(test, progress)
                if verdict != "pass":
                    raise UserError(
                        f"the self-test must pass in simulation, not end with {verdict}"
                    )
            progress("generating Verilog", 0, 0)
            verilog = emit(test, DESIGN).verilog
            folder = Path(name)
            build = build_bitstream(
                target, verilog, DESIGN, folder, requested=hertz, seed=seed, progress=progress
            )
            (folder / f"{DESIGN}.v").write_text(verilog)
            (folder / "board.v").write_text(board_top(target, DESIGN))
            make_folder(output)
            for file in FILES:
                (output / file).write_bytes((folder / file).read_bytes())
        is_fast_enough = build.fmax >= target.frequency
        people = result.write({
            "board": board,
            "device": target.device,
            "preset": preset,
            "simulated": {"verdict": verdict, "cycles": cycles},
            "clock_hertz": target.frequency,
            "fmax_hertz": build.fmax,
            "wanted_hertz": hertz,
            "utilization": build.used,
            "cells": build.cells,
            "critical_path": build.critical,
            "bitstream": str(output / "design.bit"),
        })
    if people:
        show(build, f"Resources: {preset} on {board}, {target.device}")
        out = standard_output()
        out.print(
            f"Maximum frequency: {build.fmax / 1e6:.1f} MHz by the router; board clock: "
            f"{target.frequency / 1e6:g} MHz"
        )
        if build.critical:
            out.print(f"Critical path: {' > '.join(build.critical)}", soft_wrap=True)
        if cycles is not None:
            out.print(
                f"Simulation: pass after {cycles:,} cycles; expected at the serial port, "
                f"{BAUD:,} baud: spica pass {cycles:08x}"
            )
        out.print(f"{output / 'design.bit'}: {len(build.bitstream):,} bytes", soft_wrap=True)
        if not is_fast_enough:
            out.print("Timing not met: the design may fail at the board's clock.")
    return 0 if is_fast_enough else TOO_SLOW


def require_free(output: Path, force: bool):
    """Raise if `output` is not a folder, or a file in it would be replaced without `force`."""
    if output.exists() and not output.is_dir():
        raise UserError(f"--output must be a folder, not the file {output}")
    there = [file for file in FILES if (output / file).exists()]
    if there and not force:
        raise UserError(f"{output} already holds {', '.join(there)}; --force replaces them")


def show(build: Build, title: str):
    """Print the resources used of the device."""
    table = new_table(title, "resource", numbers=["used", "available", "share"])
    for kind, places in sorted(build.used.items()):
        share = places["used"] / places["available"] if places["available"] else 0
        table.add_row(kind, f"{places['used']:,}", f"{places['available']:,}", f"{share:.1%}")
    standard_output().print(table)
