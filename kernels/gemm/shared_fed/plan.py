"""Tile plan of products with operands in shared memory; ``hgmma_sizes.h`` gets its sizes."""

from dataclasses import dataclass

from ....base.errors import UserError
from ....hw.config import MachineConfig
from ....hw.styles.shared_fed.config import SharedFedConfig
from .unit import shared_fed_unit

__all__ = ["SharedFedPlan", "shared_fed_plan"]

#: Least slots of shared memory: one is read while the other is filled.
LEAST_SLOTS = 2


@dataclass(frozen=True, kw_only=True)
class SharedFedPlan:
    """Tiles of a product on the tensor units of all cores.

    Parameters
    ----------
    tensor : SharedFedConfig
        Shape of an instruction.
    across, down : int
        Warps of a core side by side and one below the other, each with a block of C.
    cores : int
        Cores, one below the other.
    slots : int
        Steps along k whose operands are in shared memory.

    """

    tensor: SharedFedConfig
    across: int
    down: int
    cores: int
    slots: int

    @property
    def m(self) -> int:
        """Rows of a tile."""
        return self.tensor.side * self.down * self.cores

    @property
    def n(self) -> int:
        """Columns of a tile."""
        return self.tensor.side * self.across

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of a tile."""
        return self.m, self.n

    @property
    def defines(self) -> tuple[str, ...]:
        """Macros of the program."""
        return f"HGMMA_ACROSS={self.across}", f"HGMMA_SLOTS={self.slots}"

    def products(self, m: int, n: int, k: int) -> int:
        """Return the instructions of a product; blocks outside C have none."""
        side, depth = self.tensor.side, self.tensor.depth
        return -(-m // side) * -(-n // side) * -(-k // depth)

    def read_bytes(self, m: int, n: int, k: int) -> int:
        """Return the bytes read from shared memory, two operands per instruction."""
        return 2 * self.tensor.operand_bytes * self.products(m, n, k)


def shared_fed_plan(config: MachineConfig) -> SharedFedPlan:
    """Return the plan of a machine.

    Raises
    ------
    UserError
        If it has no such tensor units, or no DMA, another layout of operands, or too small banks.

    """
    tensor, core, shared = shared_fed_unit(config), config.core, config.shared
    assert core is not None
    if tensor.is_swizzled:
        raise UserError(
            "gemm with hgmma needs core.tensor_layout dense, in which the DMA copies its tiles; it "
            f"must not be {tensor.layout}"
        )
    if config.dma is None:
        raise UserError("gemm with hgmma needs a DMA, which copies its tiles; dma must not be none")
    across = next(n for n in (4, 2, 1) if core.warps % n == 0)
    down = core.warps // across
    blocks = down * -(-config.cores // shared.banks) + -(-across // shared.banks)
    bank_bytes, step_bytes = shared.size // shared.banks, blocks * tensor.operand_bytes
    slots = bank_bytes // step_bytes
    if slots < LEAST_SLOTS:
        raise UserError(
            f"gemm with hgmma needs the operands of {LEAST_SLOTS} steps in each bank of shared "
            f"memory, {LEAST_SLOTS} x {blocks} x {tensor.operand_bytes} = "
            f"{LEAST_SLOTS * step_bytes} bytes, not {bank_bytes}: choose a larger shared.size than "
            f"{shared.size}, or fewer shared.banks than {shared.banks}"
        )
    return SharedFedPlan(tensor=tensor, across=across, down=down, cores=config.cores, slots=slots)
