"""Stacks of threads: addresses, owners and stack pointers outside them."""

from ...hw.config import ClusterConfig, CoreConfig
from ...hw.isa.assembly import INTEGER_NAMES
from ...hw.isa.memory_map import STACK_BYTES, STACK_TOP
from ...kernels.program import Program
from ..iss.outcome import WarpState

__all__ = ["core_of", "has_usual_stacks", "owner_of", "stack_top", "stacks_bytes", "strayed_lanes"]

STACK_POINTER = INTEGER_NAMES.index("sp")
#: Start-up code that uses this layout of stacks; programs without it may use another.
START_UP = "spica_prepare_threads"


def core_of(config: ClusterConfig) -> CoreConfig:
    """Return the core of a config that has cores."""
    assert config.core is not None
    return config.core


def stacks_bytes(config: ClusterConfig) -> int:
    """Return the total bytes of all stacks."""
    core = core_of(config)
    return config.cores * STACK_BYTES << (core.warp_width + core.thread_width)


def stack_top(config: ClusterConfig, core: int, warp: int, lane: int) -> int:
    """Return the initial stack pointer of a thread; stacks grow down."""
    widths = core_of(config)
    hart = (core << widths.warp_width | warp) << widths.thread_width | lane
    return STACK_TOP - hart * STACK_BYTES


def owner_of(config: ClusterConfig, address: int) -> tuple[int, int, int]:
    """Return core, warp and lane of the stack that contains an address."""
    widths = core_of(config)
    hart = (STACK_TOP - 1 - address) // STACK_BYTES
    lane = hart & (1 << widths.thread_width) - 1
    warp = hart >> widths.thread_width & (1 << widths.warp_width) - 1
    return hart >> widths.thread_width + widths.warp_width, warp, lane


def has_usual_stacks(program: Program) -> bool:
    """Return whether a program's start-up code gives each thread its stack below `STACK_TOP`."""
    return START_UP in program.symbols


def strayed_lanes(
    program: Program, config: ClusterConfig, core: int, warp: int, state: WarpState
) -> list[list[int]]:
    """Return the active lanes whose stack pointer is below their stack, with the distance."""
    strayed: list[list[int]] = []
    pointers = state.integers[STACK_POINTER].tolist()
    if not has_usual_stacks(program):
        return strayed
    for lane, pointer in enumerate(pointers):
        low = stack_top(config, core, warp, lane) - STACK_BYTES
        # A stack pointer is 0 until start-up code sets it.
        if state.mask >> lane & 1 and 0 < pointer < low:
            strayed.append([lane, low - pointer])
    return strayed
