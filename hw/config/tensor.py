"""Configs of the tensor instructions of a core: numerics and shape of a matrix product."""

from dataclasses import dataclass

from .checks import require_choice
from .formats import FORMATS
from .numerics import NUMERICS, TREES, Offer

__all__ = [
    "READ_BYTES",
    "SWIZZLE_ROW_BYTES",
    "SWIZZLE_UNIT_BYTES",
    "TENSOR_LAYOUTS",
    "TENSOR_NUMERICS",
    "HgmmaConfig",
    "TensorConfig",
    "TensorNumerics",
]

#: Bytes of a read of shared memory by the unit of ``hgmma``, and alignment of A and B.
READ_BYTES = 32
#: Layouts of A and B of ``hgmma`` in shared memory.
TENSOR_LAYOUTS = ("dense", "swizzle128")
#: Distance of rows with ``swizzle128``, and the units that it permutes within such a row.
SWIZZLE_ROW_BYTES, SWIZZLE_UNIT_BYTES = 128, 16
#: Operand formats of tensor instructions; scaled and packed 4-bit and 6-bit formats have none.
FORMAT_NAMES = ("fp16", "bf16", "tf32", "fp32", "fp8_e4m3", "fp8_e5m2")
#: Products per rounding step of the trees, whose numerics do not fix them, by operand format.
TREE_TERMS = {"virgo_hmma": {"fp16": 4}, "fp32_rne": {"fp32": 2}}


def _takes_addend(offer: Offer) -> bool:
    """Return whether the accumulator is a term of each sum, as chains of rounding steps need."""
    return offer.fused is None or not offer.fused.separate_addend


def _offers(numerics: str) -> dict[str, Offer]:
    """Return the offer for each operand format of tensor instructions with these numerics."""
    found: dict[str, Offer] = {}
    for offer in NUMERICS[numerics]:
        for name in offer.formats:
            is_known = name in TREE_TERMS.get(numerics, FORMAT_NAMES) and name in FORMAT_NAMES
            is_plain = offer.scale is None and ("fp32", "fp32") in offer.accumulators
            if is_known and is_plain and _takes_addend(offer):
                found.setdefault(name, offer)
    return found


#: Operand formats of tensor instructions by their numerics.
TENSOR_NUMERICS = {name: tuple(_offers(name)) for name in NUMERICS if _offers(name)}


@dataclass(frozen=True, kw_only=True)
class TensorNumerics:
    """Numerics of tensor instructions, with FP32 accumulators.

    Operands are words of 32 bits with one or several numbers. A rounding step adds the products of
    a few words to the accumulator. The steps of a result follow each other with ascending k.

    Parameters
    ----------
    numerics : str
        A key of `TENSOR_NUMERICS`.
    operand : str
        Format of A and B.

    """

    numerics: str = "virgo_hmma"
    operand: str = "fp16"

    def __post_init__(self):
        require_choice("numerics of tensor instructions", self.numerics, TENSOR_NUMERICS)
        what = f"operand of tensor instructions with {self.numerics}"
        require_choice(what, self.operand, TENSOR_NUMERICS[self.numerics])

    @property
    def operand_width(self) -> int:
        """Bits of a number in an operand word; TF32 occupies the upper bits of a whole word."""
        return 32 if self.operand == "tf32" else FORMATS[self.operand].width

    @property
    def terms(self) -> int:
        """Products of one rounding step."""
        if self.numerics in TREES:
            return TREE_TERMS[self.numerics][self.operand]
        fused = _offers(self.numerics)[self.operand].fused
        assert fused is not None
        return fused.chunk

    @property
    def step_words(self) -> int:
        """Words of A, and of B, of one rounding step: 2, 4 or 8."""
        return self.terms * self.operand_width // 32


@dataclass(frozen=True, kw_only=True)
class TensorConfig(TensorNumerics):
    """Product of matrices by one ``hmma``, whose operands are registers.

    Its result has 8 x 8 numbers in warps of 8 threads, and 16 x 8 in warps of 32. Each row of A
    and column of B has 8 operand words. All configs multiply 16 words of A and of B per cycle.

    Parameters
    ----------
    **numerics
        Fields of `TensorNumerics`.
    threads : int
        Threads of a warp, 8 or 32.

    """

    threads: int = 8

    def __post_init__(self):
        if self.threads not in (8, 32):
            raise ValueError(f"threads must be 8 or 32 with hmma, not {self.threads}")
        super().__post_init__()

    @property
    def depth(self) -> int:
        """Inner dimension of the matrix product."""
        return 8 * 32 // self.operand_width

    @property
    def sets(self) -> int:
        """Rounding steps of one result."""
        return 8 // self.step_words

    @property
    def rows(self) -> int:
        """Rows of A and of the result: 8 or 16."""
        return 8 if self.threads == 8 else 16

    @property
    def registers(self) -> int:
        """Registers of the fragments of A and of the accumulator: 8 or 4."""
        return self.rows * 8 // self.threads

    @property
    def b_registers(self) -> int:
        """Registers of the fragment of B: 8 or 2."""
        return 64 // self.threads

    @property
    def step_registers(self) -> tuple[int, int]:
        """Registers of A and of B with the words of a set; several sets may share them."""
        share = self.threads // 8
        words = max(1, self.step_words // share)
        return self.rows // 8 * words, words

    @property
    def parts(self) -> int:
        """Steps for one register of the accumulator in a set."""
        return self.threads // self.dot_products

    @property
    def steps(self) -> int:
        """Cycles of one instruction: 32 or 64."""
        return self.parts * self.registers * self.sets

    @property
    def dot_products(self) -> int:
        """Dot-product units, each with one rounding step per cycle."""
        return 16 // self.step_words

    @property
    def macs(self) -> int:
        """Multiply-adds per cycle."""
        return self.dot_products * self.terms


@dataclass(frozen=True, kw_only=True)
class HgmmaConfig(TensorNumerics):
    """Product of matrices by one ``hgmma``, whose factors are in shared memory.

    C has 16 x 16 numbers. A row of A and a column of B have 16 operand words, so that A and B have
    1024 bytes each: 16 x 16 x 32 with FP16. All configs multiply 32 words of A and of B per cycle,
    so each product takes 128 cycles.

    Parameters
    ----------
    **numerics
        Fields of `TensorNumerics`.
    layout : str
        ``dense``: the rows of an operand follow each other without a gap. ``swizzle128``: they are
        128 bytes apart, and bits 4 to 6 of each address are XORed with bits 7 to 9, as by the
        128-byte swizzle of ``wgmma`` (PTX ISA, "Shared Memory Matrix Layout"). An operand is then
        a part of rows of 128 bytes, and does not cross a multiple of 128.

    """

    layout: str = "dense"

    def __post_init__(self):
        super().__post_init__()
        require_choice("layout of tensor operands", self.layout, TENSOR_LAYOUTS)
        if self.is_swizzled and self.b_row_bytes < READ_BYTES:
            raise ValueError(
                f"layout swizzle128 needs operands of 16 or 32 bits, as rows of B have at least "
                f"{READ_BYTES} bytes, not {self.operand}"
            )

    @property
    def is_swizzled(self) -> bool:
        """Whether rows are 128 bytes apart."""
        return self.layout == "swizzle128"

    @property
    def b_row_bytes(self) -> int:
        """Bytes of a row of B, whose rows are as many as `depth`: 64, 32 or 16."""
        return self.operand_bytes // self.depth

    def span(self, row_bytes: int) -> int:
        """Bytes of shared memory within which an operand with such rows lies.

        They begin at its address; with ``swizzle128`` at the multiple of 128 below it.
        """
        rows = self.operand_bytes // row_bytes
        return rows * SWIZZLE_ROW_BYTES if self.is_swizzled else self.operand_bytes

    @property
    def side(self) -> int:
        """Rows and columns of C."""
        return 16

    @property
    def row_words(self) -> int:
        """Operand words of a row of A, and of a column of B."""
        return 16

    @property
    def a_row_bytes(self) -> int:
        """Bytes of a row of A."""
        return 4 * self.row_words

    @property
    def operand_bytes(self) -> int:
        """Bytes of A, and of B."""
        return 4 * self.side * self.row_words

    @property
    def depth(self) -> int:
        """Inner dimension of the matrix product."""
        return self.row_words * 32 // self.operand_width

    @property
    def registers(self) -> int:
        """Registers of C in warps of 8 threads."""
        return self.side * self.side // 8

    @property
    def sets(self) -> int:
        """Rounding steps of one result: 2, 4 or 8."""
        return self.row_words // self.step_words

    @property
    def dot_products(self) -> int:
        """Dot-product units, each with one rounding step per cycle: 4, 8 or 16."""
        return 32 // self.step_words

    @property
    def column_groups(self) -> int:
        """Groups of columns of C; the dot products compute a row of a group per cycle."""
        return self.side // self.dot_products

    @property
    def steps(self) -> int:
        """Cycles of one product."""
        return self.sets * self.column_groups * self.side

    @property
    def macs(self) -> int:
        """Multiply-adds per cycle."""
        return self.dot_products * self.terms
