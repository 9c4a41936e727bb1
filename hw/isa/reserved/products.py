"""Reserved encodings of matrix products with operands in registers and shared memory."""

from ..operations import Unit
from .row import DESCRIPTOR, Reserved, word4, word_of

__all__ = ["ACCUMULATOR_PRODUCTS", "DPAS", "REGISTER_PRODUCTS", "WARPGROUP_PRODUCTS"]

#: Formats, signs and transpositions of the operands.
_FORMATS = ("mma_descriptor",)

#: Products of one warp, as `hmma`: rd selects the accumulators.
REGISTER_PRODUCTS = (
    Reserved(
        "hmma.sp",
        Unit.TENSOR,
        word_of(0x7B, 0, 0x40),
        "rd, rs1, n",
        meaning="`hmma` with A sparse, 2 of 4, and twice the depth: rs1 has the metadata, in the "
        "threads of each quad that n selects",
        control_registers=_FORMATS,
    ),
    Reserved(
        "hmma.mx",
        Unit.TENSOR,
        word4(0x7B, 0, 1),
        "rd, rs1, rs2, select",
        meaning="`hmma` with block scales of A in rs1 and of B in rs2: bits 1:0 of select are the "
        "byte of A, 3:2 that of B, bit 4 the other threads of the quad",
        control_registers=_FORMATS,
    ),
    Reserved(
        "hmma.sp.mx",
        Unit.TENSOR,
        word4(0x7B, 0, 2),
        "rd, rs1, rs2, select",
        meaning="`hmma.mx` with A sparse and twice the depth",
        contents={"rs1": ("block scales of A", "metadata")},
        control_registers=_FORMATS,
    ),
)


def _warpgroup_products() -> tuple[Reserved, ...]:
    """Return the products of four warps, M = 64, with B and perhaps A in shared memory.

    Bit 25 of the word is set if A is in registers, bit 26 if nothing is added.
    """
    sparse = (*DESCRIPTOR, "metadata", "selector of the metadata")
    rows = [
        Reserved(
            "wgmma.fence",
            Unit.TENSOR,
            word_of(0x7B, 1, 0x08),
            "",
            meaning="orders accesses of the warp to registers before the products that follow",
        ),
        Reserved(
            "wgmma.commit_group",
            Unit.TENSOR,
            word_of(0x7B, 1, 0x09),
            "",
            meaning="the products of the warp since the last one are a group",
        ),
        Reserved(
            "wgmma.wait_group",
            Unit.TENSOR,
            word_of(0x7B, 1, 0x0A),
            "n",
            meaning="waits until at most n groups of products are unfinished",
        ),
    ]
    for funct3, sparsity in ((2, ""), (4, ".sp")):
        for is_zero in (False, True):
            for is_register in (False, True):
                source = "rs" if is_register else "ss"
                zero = ".zero" if is_zero else ""
                b = {"rs2": sparse if sparsity else DESCRIPTOR}
                a = "fs1" if is_register else "descriptor rs1"
                kind = ", A sparse, 2 of 4" if sparsity else ""
                value = "A B" if is_zero else "A B + D"
                rows.append(
                    Reserved(
                        f"wgmma.mma_async{sparsity}.{source}{zero}",
                        Unit.TENSOR,
                        word4(0x7B, funct3, is_zero << 1 | is_register),
                        f"fd, {'fs1' if is_register else 'rs1'}, rs2, columns",
                        meaning=f"starts D := {value}, 64 x `columns`{kind}: D "
                        f"fd, A {a}, B descriptor rs2; `columns` 0 is 256",
                        sizes={"rs1": 4} if is_register else {},
                        contents=b if is_register else {"rs1": DESCRIPTOR, **b},
                        control_registers=_FORMATS,
                    )
                )
    return tuple(rows)


WARPGROUP_PRODUCTS = _warpgroup_products()


def _accumulator_products() -> tuple[Reserved, ...]:
    """Return the products with C and D in accumulators, as in CDNA: 256 of each thread."""
    control_registers = (*_FORMATS, "mma_broadcast")
    pair = {"rs1": 2, "rs2": 2}
    shapes = {
        "32x32": "32 x 32 numbers",
        "16x16": "16 x 16 numbers",
        "4x4": "16 blocks of 4 x 4 numbers",
        "32x32.x2": "2 blocks of 32 x 32 numbers",
    }
    rows = []
    for k, (shape, text) in enumerate(shapes.items()):
        rows += [
            Reserved(
                f"mfma.{shape}",
                Unit.TENSOR,
                word4(0x7B, 5, k),
                "acc_d, fs1, fs2, acc_c",
                meaning=f"D := A B + C of {text}: A fs1, B fs2, C and D from acc_c and acc_d on",
                sizes=pair,
                control_registers=control_registers,
            ),
            Reserved(
                f"mfma.{shape}.zero",
                Unit.TENSOR,
                word4(0x7B, 6, 0, rs3=k),
                "acc_d, fs1, fs2",
                meaning=f"D := A B of {text}",
                sizes=pair,
                control_registers=control_registers,
            ),
        ]
    for funct2, shape in ((1, "32x32"), (2, "16x16")):
        rows.append(
            Reserved(
                f"smfmac.{shape}",
                Unit.TENSOR,
                word4(0x7B, 6, funct2),
                "acc_d, fs1, fs2, rs3",
                meaning=f"D := A B + D of {shapes[shape]}, A sparse, 2 of 4, with metadata rs3 and "
                "twice the depth",
                sizes={"rs1": 2, "rs2": 4},
                control_registers=control_registers,
            )
        )
    return (*rows, *_accumulator_moves())


def _accumulator_moves() -> tuple[Reserved, ...]:
    """Return the moves between registers and accumulators, and the scales of products."""
    return (
        Reserved(
            "acc.read",
            Unit.TENSOR,
            word_of(0x7B, 1, 0x10),
            "fd, acc_read",
            meaning="fd := accumulator acc_read",
        ),
        Reserved(
            "acc.write",
            Unit.TENSOR,
            word_of(0x7B, 1, 0x11),
            "acc_write, fs1",
            meaning="accumulator acc_write := fs1",
        ),
        Reserved(
            "mfma.scale",
            Unit.TENSOR,
            word_of(0x7B, 1, 0x12),
            "rs1, rs2",
            meaning="the next product of the warp has block scales of A in rs1 and of B in rs2",
        ),
    )


ACCUMULATOR_PRODUCTS = _accumulator_products()


def _dpas() -> tuple[Reserved, ...]:
    """Return the products of depth 8 with 1 to 8 rows, as in Xe: a column in each thread."""
    rows = []
    for log in range(4):
        count = 1 << log
        text = f"of {count} rows: A fs1, B fs2, D fd"
        sizes = {"rd": count, "rs1": count, "rs2": 8, "rs3": count}
        rows += [
            Reserved(
                f"dpas.8x{count}",
                Unit.TENSOR,
                word4(0x2B, 6, log),
                "fd, fs1, fs2, fs3",
                meaning=f"D := A B + C {text}, C fs3",
                sizes=sizes,
                control_registers=_FORMATS,
            ),
            Reserved(
                f"dpas.8x{count}.zero",
                Unit.TENSOR,
                word4(0x2B, 7, log),
                "fd, fs1, fs2",
                meaning=f"D := A B {text}",
                sizes={name: size for name, size in sizes.items() if name != "rs3"},
                control_registers=_FORMATS,
            ),
        ]
    return tuple(rows)


DPAS = _dpas()
