"""Reserved encodings of tensor memory: allocation, accesses, copies, products, order."""

from ..operations import Unit
from .row import DESCRIPTOR, Reserved, word4, word_of

__all__ = ["ACCESSES", "CONTROL_FIELDS", "COPIES", "MANAGEMENT", "PRODUCTS"]

#: Fields of the control word of a product: bits and meaning.
CONTROL_FIELDS = {
    "0": "D is added",
    "4:1": "D is multiplied by 2 to the power of minus this before (formats FP16, BF16, TF32)",
    "7:5": "kind: 0 `f16`, 1 `tf32`, 2 `f8f6f4`, 3 `i8`, 4 `mxf8f6f4`, 5 `mxf4`, 6 `mxf4nvf4`",
    "8": "two blocks of a cluster compute together",
    "10:9": "use of the buffer of A (of B for `ws`): 0 discard, 1 last use, 2 fill, 3 use",
    "12:11": "buffer of B for `ws`",
    "13": "rows of A are shifted by one; A in tensor memory",
    "14": "`tensor_lane_mask0` to `tensor_lane_mask7` disable lanes of D",
    "15": "block scales of 16 elements instead of 32",
}


def _management() -> tuple[Reserved, ...]:
    """Return allocation and order."""
    rows = {
        "tcgen05.alloc": ("rs1, rs2", "allocates rs2 columns and stores their address at rs1 of "
                          "shared memory, after a wait for free columns"),
        "tcgen05.dealloc": ("rs1, rs2", "frees rs2 columns at address rs1 of tensor memory"),
        "tcgen05.relinquish_alloc_permit": ("", "the block will not allocate again"),
        "tcgen05.commit": ("rs1", "1 arrival at barrier rs1 when all operations of the thread so "
                           "far are done"),
        "tcgen05.commit.multicast": ("rs1, rs2", "the same in the blocks of mask rs2"),
        "tcgen05.wait.ld": ("", "waits for the loads of the warp from tensor memory"),
        "tcgen05.wait.st": ("", "waits for the stores of the warp to tensor memory"),
        "tcgen05.fence.before_thread_sync": ("", "orders operations before a synchronisation"),
        "tcgen05.fence.after_thread_sync": ("", "orders operations after a synchronisation"),
        "tcgen05.shift.down": ("rs1", "moves rows of 32 bytes at rs1 down by one lane"),
    }  # fmt: skip
    return tuple(
        Reserved(name, Unit.TENSOR, word_of(0x7B, 1, 0x20 + k), syntax, meaning=meaning)
        for k, (name, (syntax, meaning)) in enumerate(rows.items())
    )


MANAGEMENT = _management()


def _copies() -> tuple[Reserved, ...]:
    """Return the copies from shared to tensor memory, with and without unpacking of elements."""
    shapes = ("128x256b", "4x256b", "128x128b", "64x128b.02_13", "64x128b.01_23", "32x128b.warpx4")
    packings = {
        "": "",
        ".b4x16_p64": ", 4-bit elements into bytes",
        ".b6x16_p32": ", 6-bit elements into bytes",
    }
    return tuple(
        Reserved(
            f"tcgen05.cp.{shape}{packing}",
            Unit.TENSOR,
            word_of(0x7B, 1, 0x30 + 8 * block + k),
            "rs1, rs2",
            meaning=f"copies the matrix of descriptor rs2 to rs1 in tensor memory{text}",
            contents={"rs2": DESCRIPTOR},
        )
        for block, (packing, text) in enumerate(packings.items())
        for k, shape in enumerate(shapes)
    )


COPIES = _copies()


def _accesses() -> tuple[Reserved, ...]:
    """Return the loads and stores of the registers of a warp."""
    shapes = ("32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2")
    rows = []
    for block, (load, store) in enumerate([
        ("", ""),
        ("packs two columns of 16 bits", "unpacks two columns of 16 bits"),
    ]):
        for k, shape in enumerate(shapes):
            funct7 = 0x50 + 8 * block + k
            loads, stores = (f"; {text}" if text else "" for text in (load, store))
            rows += [
                Reserved(
                    f"tcgen05.ld.{shape}{'.pack' if block else ''}",
                    Unit.TENSOR,
                    word_of(0x7B, 1, funct7),
                    "fd, (rs1), n",
                    meaning=f"loads 2 to the power of n times this shape, from fd on{loads}",
                ),
                Reserved(
                    f"tcgen05.st.{shape}{'.unpack' if block else ''}",
                    Unit.TENSOR,
                    word_of(0x7B, 1, funct7 + 0x10),
                    "fs2, (rs1), count",
                    meaning=f"stores 2 to the power of count times this shape, from fs2 on{stores}",
                ),
            ]
    return tuple(rows)


ACCESSES = _accesses()


def _products() -> tuple[Reserved, ...]:
    """Return the products with D in tensor memory, and A there or in shared memory.

    Field rd is the kind, bit 25 is set if A is in tensor memory.
    """
    first = ("address of D", "instruction descriptor", "control word")
    dense, sparse = (*first, "unused"), (*first, "address of the metadata")
    scales = ("address of the scales of A", "address of the scales of B", "unused", "unused")
    mask = ("unused", "unused", "zero-column mask, bits 31:0", "zero-column mask, bits 63:32")
    lanes = tuple(f"tensor_lane_mask{k}" for k in range(8))
    # Name, registers of rs3, lane masks, text.
    kinds = (
        ("", dense, lanes, ""),
        (".sp", sparse, lanes, ", A sparse"),
        (".block_scale", (*dense, *scales), (), ", with block scales"),
        (".sp.block_scale", (*sparse, *scales), (), ", A sparse, with block scales"),
        (".ws", (*dense, *mask), (), ", weight stationary"),
        (".ws.sp", (*sparse, *mask), (), ", weight stationary, A sparse"),
    )
    rows = []
    for k, (kind, contents, masks, text) in enumerate(kinds):
        for funct2, source in enumerate(("ss", "ts")):
            a = "at address rs1 of tensor memory" if funct2 else "descriptor rs1"
            operands = {"rs2": DESCRIPTOR, "rs3": contents}
            rows.append(
                Reserved(
                    f"tcgen05.mma{kind}.{source}",
                    Unit.TENSOR,
                    word4(0x7B, 7, funct2, rd=k),
                    "rs1, rs2, rs3",
                    meaning=f"starts D := A B or A B + D{text}: A {a}, B descriptor rs2",
                    contents=operands if funct2 else {"rs1": DESCRIPTOR, **operands},
                    control_registers=masks,
                )
            )
    return tuple(rows)


PRODUCTS = _products()
