"""Words and control registers of Vortex v2, Vortex v3 and Virgo's machine.

From their decoders (`hw/rtl/core/VX_decode.sv`), kernel headers (`kernel/include/vx_intrinsics.h`)
and tables of registers (`VX_types`): of the fork of v2 with which Virgo was evaluated, of v3 as of
2026, and of Virgo's tensor units.
"""

from dataclasses import dataclass

from .row import word_of

__all__ = ["VORTEX", "VORTEX_CSRS", "VortexWords"]

#: Masks of the fixed bits: opcode and funct3 alone, and those of the usual formats.
_SLOT, _R4, _R, _WORD = 0x0000_707F, 0x0600_707F, 0xFE00_707F, 0xFFFF_FFFF


@dataclass(frozen=True)
class VortexWords:
    """Words that have a meaning in Vortex.

    Parameters
    ----------
    name : str
    machine : str
        ``v2``, ``v3`` or ``virgo``.
    match, mask : int
        Fixed bits, and their mask.
    same : tuple of str
        Instructions of this machine with the same meaning, built or reserved.

    """

    name: str
    machine: str
    match: int
    mask: int
    same: tuple[str, ...] = ()


def _warps() -> list[VortexWords]:
    """Return the instructions of warps that v2 and v3 share."""
    names = ("tmc", "wspawn", "split", "join", "bar", "pred")
    return [
        VortexWords(name, "v2", word_of(0x0B, funct3), _R, (f"vx_{name}",))
        for funct3, name in enumerate(names)
    ]


def _exchanges() -> list[VortexWords]:
    names = ("vote_all", "vote_any", "vote_uni", "vote_ballot")
    names += ("shfl_up", "shfl_down", "shfl_bfly", "shfl_idx")
    return [
        VortexWords(name, "v3", word_of(0x0B, funct3, 1), _R, (f"vx_{name}",))
        for funct3, name in enumerate(names)
    ]


#: All words of Vortex and of Virgo's tensor units in the custom opcodes.
VORTEX: tuple[VortexWords, ...] = (
    *_warps(),
    VortexWords("asynchronous barrier", "v3", word_of(0x0B, 6), _R),
    VortexWords("wsync", "v3", word_of(0x0B, 7), _R, ("vx_wsync",)),
    *_exchanges(),
    VortexWords("wmma", "v3", word_of(0x0B, 0, 2), _R),
    VortexWords("wgmma", "v3", word_of(0x0B, 1, 2), _R),
    VortexWords("dxa issue", "v3", word_of(0x0B, 0, 3), _R),
    VortexWords("dxa retile", "v3", word_of(0x0B, 6, 3), _R),
    VortexWords("packlb.f", "v3", word_of(0x0B, 1, 4), _R),
    VortexWords("packlh.f", "v3", word_of(0x0B, 2, 4), _R),
    VortexWords("cmov", "v2", word_of(0x2B, 1), _R4),
    VortexWords("wgather", "v3", word_of(0x2B, 0), _SLOT),
    VortexWords("tex", "v3", word_of(0x2B, 1), _SLOT),
    VortexWords("om", "v3", word_of(0x2B, 2), _SLOT),
    VortexWords("rast", "v3", word_of(0x2B, 3), _SLOT),
    VortexWords("dtensor_start", "v2", word_of(0x5B, 1), _SLOT),
    VortexWords("dtensor_poll", "v2", word_of(0x5B, 2), _SLOT),
    # Registers of C in field rd, or addresses of A and B in rs1 and rs2.
    VortexWords("tensor product", "virgo", 0x7B, _R, ("hmma", "hgmma")),
    VortexWords("wait for a product", "virgo", word_of(0x7B, 1), _WORD, ("hgmma_wait",)),
    VortexWords("RoCC command", "virgo", word_of(0x7B, 3), _SLOT),
)


def _axes(first: int, name: str) -> dict[int, str]:
    return {first + k: f"{name}_{axis}" for k, axis in enumerate("xyz")}


#: Control registers of Vortex beside those of RISC-V, by number; the name is that of the register
#: of this machine with the same meaning, built or reserved, or empty if there is none.
VORTEX_CSRS: dict[int, str] = {
    **{0x7C0 + k: "" for k in range(0x40)},  # raster unit of v3
    0xACC: "accel_cisc",
    **dict(enumerate(("thread_id", "warp_id", "core_id", "warp_mask", "thread_mask"), start=0xCC0)),
    **dict(enumerate(("block_slot", "block_warp", "block_warps"), start=0xCD0)),
    **_axes(0xCD3, "thread_index"),
    **_axes(0xCD6, "block_index"),
    **_axes(0xCD9, "block_size"),
    **_axes(0xCDC, "grid_size"),
    0xCDF: "block_shared",
    0xCE0: "group_blocks",
    0xCE1: "",  # entry of the kernel
    0xCE2: "",  # fragment of the raster unit
    0xCE3: "",
    **dict(enumerate(("num_threads", "num_warps", "num_cores", "local_mem_base"), start=0xFC0)),
    0xFC4: "",  # number of barriers
}
