"""Stacks of threads: addresses, owners and stack pointers outside them."""

from dataclasses import dataclass

from ...base.errors import UserError
from ...hw.config import CoreConfig, MachineConfig
from ...hw.isa.assembly import INTEGER_NAMES
from ...hw.isa.memory_map import ARGUMENTS, STACK_BYTES, STACK_TOP
from ...kernels.program import Program
from ..iss.outcome import WarpState

__all__ = ["Stacks", "core_of", "require_stack_bytes", "stack_bytes_of"]

STACK_POINTER = INTEGER_NAMES.index("sp")
#: Symbol of the runtime's start-up code: bytes of each thread's stack.
SYMBOL = "spica_stack_bytes"
#: Alignment of a stack by the calling convention, and the smallest useful stack.
ALIGNMENT, LEAST = 16, 64
#: Least address of a stack; buffers and arguments lie below.
LOWEST = 0xC000_0000
assert LOWEST > ARGUMENTS


def core_of(config: MachineConfig) -> CoreConfig:
    """Return the core of a config that has cores."""
    assert config.core is not None
    return config.core


@dataclass(frozen=True)
class Stacks:
    """Stacks of all threads of a machine, one below the other.

    Parameters
    ----------
    config : MachineConfig
    bytes_per_thread : int

    """

    config: MachineConfig
    bytes_per_thread: int = STACK_BYTES

    @property
    def hart_width(self) -> int:
        """Bits of a warp's and a thread's number in that of a hart."""
        core = core_of(self.config)
        return core.warp_width + core.thread_width

    @property
    def total(self) -> int:
        """Bytes of all stacks."""
        return self.config.all_cores * self.bytes_per_thread << self.hart_width

    def top(self, core: int, warp: int, lane: int) -> int:
        """Return the initial stack pointer of a thread; stacks grow down."""
        hart = core << self.hart_width | warp << core_of(self.config).thread_width | lane
        return STACK_TOP - hart * self.bytes_per_thread

    def owner(self, address: int) -> tuple[int, int, int]:
        """Return core, warp and lane of the stack that contains an address."""
        widths = core_of(self.config)
        hart = (STACK_TOP - 1 - address) // self.bytes_per_thread
        lane = hart & (1 << widths.thread_width) - 1
        warp = hart >> widths.thread_width & (1 << widths.warp_width) - 1
        return hart >> self.hart_width, warp, lane

    def strayed(self, core: int, warp: int, state: WarpState) -> list[list[int]]:
        """Return the active lanes whose stack pointer is below their stack, with the distance."""
        strays: list[list[int]] = []
        for lane, pointer in enumerate(state.integers[STACK_POINTER].tolist()):
            low = self.top(core, warp, lane) - self.bytes_per_thread
            # A stack pointer is 0 until start-up code sets it.
            if state.mask >> lane & 1 and 0 < pointer < low:
                strays.append([lane, low - pointer])
        return strays


def require_stack_bytes(config: MachineConfig, nbytes: int) -> None:
    """Raise `UserError` unless every thread of a machine can have a stack of this size."""
    one = Stacks(config, 1).total
    most = (STACK_TOP - LOWEST) // one // ALIGNMENT * ALIGNMENT
    if nbytes % ALIGNMENT or not LEAST <= nbytes <= most:
        raise UserError(
            f"stack bytes of a thread must be a multiple of {ALIGNMENT} from {LEAST} to {most:,} "
            f"on this machine, not {nbytes:,}"
        )


def stack_bytes_of(program: Program, given: int | None) -> int | None:
    """Return the bytes of each stack of a program, None if its start-up code is not the runtime's.

    `given` is the size of a program from elsewhere; one of the runtime knows its own.
    """
    own = program.symbols.get(SYMBOL)
    if None not in (own, given) and own != given:
        raise UserError(
            f"{program.path.name} was compiled for stacks of {own:,} bytes, not {given:,}: compile "
            "it again, or leave the option out"
        )
    return given if own is None else own
