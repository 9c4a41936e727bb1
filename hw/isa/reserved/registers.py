"""Control registers reserved for blocks, paths, and operands that seldom change."""

from ..csr import Csr

__all__ = ["RESERVED_CSRS"]


def _axes(name: str, first: int, meaning: str) -> list[Csr]:
    """Return three registers, one for each axis."""
    return [Csr(f"{name}_{axis}", first + k, f"{meaning}, {axis}") for k, axis in enumerate("xyz")]


#: With the numbers and meanings of Vortex v3.
_OF_VORTEX = (
    Csr("block_slot", 0xCD0, "number of the block among those of the core"),
    Csr("block_warp", 0xCD1, "number of the warp within its block"),
    Csr("block_warps", 0xCD2, "warps of the block"),
    *_axes("thread_index", 0xCD3, "index of the thread within its block"),
    *_axes("block_index", 0xCD6, "index of the block within the grid"),
    *_axes("block_size", 0xCD9, "threads of a block"),
    *_axes("grid_size", 0xCDC, "blocks of the grid"),
    Csr("block_shared", 0xCDF, "address of the block's shared memory"),
    Csr("group_blocks", 0xCE0, "blocks of a cluster of blocks"),
)

#: Read-only numbers that neither Vortex nor this machine uses.
_OF_BLOCKS = (
    Csr("block_shared_bytes", 0xCF0, "bytes of the block's shared memory"),
    Csr("dynamic_shared", 0xCF1, "address of its dynamic part"),
    Csr("dynamic_shared_bytes", 0xCF2, "bytes of its dynamic part"),
    Csr("group_rank", 0xCF3, "rank of the block within its cluster of blocks"),
    *_axes("group_block_index", 0xCF4, "index of the block within its cluster of blocks"),
    *_axes("group_size", 0xCF7, "blocks of a cluster of blocks"),
    *_axes("group_index", 0xCFA, "index of the cluster of blocks within the grid"),
)

#: Of each warp, in the numbers that RISC-V leaves to programs without privilege.
_OF_WARPS = (
    Csr("path_depth", 0x800, "call depth of the path", "read-write"),
    Csr("copy_blocks", 0x808, "mask of the blocks that a multicast reaches", "read-write"),
    Csr(
        "mma_descriptor",
        0x810,
        "formats, signs and transpositions of products, in the fields of PTX's instruction "
        "descriptor; 0 stands for those of the core",
        "read-write",
    ),
    Csr("mma_broadcast", 0x811, "CBSZ in 2:0, ABID in 6:3, BLGP in 9:7 of `mfma`", "read-write"),
    *(
        Csr(
            f"tensor_lane_mask{k}",
            0x818 + k,
            f"lanes {32 * (k % 4)} to {32 * (k % 4) + 31} of D that a product leaves unchanged"
            + (", in the second block" if k > 3 else ""),
            "read-write",
        )
        for k in range(8)
    ),
)

#: All reserved registers by name.
RESERVED_CSRS: dict[str, Csr] = {csr.name: csr for csr in (*_OF_VORTEX, *_OF_BLOCKS, *_OF_WARPS)}
