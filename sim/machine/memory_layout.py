"""Memory layout of a running program, and descriptions of addresses."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ...base.errors import UserError
from ...hw.config import MachineConfig
from ...hw.isa.memory_map import (
    ARGUMENTS,
    CONSOLE_BASE,
    DMA_BASE,
    DRAM_BASE,
    DRAM_END,
    SHARED_BASE,
    STACK_BYTES,
    STACK_TOP,
    WINDOW_BYTES,
    cluster_window,
)
from ...hw.machine.register_blocks import register_blocks
from ...kernels.demangle import demangled
from .stacks import Stacks

__all__ = [
    "ARGUMENTS_BYTES",
    "BUFFERS_BASE",
    "PAGE",
    "PROGRAM",
    "MemoryLayout",
    "Region",
    "amount",
    "place_buffers",
]

PROGRAM = "the program"
#: Address of the first buffer.
BUFFERS_BASE = 0x9000_0000
PAGE = 4096
#: Bytes at `ARGUMENTS` that a program may read.
ARGUMENTS_BYTES = PAGE
#: An address below this is described as a null pointer plus an offset.
NULL_BYTES = 0x1_0000
#: Maximum distance at which an address is described relative to a region.
NEAR_BYTES = 0x10_0000


@dataclass(frozen=True)
class Region:
    """Named range of memory, such as ``buffer x``."""

    name: str
    address: int
    nbytes: int

    @property
    def end(self) -> int:
        """First address after the region."""
        return self.address + self.nbytes

    def __contains__(self, address: int) -> bool:
        return self.address <= address < self.end


def region_of(stacks: Stacks) -> Region:
    """Return the region of all threads' stacks, which are contiguous."""
    return Region("the stacks", STACK_TOP - stacks.total, stacks.total)


def place_buffers(
    sizes: Mapping[str, int], config: MachineConfig, stack_bytes: int = STACK_BYTES
) -> dict[str, Region]:
    """Return regions for buffers of these sizes: page-aligned, each followed by an unused page."""
    address, placed = BUFFERS_BASE, {}
    limit = region_of(Stacks(config, stack_bytes)).address - PAGE
    for name, nbytes in sizes.items():
        if address < ARGUMENTS + ARGUMENTS_BYTES and address + nbytes > ARGUMENTS - PAGE:
            address = ARGUMENTS + ARGUMENTS_BYTES + PAGE
        if address + nbytes > limit:
            room, total = limit - BUFFERS_BASE, sum(sizes.values())
            raise UserError(
                f"buffers must have at most {room >> 20:,} MiB together, not {total >> 20:,} MiB "
                f"({name} has {nbytes:,} bytes): choose a smaller size"
            )
        placed[name] = Region(f"buffer {name}", address, nbytes)
        address = -(-(address + nbytes) // PAGE) * PAGE + PAGE
    return placed


class MemoryLayout:
    """Memory regions that a program may access.

    Parameters
    ----------
    config : MachineConfig
    regions : iterable of Region
        Regions of the program and its buffers.
    symbols : mapping of str to int
        Addresses of the program's variables and functions.
    stack_bytes : int
        Bytes of each thread's stack.
    has_stacks : bool
        Whether the program's start-up code gives each thread such a stack below `STACK_TOP`.
    arguments_bytes : int
        Bytes of the program's arguments: more are not placed.

    """

    def __init__(
        self,
        config: MachineConfig,
        regions: Iterable[Region],
        symbols: Mapping[str, int] | None = None,
        *,
        stack_bytes: int = STACK_BYTES,
        has_stacks: bool = True,
        arguments_bytes: int = ARGUMENTS_BYTES,
    ):
        self.config = config
        self.stacks_of = Stacks(config, stack_bytes)
        self.has_stacks = has_stacks
        self.symbols = symbols or {}
        self.stacks = region_of(self.stacks_of)
        self.arguments = Region("the arguments", ARGUMENTS, arguments_bytes)
        placed = [self.arguments] if arguments_bytes else []
        #: Allowed regions of DRAM; shared memory is allowed as a whole.
        self.dram = [*regions, *placed, self.stacks]
        self.shared = Region("shared memory", SHARED_BASE, config.shared.size)
        self.window = Region("the register window", self.shared.end, WINDOW_BYTES)
        windows = range(config.clusters if config.clusters > 1 else 0)
        self.windows = [
            Region(f"shared memory of cluster {c}", cluster_window(c), config.shared.size)
            for c in windows
        ]

    def describe(self, address: int) -> str:
        """Return the region of an address, or the nearest one, as text."""
        if address < NULL_BYTES:
            return "a null pointer" if address == 0 else f"a null pointer plus {amount(address)}"
        if address in self.stacks:
            return self.describe_stack(address)
        if self.arguments.end <= address < ARGUMENTS + ARGUMENTS_BYTES:
            word, words = (address - ARGUMENTS) // 4, self.arguments.nbytes // 4
            given = "1 word" if words == 1 else f"{words:,} words"
            return f"argument {word:,}, counted from 0, but the program has {given} of arguments"
        known = [*self.dram, self.shared, self.window, *self.windows]
        for region in known:
            if region is self.window and address in region:
                return self.describe_register(address - region.address)
            if address in region:
                return f"byte {address - region.address:,} of {region.name}{self.symbol(address)}"
        before = max((r for r in known if r.end <= address), key=lambda r: r.end, default=None)
        behind = min(
            (r for r in known if r.address > address), key=lambda r: r.address, default=None
        )
        # An index that runs off an end is more often too large than negative.
        if before is not None and address - before.end < NEAR_BYTES:
            beyond = address - before.end
            how_far = f"{amount(beyond)} beyond the end of" if beyond else "just beyond"
            return f"{how_far} {describe_region(before)}"
        if behind is not None and behind.address - address < NEAR_BYTES:
            return f"{amount(behind.address - address)} before {describe_region(behind)}"
        if not DRAM_BASE <= address < DRAM_END and address < CONSOLE_BASE:
            return "an unmapped address"
        return "far from all placed regions"

    def symbol(self, address: int) -> str:
        """Return the offset of a program address from its variable or function as text."""
        named = [name for name in self.symbols if self.symbols[name] <= address]
        if not named or not any(address in r for r in self.dram if r.name == PROGRAM):
            return ""
        # At the same address, a variable rather than a name of the linker script.
        name = max(named, key=lambda name: (self.symbols[name], not name.startswith("__")))
        return f", {amount(address - self.symbols[name])} from the start of {demangled(name)}"

    def describe_register(self, offset: int) -> str:
        """Return the register at an offset of the register window as text."""
        for block, base, registers in register_blocks(self.config):
            for name, register in registers.items():
                if base >= DMA_BASE and base + register.offset == offset:
                    return f"register {block}.{name}"
        return f"byte {offset:,} of {self.window.name}"

    def describe_stack(self, address: int) -> str:
        """Return the stack that contains an address as text."""
        core, warp, lane = self.stacks_of.owner(address)
        above = self.stacks_of.bytes_per_thread - (self.stacks_of.top(core, warp, lane) - address)
        return (
            f"in the stack of core {core}, warp {warp}, lane {lane}, "
            f"{amount(above)} above its lower end"
        )


def amount(nbytes: int) -> str:
    """Return a number of bytes as text."""
    return f"{nbytes:,} byte{'s' if nbytes != 1 else ''}"


def describe_region(region: Region) -> str:
    """Return name, size and address of a region as text."""
    return f"{region.name}, {amount(region.nbytes)} at {region.address:#010x}"
