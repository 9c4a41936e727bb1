"""Config of tensor units with operands in registers."""

from dataclasses import dataclass
from typing import ClassVar

from ...config.tensor import TensorUnitConfig
from ...isa.operations import TensorOperation

__all__ = ["BUFFERS", "RegisterFedConfig"]

#: Sets of fragments in staging, one for each credit: one in use, one that is gathered meanwhile.
BUFFERS = 2


@dataclass(frozen=True, kw_only=True)
class RegisterFedConfig(TensorUnitConfig):
    """Product of matrices by one ``hmma``, whose operands are registers.

    Its result has 8 x 8 numbers in warps of 8 threads, and 16 x 8 in warps of 32. Each row of A
    and column of B has 8 operand words. All configs multiply 16 words of A and of B per cycle.

    Parameters
    ----------
    **unit
        Fields of `TensorUnitConfig`; `threads` is 8 or 32.

    """

    name: ClassVar[str] = "hmma"
    operations: ClassVar[tuple[TensorOperation, ...]] = (TensorOperation.HMMA,)

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

    @property
    def credits(self) -> int:
        """Buffers of fragments: one in use, one that is gathered meanwhile."""
        return BUFFERS
