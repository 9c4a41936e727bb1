"""Tile plan of products on tensor units; ``tensor_sizes.h`` gets its sizes as macros."""

from dataclasses import dataclass

from ....base.errors import UserError
from ....hw.config import MachineConfig
from .unit import register_fed_unit

__all__ = ["FRAGMENT_BYTES", "RegisterFedPlan", "register_fed_plan"]

#: Rows of A and columns of B of an instruction, and lanes of a warp.
BLOCK = 8
#: Bytes of the registers of A or B of an instruction.
FRAGMENT_BYTES = 8 * 4 * BLOCK
#: Most instructions along k of a tile.
MOST_STEPS = 4
#: Least slots of shared memory: one is read, the next is there, and one is filled.
LEAST_SLOTS = 3


@dataclass(frozen=True, kw_only=True)
class RegisterFedPlan:
    """Tiles of a product on the tensor units of all cores.

    Parameters
    ----------
    across, down : int
        Warps of a tile side by side, each 16 columns, and one below the other, each 8 rows.
    depth : int
        Elements along k of an instruction.
    steps : int
        Instructions along k of a tile.
    slots : int
        Tiles of operands in shared memory.

    """

    across: int
    down: int
    depth: int
    steps: int
    slots: int

    @property
    def m(self) -> int:
        """Rows of a tile."""
        return BLOCK * self.down

    @property
    def n(self) -> int:
        """Columns of a tile."""
        return 2 * BLOCK * self.across

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of a tile."""
        return self.m, self.n

    @property
    def defines(self) -> tuple[str, ...]:
        """Macros of the program."""
        sizes = {"ACROSS": self.across, "STEPS": self.steps, "SLOTS": self.slots}
        return tuple(f"TENSOR_{name}={value}" for name, value in sizes.items())

    def read_bytes(self, m: int, n: int, k: int) -> int:
        """Return the bytes that a product reads from shared memory as fragments.

        A warp reads a fragment of A and two of B for 8 x 16 elements of C and `depth` of k.
        """
        rows, columns = -(-m // self.m) * self.m, -(-n // self.n) * self.n
        blocks = rows // BLOCK * columns // (2 * BLOCK)
        return blocks * -(-k // self.depth) * 3 * FRAGMENT_BYTES


def register_fed_plan(config: MachineConfig) -> RegisterFedPlan:
    """Return the plan of a machine; raise `UserError` if it has no tensor units or no room."""
    tensor, core, shared = register_fed_unit(config), config.core, config.shared
    assert core is not None
    warps = config.cores * core.warps
    across = next(n for n in (8, 4, 2, 1) if core.warps % n == 0 and (2 * n * n <= warps or n == 1))
    down = warps // across
    panels = -(-down // shared.banks) + -(-2 * across // shared.banks)
    bank_bytes = shared.size // shared.banks
    steps = min(MOST_STEPS, bank_bytes // (LEAST_SLOTS * panels * FRAGMENT_BYTES))
    if not steps:
        raise UserError(
            f"gemm on tensor units needs {LEAST_SLOTS} tiles of {panels} fragments of "
            f"{FRAGMENT_BYTES} bytes in each bank of shared memory, "
            f"{LEAST_SLOTS * panels * FRAGMENT_BYTES} bytes, not {bank_bytes}: choose a larger "
            f"shared.size than {shared.size}, or fewer shared.banks than {shared.banks}"
        )
    slots = bank_bytes // (panels * steps * FRAGMENT_BYTES)
    return RegisterFedPlan(across=across, down=down, depth=tensor.depth, steps=steps, slots=slots)
