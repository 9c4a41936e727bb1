"""``spica area``: what a preset costs, block by block."""

import re
from pathlib import Path

from ..hw.errors import UserError
from ..hw.rtl import require_rtl
from ..synth.area import area_report, measure_cluster
from ..synth.measure import Measurement
from ..synth.yosys import YosysError
from .options import (
    JsonOption,
    JsonOutput,
    SetOption,
    configured,
    new_table,
    standard_output,
)
from .progress import ProgressDisplay

__all__ = ["area"]


def area(
    preset: str,
    /,
    *,
    liberty: Path | None = None,
    settings: SetOption = (),
    json: JsonOption = None,
):
    """Print what a preset costs: of each block cells, NAND2 equivalents, SRAM bits, depth.

    Every distinct block is synthesised once; results are cached.

    Parameters
    ----------
    preset
        A preset of `spica list`.
    liberty
        Cell library for an area in square micrometres.

    """
    config = configured(preset, settings)
    require_rtl(config)
    if liberty is not None:
        require_liberty(liberty)
    with JsonOutput(json) as output:
        with ProgressDisplay() as progress:
            done = 0

            def advance(block: str, blocks: int):
                nonlocal done
                done += 1
                progress(f"synthesising {preset}", done, blocks)

            progress(f"synthesising {preset}", 0, 0)
            try:
                measured = measure_cluster(config, preset, liberty=liberty, progress=advance)
            except YosysError as error:
                if liberty is None:
                    raise
                raise UserError(f"cannot map {preset} to the cells of {liberty}: {error}") from None
        report = {"preset": preset, **area_report(measured)}
        if output.write(report):
            show(measured, report["sram_nand2_estimate"])


def require_liberty(path: Path):
    """Refuse at once what cannot be a cell library."""
    if not path.is_file():
        raise UserError(f"--liberty must name a Liberty file, and there is none at {path}")
    # Comments may stand before it.
    if not re.search(r"^\s*library\s*\(", path.read_text(errors="replace"), re.MULTILINE):
        raise UserError(f"--liberty must name a Liberty file, and {path} holds no library (...)")


def show(measured: Measurement, sram_estimate: float):
    """Print the table of blocks, the costliest first, and the sums."""
    numbers = ["instances", "cells", "NAND2 eq", "flip-flops", "SRAM bits", "depth"]
    numbers += ["um2"] if measured.area is not None else []
    table = new_table(f"Area of {measured.name}", "block", numbers=[*numbers, "share"])
    for block in sorted(measured.blocks, key=lambda block: -block.nand2 * block.instances):
        whole = block.nand2 * block.instances
        table.add_row(
            block.name,
            f"{block.instances:,}",
            f"{block.cells:,}",
            f"{block.nand2:,.0f}",
            f"{block.flip_flops:,}",
            f"{block.sram_bits:,}",
            f"{block.depth}",
            *([f"{block.area:,.0f}"] if block.area is not None else []),
            f"{whole / measured.nand2:.1%}" if measured.nand2 else "",
        )
    table.add_section()
    table.add_row(
        "in all",
        "",
        f"{measured.cells:,}",
        f"{measured.nand2:,.0f}",
        f"{measured.flip_flops:,}",
        f"{measured.sram_bits:,}",
        f"{measured.depth}",
        *([f"{measured.area:,.0f}"] if measured.area is not None else []),
        "",
    )
    out = standard_output()
    out.print(table)
    out.print(
        "Figures of a block are of one instance, without the blocks it instantiates; depth "
        f"includes them. SRAM is apart: about {sram_estimate:,.0f} NAND2 equivalents."
    )
