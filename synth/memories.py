"""Memories kept whole by synthesis: shapes, and estimated cost as macros."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log2

from .gates import ENABLE, FLIP_FLOP, NAND2_EQUIVALENTS

__all__ = ["MACRO_NAND2", "MemoryShape", "memories_of", "memory_nand2", "memory_shape"]

#: NAND2 equivalents of SRAM macros by bits, for one port and for two. Source: areas of IHP's 130 nm
#: macros in their Liberty files (IHP-Open-PDK, libs.ref/sg13g2_sram), divided by 7.2576 um2 of its
#: NAND2; of equal sizes the one of least area.
MACRO_NAND2: Mapping[int, Sequence[tuple[int, float]]] = {
    1: (
        (2_048, 2_417.7),  # 256 x 8
        (4_096, 3_601.5),  # 512 x 8
        (8_192, 6_243.0),  # 512 x 16
        (16_384, 10_978.0),  # 1024 x 16
        (32_768, 19_315.3),  # 1024 x 32
        (65_536, 35_495.0),  # 4096 x 16
        (131_072, 67_740.5),  # 2048 x 64
        (262_144, 129_507.7),  # 8192 x 32
    ),
    2: (
        (2_048, 5_256.2),  # 256 x 8; the macro of 64 x 22 is larger
        (4_096, 7_908.6),  # 512 x 8
        (8_192, 12_191.6),  # 512 x 16
        (16_384, 20_757.6),  # 512 x 32
        (32_768, 36_398.7),  # 1024 x 32
    ),
}


@dataclass(frozen=True, kw_only=True, order=True)
class MemoryShape:
    """Shape and ports of a memory.

    Parameters
    ----------
    depth, width : int
        Words, and bits of each.
    ports : str
        ``1rw``: one port that reads or writes. ``1r1w``: one read port and one write port; in
        general the number of each. ``async``: reads are not clocked; no macro supports this.

    """

    depth: int
    width: int
    ports: str

    @property
    def bits(self) -> int:
        """Total bits."""
        return self.depth * self.width

    @property
    def flip_flop_nand2(self) -> float:
        """NAND2 equivalents in flip-flops: each with an enable and its part of a multiplexer."""
        reads = NAND2_EQUIVALENTS["$_MUX_"] * (1 - 1 / self.depth)
        return self.bits * (FLIP_FLOP + ENABLE + reads)


def memories_of(module: dict) -> Counter[MemoryShape]:
    """Return the memories kept in a netlist of ``write_json``."""
    shapes: Counter[MemoryShape] = Counter()
    for cell in module["cells"].values():
        if cell["type"] == "$mem_v2":
            shapes[memory_shape(cell)] += 1
    return shapes


def memory_shape(cell: dict) -> MemoryShape:
    """Return the shape of a memory cell of a netlist."""
    parameters = cell["parameters"]
    depth, width = (int(parameters[name], 2) for name in ("SIZE", "WIDTH"))
    return MemoryShape(depth=depth, width=width, ports=ports_of(cell))


def ports_of(cell: dict) -> str:
    """Return the ports of a memory: as declared in the design, else as found by Yosys."""
    if declared := cell["attributes"].get("sram_ports"):
        return declared
    parameters = cell["parameters"]
    reads, writes = (int(parameters[name], 2) for name in ("RD_PORTS", "WR_PORTS"))
    is_clocked = "0" not in parameters["RD_CLK_ENABLE"][-reads:] if reads else True
    return f"{reads}r{writes}w" + ("" if is_clocked else " async")


def memory_nand2(shape: MemoryShape) -> float:
    """Return the NAND2 equivalents of a memory: as macro or as flip-flops, whichever is less.

    Between the macros of `MACRO_NAND2`, the logarithm of the area is interpolated over the
    logarithm of the bits. A smaller memory costs as much as the smallest macro, a larger one as
    much per bit as the largest. A memory with asynchronous reads is never a macro. With more than
    two ports, each further read port needs another copy.
    """
    if shape.ports.endswith("async"):
        return shape.flip_flop_nand2
    if shape.ports == "1rw":
        return min(interpolated(MACRO_NAND2[1], shape.bits), shape.flip_flop_nand2)
    copies = max(1, int(shape.ports.partition("r")[0]))
    return min(copies * interpolated(MACRO_NAND2[2], shape.bits), shape.flip_flop_nand2)


def interpolated(points: Sequence[tuple[int, float]], bits: int) -> float:
    """Return the area of `bits`, interpolated in `points` of bits and area."""
    least, greatest = points[0], points[-1]
    if bits <= least[0]:
        return least[1]
    if bits >= greatest[0]:
        return greatest[1] * bits / greatest[0]
    for (b0, a0), (b1, a1) in pairwise(points):
        if bits <= b1:
            part = log2(bits / b0) / log2(b1 / b0)
            return a0 * (a1 / a0) ** part
    raise AssertionError("points must rise")
