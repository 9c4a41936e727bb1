"""Energy of memories: macros of a table, tiled as for their area, or flip-flops."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...base.errors import UserError
from ..macros import ENERGY_COLUMNS, Macro, Tiling, read_macros, tiling_of
from ..memories import MACRO_NAND2, MemoryShape, memory_nand2
from .flip_flop_memory import StorageCells

__all__ = ["OPEN_MACROS", "MemoryEnergy", "memory_energy", "open_macros", "read_energy_macros"]

#: Ports, words and width of SRAM macros, energy of a read and of a write in pJ, leakage in nW.
#: Source: Liberty files of the macros behind `MACRO_NAND2`, IHP's 130 nm process at 1.2 V, 25 C:
#: energy of the clock pin, without those of address and data pins.
OPEN_MACROS = (
    (1, 256, 8, 10.21, 13.51, 24.8),
    (1, 512, 8, 12.13, 16.04, 49.5),
    (1, 512, 16, 19.57, 23.47, 99.0),
    (1, 1024, 16, 26.49, 32.92, 198.0),
    (1, 1024, 32, 48.27, 58.92, 396.0),
    (1, 4096, 16, 58.64, 72.49, 792.1),
    (1, 2048, 64, 122.39, 155.37, 1584.1),
    (1, 8192, 32, 230.35, 239.31, 3168.2),
    (2, 256, 8, 8.29, 10.96, 39.9),
    (2, 512, 8, 11.34, 14.04, 79.7),
    (2, 512, 16, 19.57, 23.47, 159.5),
    (2, 512, 32, 36.01, 42.32, 318.9),
    (2, 1024, 32, 48.27, 58.92, 637.8),
)


@dataclass(frozen=True, kw_only=True)
class MemoryEnergy:
    """Energy of a memory.

    Parameters
    ----------
    read, write : float
        Energy of one access to a word in pJ, whatever part of the word a write's mask selects.
    leakage : float
        Leakage power in nW.
    tiling : Tiling
        Macros or flip-flops it is made of.

    """

    read: float
    write: float
    leakage: float
    tiling: Tiling


def open_macros(nand2: float) -> list[Macro]:
    """Return macros of an open 130 nm process, `OPEN_MACROS`, for a NAND2 of `nand2` um2."""
    areas = {(ports, bits): area for ports in MACRO_NAND2 for bits, area in MACRO_NAND2[ports]}
    return [
        Macro(
            name=f"{ports}P {words} x {width}",
            ports=ports,
            words=words,
            width=width,
            area=areas[ports, words * width] * nand2,
            read_energy=read,
            write_energy=write,
            leakage=leakage,
        )
        for ports, words, width, read, write, leakage in OPEN_MACROS
    ]


def read_energy_macros(path: Path) -> list[Macro]:
    """Return the macros of a table; raise `UserError` if it lacks energies or leakage."""
    macros = read_macros(path)
    headings = {what: column for what, (column, *_) in ENERGY_COLUMNS.items()}
    if missing := [column for what, column in headings.items() if getattr(macros[0], what) is None]:
        raise UserError(
            f"--sram-table must have the columns {', '.join(headings.values())} for energy; {path} "
            f"has none called {', none called '.join(missing)}"
        )
    return macros


def memory_energy(
    shape: MemoryShape, macros: Sequence[Macro], nand2: float, cells: StorageCells
) -> MemoryEnergy:
    """Return the energy of a memory, tiled for the least area.

    A read accesses the tiles side by side that hold the word, in one copy; a write accesses them
    in all copies. Tiles that are not accessed consume only leakage. A memory with asynchronous
    reads is made of flip-flops, as is one that is smaller so.

    Parameters
    ----------
    shape : MemoryShape
        Words, width and ports.
    macros : sequence of Macro
        Macros of `read_energy_macros`.
    nand2 : float
        Area of a NAND2 in um2, the unit of the area of flip-flops.
    cells : StorageCells
        Cells of memories made of flip-flops.

    """
    tiling = tiling_of(shape, macros, nand2)
    macro = tiling.macro
    if macro is None:
        require_small(shape, macros)
        reads = 1 if shape.ports == "1rw" else int(shape.ports.partition("r")[0])
        return MemoryEnergy(
            read=cells.read_energy(shape),
            write=cells.write_energy(shape),
            leakage=cells.leakage(shape, reads),
            tiling=tiling,
        )
    assert macro.read_energy is not None and macro.write_energy is not None
    assert macro.leakage is not None
    return MemoryEnergy(
        read=tiling.columns * macro.read_energy,
        write=tiling.columns * tiling.copies * macro.write_energy,
        leakage=tiling.count * macro.leakage,
        tiling=tiling,
    )


def require_small(shape: MemoryShape, macros: Sequence[Macro]):
    """Raise if a memory is made of flip-flops only because no macro has enough ports."""
    if shape.ports == "1rw" or any(macro.ports > 1 for macro in macros):
        return
    if memory_nand2(shape) < shape.flip_flop_nand2:
        raise UserError(
            f"--sram-table must have a macro of two ports for a memory of {shape.depth} words of "
            f"{shape.width} bits ({shape.ports}); its {len(macros)} macros have one"
        )
