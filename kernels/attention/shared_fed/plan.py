"""Sizes of attention on tensor units that read shared memory, and places of its operands there."""

from dataclasses import dataclass

from ....base.errors import UserError
from ....hw.config import MachineConfig
from ...gemm.shared_fed.unit import shared_fed_unit

__all__ = ["GROUP", "TILE", "SharedFedAttentionPlan", "attention_plan", "block_keys"]

#: Queries of a warp, keys of a tile of scores, and columns of a tile of O.
TILE = 16
#: Keys whose powers are added to each other before they are added to the sum.
GROUP = 4
#: Name in messages.
USER = "attention with hgmma"
#: Bytes of an element, and of a row of A.
ELEMENT, A_ROW = 2, 64


@dataclass(frozen=True, kw_only=True)
class SharedFedAttentionPlan:
    """Sizes of a program. All banks of shared memory have the same parts, in this order.

    =================  ===========================================================
    part               contents
    =================  ===========================================================
    2 x `share` bytes  panels of K and V of even blocks, and those of odd blocks
    rest               of each warp of the cores of this bank: Q^T, P, and O if
                       `has_output`
    =================  ===========================================================

    Parameters
    ----------
    keys : int
        Keys of a block, after which O is updated.
    share : int
        Bytes of a block of K and V in each bank.
    warps : int
        Warps of a core that have queries. Another one is the helper that commands loads.
    has_output : bool
        Whether O is in shared memory between blocks, and not in DRAM behind the L1D.

    """

    keys: int
    share: int
    warps: int
    has_output: bool

    @property
    def defines(self) -> tuple[str, ...]:
        """Macros of the program."""
        sizes = {
            "KEYS": self.keys,
            "SHARE_BYTES": self.share,
            "WARPS": self.warps,
            "HAS_OUTPUT": int(self.has_output),
        }
        return tuple(f"ATTENTION_{name}={value}" for name, value in sizes.items())


def block_keys(depth: int) -> int:
    """Return the keys of a block: as many for each depth as make 16 KB of K and V."""
    return 4096 // depth


def attention_plan(config: MachineConfig, depth: int) -> SharedFedAttentionPlan:
    """Return the plan for a head dimension; raise `UserError` if the machine is too small."""
    require_suitable(config)
    assert config.core is not None
    shared, keys = config.shared, block_keys(depth)
    bank = shared.size // shared.banks
    # A panel of K, 32 columns of all keys, is in one bank.
    share = max(2 * keys * depth * ELEMENT // shared.banks, keys * A_ROW)
    cores = -(-config.cores // shared.banks)
    room = max(0, bank - 2 * share) // cores
    operands = (depth + keys) * TILE * ELEMENT
    warps = min(config.core.warps - 1, room // operands, config.barriers - 1)
    if warps < 1:
        need = shared.banks * (2 * share + cores * operands)
        raise UserError(
            f"{USER} needs {need} bytes of shared memory for depth {depth} with {shared.banks} "
            f"banks; shared.size must not be {shared.size}"
        )
    output = 4 * depth * TILE
    return SharedFedAttentionPlan(
        keys=keys,
        share=share,
        warps=warps,
        has_output=warps * (operands + output) <= room,
    )


def require_suitable(config: MachineConfig) -> None:
    """Raise `UserError` unless the machine has what the program relies on."""
    tensor = shared_fed_unit(config, USER)
    assert config.core is not None
    if config.core.warps < 2:
        raise UserError(
            f"{USER} needs a warp that commands loads besides one with queries; core.warps must be "
            f"at least 2, not {config.core.warps}"
        )
    if config.barriers < 2:
        raise UserError(f"{USER} needs 2 barriers or more; barriers must not be {config.barriers}")
    if tensor.is_swizzled:
        raise UserError(
            f"{USER} needs core.tensor_layout dense, in which the DMA copies K and V; it must not "
            f"be {tensor.layout}"
        )
    if tensor.operand_width != 8 * ELEMENT:
        raise UserError(
            f"{USER} needs operands of 16 bits; core.tensor_operand must be fp16 or bf16, not "
            f"{tensor.operand}"
        )
    if config.dma is None:
        raise UserError(f"{USER} needs a DMA, which copies K and V; dma must not be none")
