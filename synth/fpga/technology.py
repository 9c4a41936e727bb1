"""FPGA resources of a block: look-up tables, flip-flops, block RAMs, multipliers."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from ...base.build_cache import digest
from ..blocks import TOP, Block
from ..cache import cached
from ..yosys import run_yosys, yosys_version

__all__ = ["RESOURCES", "TECHNOLOGIES", "Technology", "flow", "resources_in"]

RESOURCES = ("lut", "ff", "bram", "dsp")

#: Cells that are wires, constants, or parts of a logic cell counted with its look-up table.
FREE = {
    *("$scopeinfo", "$print", "VCC", "GND", "VLO", "VHI"),
    *("PFUMX", "L6MUX21", "SB_CARRY", "CARRY4", "MUXF7", "MUXF8", "MUXF9"),
}


#: A clocked read of a word written in the same cycle is undefined, as in `Sram`. Otherwise Yosys
#: adds registers and multiplexers around block RAMs.
SRAM_CONTRACT = (
    "setparam -set COLLISION_X_MASK 1'1 t:$memrd_v2 r:COLLISION_X_MASK=1'0 %i r:CLK_ENABLE=1 %i"
)


@dataclass(frozen=True, kw_only=True)
class Technology:
    """A family of FPGAs.

    Parameters
    ----------
    name : str
        Full name.
    command : str
        Yosys's synthesis command for a part of a design: without pads and clock buffers.
    cells : mapping of str to mapping
        Resources of each of its cells, by `RESOURCES`.
    bram : str
        Size of one block RAM.

    """

    name: str
    command: str
    cells: Mapping[str, Mapping[str, float]]
    bram: str

    @property
    def script(self) -> str:
        """Yosys script for a block."""
        return (
            f"read_rtlil block.il\n{SRAM_CONTRACT}\nhierarchy -check -top {TOP}\nproc\n"
            "flatten -noscopeinfo\n"
            f"chformal -remove\n{flow(self.command, TOP)}\ntee -q -o cells.json stat -json\n"
        )


def flow(command: str, top: str) -> str:
    """Return the Yosys commands that synthesise a module for a family of FPGAs.

    Signals become one-bit nets before look-up table mapping: a signal named like a bit of another
    signal would otherwise make that step fail (Yosys issue 4349).
    """
    run = f"{command} -top {top} -run"
    return f"{run} :map_luts\nsplitnets\n{run} map_luts:"


def cells_of(resource: str, amount: float, *names: str) -> dict[str, dict[str, float]]:
    """Return a mapping of each named cell to an amount of a resource."""
    return {name: {resource: amount} for name in names}


ICE40_FLIP_FLOPS = [
    f"SB_DFF{edge}{kind}" for edge in ("", "N") for kind in ("", "E", "SR", "R", "SS", "S")
] + [f"SB_DFF{edge}E{kind}" for edge in ("", "N") for kind in ("SR", "R", "SS", "S")]

TECHNOLOGIES: Mapping[str, Technology] = {
    "ecp5": Technology(
        name="Lattice ECP5",
        command="synth_ecp5",
        cells=cells_of("lut", 1, "LUT4", "INV")
        # A carry cell takes two look-up tables; a small RAM takes four, and two that write.
        | cells_of("lut", 2, "CCU2C")
        | cells_of("lut", 6, "TRELLIS_DPR16X4")
        | cells_of("ff", 1, "TRELLIS_FF")
        | cells_of("bram", 1, "DP16KD", "PDPW16KD")
        | cells_of("dsp", 1, "MULT18X18D"),
        bram="18 kbit",
    ),
    "ice40": Technology(
        name="Lattice iCE40",
        command="synth_ice40",
        cells=cells_of("lut", 1, "SB_LUT4")
        | cells_of("ff", 1, *ICE40_FLIP_FLOPS)
        | cells_of("bram", 1, *(f"SB_RAM40_4K{edges}" for edges in ("", "NR", "NW", "NRNW")))
        | cells_of("dsp", 1, "SB_MAC16"),
        bram="4 kbit",
    ),
    "xilinx": Technology(
        name="Xilinx 7 series",
        command="synth_xilinx -family xc7 -noiopad -noclkbuf",
        cells=cells_of("lut", 1, *(f"LUT{inputs}" for inputs in range(1, 7)), "INV")
        | cells_of("lut", 1, "SRL16E", "SRLC32E", "RAM32X1S", "RAM64X1S")
        | cells_of("lut", 2, "RAM32X1D", "RAM64X1D")
        | cells_of("lut", 4, "RAM32M", "RAM64M", "RAM128X1D", "RAM256X1S")
        | cells_of("ff", 1, "FDRE", "FDSE", "FDCE", "FDPE", "FDRE_1", "FDSE_1", "FDCE_1", "FDPE_1")
        | cells_of("bram", 0.5, "RAMB18E1")
        | cells_of("bram", 1, "RAMB36E1")
        | cells_of("dsp", 1, "DSP48E1"),
        bram="36 kbit",
    ),
}


def resources_in(technology: Technology, block: Block) -> Counter[str]:
    """Return the resources of a block by itself, without the blocks it instantiates."""

    def synthesise() -> dict[str, int]:
        report = run_yosys(technology.script, {"block.il": block.text}, ["cells.json"])
        module = json.loads(report["cells.json"])["modules"][f"\\{TOP}"]
        return module.get("num_cells_by_type", {})

    key = digest([yosys_version(), technology.script, block.text])
    cells: Mapping[str, int] = cached("technology", key, synthesise)
    resources: Counter[str] = Counter()
    for cell, count in cells.items():
        if cell in block.names or cell in FREE:
            continue
        if cell not in technology.cells:
            raise ValueError(f"cells of {technology.name} must be known; {cell!r} is not")
        for resource, amount in technology.cells[cell].items():
            resources[resource] += count * amount  # pyright: ignore[reportArgumentType]  # halves
    return resources
