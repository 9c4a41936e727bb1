"""Config of tensor units with operands in shared memory."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from ....base.errors import UserError
from ...config import PipelineConfig, SharedMemoryConfig, SharedPortConfig, TensorBlockConfig
from ...config.ranges import Choices, Integers
from ...config.tensor import TensorUnitConfig
from ...isa.operations import TensorOperation

__all__ = [
    "LAYOUTS",
    "READ_BYTES",
    "SWIZZLE_ROW_BYTES",
    "SWIZZLE_UNIT_BYTES",
    "SharedFedBlockConfig",
    "SharedFedConfig",
]

#: Bytes of a read of shared memory by the unit of ``hgmma``, and alignment of A and B.
READ_BYTES = 32
#: Layouts of A and B of ``hgmma`` in shared memory.
LAYOUTS = ("dense", "swizzle128")
#: Distance of rows with ``swizzle128``, and the units that it permutes within such a row.
SWIZZLE_ROW_BYTES, SWIZZLE_UNIT_BYTES = 128, 16


@dataclass(frozen=True, kw_only=True)
class SharedFedConfig(TensorUnitConfig):
    """Product of matrices by one ``hgmma``, whose factors are in shared memory.

    C has 16 x 16 numbers. A row of A and a column of B have 16 operand words, so that A and B have
    1024 bytes each: 16 x 16 x 32 with FP16. All configs multiply 32 words of A and of B per cycle,
    so each product takes 128 cycles.

    Parameters
    ----------
    **unit
        Fields of `TensorUnitConfig`; `threads` is 8.
    layout : str
        ``dense``: the rows of an operand follow each other without a gap. ``swizzle128``: they are
        128 bytes apart, and bits 4 to 6 of each address are XORed with bits 7 to 9, as by the
        128-byte swizzle of ``wgmma`` (PTX ISA, "Shared Memory Matrix Layout"). An operand is then
        a part of rows of 128 bytes, and does not cross a multiple of 128.
    queue : int
        Products that the unit holds at a time: queued, computed or written to registers.

    """

    name: ClassVar[str] = "hgmma"
    operations: ClassVar[tuple[TensorOperation, ...]] = (TensorOperation.HGMMA,)
    is_asynchronous: ClassVar[bool] = True

    layout: Annotated[str, Choices(LAYOUTS)] = "dense"
    queue: Annotated[int, Integers(1, 8)] = 4

    def __post_init__(self):
        if self.threads != 8:
            raise ValueError(f"threads must be 8 with hgmma, not {self.threads}")
        super().__post_init__()
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

    @property
    def credits(self) -> int:
        """Products that the unit holds at a time."""
        return self.queue

    @property
    def reads(self) -> dict[str, int]:
        """One port, for A and B."""
        return {"operands": READ_BYTES}

    def require_memory(self, shared: SharedMemoryConfig) -> None:
        """Raise `UserError` unless a line holds a read and shared memory both operands."""
        if shared.line_bytes < READ_BYTES or shared.size < 2 * self.operand_bytes:
            raise UserError(
                f"shared must have lines of {READ_BYTES} bytes or more and a size of "
                f"{2 * self.operand_bytes} bytes or more in RTL with core.tensor={self.name}, not "
                f"{shared.line_bytes} and {shared.size}"
            )


@dataclass(frozen=True, kw_only=True)
class SharedFedBlockConfig:
    """A tensor unit with the core that it belongs to and the shared memory that it reads.

    Parameters
    ----------
    core : PipelineConfig
    shared : SharedPortConfig

    """

    core: PipelineConfig
    shared: SharedPortConfig

    @classmethod
    def of(cls, block: TensorBlockConfig) -> "SharedFedBlockConfig":
        """Return the config of the tensor unit of a core."""
        if block.shared is None:
            raise ValueError("shared must describe shared memory with hgmma, not be none")
        return cls(core=block.core, shared=block.shared)

    @property
    def tensor(self) -> SharedFedConfig:
        """Numerics and shape of a product, and the queue."""
        return SharedFedConfig.of(self.core.tensor)
