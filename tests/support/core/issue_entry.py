"""Instructions as the issue stage sees them, in flight and in a cycle, for its benches."""

from dataclasses import dataclass, field, replace
from functools import cache

from spica.hw.config import CoreConfig
from spica.hw.core.layouts import decoded_layout, product_field
from spica.hw.isa.operations import Port
from support.packing import Packing

__all__ = ["Cycle", "Entry", "Flight", "pack_entry"]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A decoded instruction: the fields of `decoded_layout` used by issue."""

    pc: int = 0
    port: Port = Port.INT
    rd: int = 0
    writes: bool = False
    sources: tuple[int, ...] = (0, 0, 0)
    reads: tuple[bool, ...] = (False, False, False)
    stalls_warp: bool = False
    serialises: bool = False
    awaits_products: bool = False
    grouped: tuple[bool, ...] = (False, False, False, False)
    last: int = 0

    def group(self, first: int, field: int) -> set[int]:
        """Return the registers of the destination, field 0, or of a source, fields 1 to 3."""
        return set(range(first, first + 1 + self.last * self.grouped[field]))

    @property
    def read_registers(self) -> set[int]:
        """Registers that the instruction reads."""
        groups = [self.group(first, 1 + k) for k, first in enumerate(self.sources) if self.reads[k]]
        return set().union(*groups)

    @property
    def written_registers(self) -> set[int]:
        """Registers that the instruction writes."""
        return self.group(self.rd, 0) if self.writes else set()

    def micro_operation(self, beat: int) -> "Entry":
        """Return micro-operation `beat` of an instruction with register groups."""
        rd, *sources = (
            number + beat * grouped
            for number, grouped in zip((self.rd, *self.sources), self.grouped, strict=True)
        )
        writes = self.writes and (self.grouped[0] or beat == self.last)
        reads = tuple(
            read and (beat == 0 or grouped)
            for read, grouped in zip(self.reads, self.grouped[1:], strict=True)
        )
        return replace(self, rd=rd, sources=tuple(sources), reads=reads, writes=writes)


@dataclass(kw_only=True)
class Cycle:
    """Inputs of a cycle: `heads[warp]` has up to `issue_width` entries; events are None or tuples.

    `dispatched` and `arriving` have ``(warp, rd)`` for each port, `written` has
    ``(warp, rd, writes)`` for each bus, `ready` a bit for each slot, `released` one for each port
    with credits.
    """

    heads: list[list[Entry]]
    masks: list[int]
    active: set[int]
    at_barrier: set[int]
    started: set[int]
    resume: set[int]
    dispatched: list[tuple[int, int] | None]
    arriving: list[tuple[int, int] | None]
    written: list[tuple[int, int, bool] | None]
    ready: list[bool]
    released: list[bool]


@dataclass(eq=False, kw_only=True)
class Flight:
    """An instruction or micro-operation in flight."""

    number: int
    warp: int
    mask: int
    slot: int
    entry: Entry
    beat: int
    right: list[int | None]  # expected version of each operand
    waits: list[bool] = field(default_factory=list)  # operands expected on a bus
    reads_bank: list[bool] = field(default_factory=list)  # operands to read from the banks
    due: int = 0

    @property
    def responds(self) -> bool:
        """Whether a unit returns a result, or only completion."""
        return self.entry.grouped[0] or self.is_last

    @property
    def is_last(self) -> bool:
        """Whether it is the last micro-operation."""
        return self.beat == self.entry.last

    @property
    def is_load(self) -> bool:
        """Whether its result comes from memory."""
        return self.entry.port == Port.MEMORY


def bits(flags: tuple[bool, ...]) -> int:
    """Return a mask of the flags that are set, the first lowest."""
    return sum(flag << n for n, flag in enumerate(flags))


@cache
def pack_entry(config: CoreConfig, entry: Entry) -> int:
    """Return a decoded instruction; fields that issue ignores derive from its pc."""
    pc = entry.pc
    names = ("pc", "port", "rd", "writes", "sources", "stalls_warp", "serialises", "last")
    passed = {"operation": pc & 31, "immediate": ~pc, "rounding": pc >> 5 & 7}
    flags = {"a_is_pc": pc >> 8 & 1, "b_is_immediate": pc >> 9 & 1}
    masks = {"reads": bits(entry.reads), "grouped": bits(entry.grouped)}
    values = {name: getattr(entry, name) for name in (*names, *product_field(config))}
    return Packing(decoded_layout(config)).pack(values | passed | flags | masks)
