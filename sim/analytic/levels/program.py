"""Bytes of programs between caches and DRAM that no size of a product or of attention gives.

They are instructions, arguments, stacks and lines that the L2 prefetches in vain, and were measured
on the runs of ``bench/analytic.py``, ``analytic_kernels.py`` and ``analytic_attention.py``, on the
presets and with the default timing of DRAM. Another compiler takes other bytes.
"""

from dataclasses import dataclass

__all__ = ["ADDED", "ATTENTION", "FINISHED", "PAIR", "PRODUCT", "ProgramBytes"]


@dataclass(frozen=True, kw_only=True)
class ProgramBytes:
    """Bytes of a program besides those of its operands and results.

    Parameters
    ----------
    read, written : int
        Bytes read from DRAM, and written to it.
    filled : int or None
        Bytes of lines that data caches get; None where they also hold operands or results in parts
        that the model does not follow.
    per_tile, per_block : int
        More bytes written for each tile of queries of a warp, and for each block of keys of it;
        fewer if the L2 gets O of a block again before it wrote it.

    """

    read: int
    written: int
    filled: int | None = None
    per_tile: int = 0
    per_block: int = 0


#: Of ``gemm``, by preset. The lines that the L2 prefetches depend on time: `virgo` reads 213 lines
#: with 64, 128, 256 and 200 x 90 x 70, `virgo_fp32` 210; `ampere`, `ampere_fp32` and `volta` 304,
#: 291 to 293 and 338 to 340 with three sizes up to 133 x 70 x 51.
PRODUCT = {
    "virgo": ProgramBytes(read=64 * 213, written=320, filled=384),
    "hopper": ProgramBytes(read=64 * 252, written=896),
    "ampere": ProgramBytes(read=64 * 304, written=1344),
    "ampere_fp32": ProgramBytes(read=64 * 292, written=704),
    "volta": ProgramBytes(read=64 * 339, written=1280),
}
#: Of kernels whose cores finish C on `virgo`, by kernel, besides lines prefetched in vain.
ADDED = "gemm_add"
FINISHED = {
    "gemm_bias": ProgramBytes(read=64 * 257, written=672, filled=832),
    "gemm_bias_relu": ProgramBytes(read=64 * 259, written=672, filled=832),
    ADDED: ProgramBytes(read=64 * 256, written=672, filled=832),
    "gemm_bias_gelu": ProgramBytes(read=64 * 261, written=672, filled=832),
}
#: Of ``gemm_pair`` on `virgo_hetero`.
PAIR = ProgramBytes(read=64 * 294, written=352, filled=576)
#: Of ``attention``, by preset and head dimension.
ATTENTION = {
    ("virgo", 64): ProgramBytes(read=64 * 393, written=640),
    ("virgo", 128): ProgramBytes(read=64 * 303, written=640),
    ("virgo_fp32", 64): ProgramBytes(read=64 * 293, written=640),
    ("virgo_fp32", 128): ProgramBytes(read=64 * 264, written=640),
    ("hopper", 64): ProgramBytes(read=64 * 571, written=0, per_tile=655, per_block=-85),
    ("hopper", 128): ProgramBytes(read=64 * 384, written=0, per_tile=691, per_block=-64),
    ("ampere", 64): ProgramBytes(read=35_300, written=3007, per_tile=110, per_block=187),
    ("ampere", 128): ProgramBytes(read=27_400, written=2505, per_tile=110, per_block=184),
    ("ampere_fp32", 64): ProgramBytes(read=25_400, written=1784, per_tile=120, per_block=187),
    ("ampere_fp32", 128): ProgramBytes(read=25_900, written=2391, per_tile=85, per_block=178),
}
ATTENTION |= {("volta", depth): ATTENTION["ampere", depth] for depth in (64, 128)}
