"""Reserved encodings of warps, fences, and atomic float operations."""

from ..operations import Unit
from .row import Reserved, word_of

__all__ = ["ATOMICS", "FENCES", "PATHS"]

#: Divergent paths of a warp. The word of `vx_wsync` is that of Vortex v3.
PATHS = (
    Reserved(
        "vx_wsync",
        Unit.WARP,
        word_of(0x0B, 7),
        "",
        meaning="the paths of the warp wait for each other here and continue as one",
    ),
    Reserved(
        "path.call",
        Unit.WARP,
        word_of(0x0B, 0, 0x48),
        "",
        meaning="adds 1 to the call depth of the path; a path of greater depth issues first",
        control_registers=("path_depth",),
    ),
    Reserved(
        "path.return",
        Unit.WARP,
        word_of(0x0B, 1, 0x48),
        "",
        meaning="subtracts 1 from the call depth of the path",
        control_registers=("path_depth",),
    ),
    Reserved(
        "elect",
        Unit.WARP,
        word_of(0x0B, 2, 0x48),
        "rd",
        meaning="rd := 1 in the first active thread, 0 in the others",
    ),
)


def _fences() -> tuple[Reserved, ...]:
    """Return fences, and the operations of clusters of blocks."""
    rows = {
        "fence.proxy.async": (
            "",
            "orders accesses to shared memory before bulk copies and tensors",
        ),
        "fence.mbarrier_init": ("", "makes `mbarrier.init` visible to the cluster of blocks"),
        "barrier.cluster.arrive": ("", "the warp arrives at the barrier of its cluster of blocks"),
        "barrier.cluster.wait": ("", "waits until all warps of the cluster of blocks have arrived"),
        "mapa": (
            "rd, rs1, rs2",
            "rd := address, valid in the whole cluster of blocks, of rs1 in shared memory of the "
            "block of rank rs2",
        ),
    }
    return tuple(
        Reserved(name, Unit.SYSTEM, word_of(0x5B, 4, 0x28 + k), syntax, meaning=meaning)
        for k, (name, (syntax, meaning)) in enumerate(rows.items())
    )


FENCES = _fences()


def _atomics() -> tuple[Reserved, ...]:
    """Return atomic operations on floats, with fields, funct5 and order of RISC-V's atomics.

    Words without a result have bit 27 set: there is no float register like x0.
    """
    # funct3 and funct5; the size in funct3 is that of a float load.
    operations = {
        "add.s": (6, 0x00, "sum of m and fs2"),
        "min.s": (6, 0x10, "minimum of m and fs2, as in `fmin.s`"),
        "max.s": (6, 0x14, "maximum of m and fs2, as in `fmax.s`"),
        "add.f16x2": (5, 0x00, "sums of the FP16 halves of m and fs2"),
        "add.bf16x2": (5, 0x02, "sums of the BF16 halves of m and fs2"),
    }
    rows = []
    for name, (funct3, funct5, value) in operations.items():
        words = [word_of(0x5B, funct3, (funct5 | bit) << 2) for bit in (0, 1)]
        place = f"word m at address rs1 := {value}"
        rows += [
            Reserved(
                f"famo{name}",
                Unit.LSU,
                words[0],
                "fd, fs2, (rs1), order",
                meaning=f"{place}; fd := old m",
            ),
            Reserved(
                f"fred{name}",
                Unit.LSU,
                words[1],
                "fs2, (rs1), order",
                meaning=f"{place}; without a result",
            ),
        ]
    return tuple(rows)


ATOMICS = _atomics()
