"""Memory on the chip in place of DRAM: what it holds at the start, and what it must at the end."""

from dataclasses import dataclass
from typing import Any

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from ..axi import RESPONSE_OKAY, RESPONSE_SLAVE_ERROR, Axi4Signature
from ..config import AxiConfig
from ..config.checks import require_integer

__all__ = ["AxiRam", "AxiRamConfig", "Window"]


@dataclass(frozen=True, kw_only=True)
class Window:
    """Addresses that are there, with what they hold before and after the test.

    Parameters
    ----------
    base : int
        Byte address of the first, a multiple of the bytes.
    before, after : bytes
        Their contents; as many, and a power of two.

    """

    base: int
    before: bytes
    after: bytes

    def __post_init__(self):
        size = len(self.before)
        if size & (size - 1) or not size or len(self.after) != size:
            raise ValueError(
                f"before and after must be of one power of two bytes, not {size} and "
                f"{len(self.after)}"
            )
        if self.base % size:
            raise ValueError(f"base must be a multiple of {size} bytes, not {self.base:#x}")

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.before)


@dataclass(frozen=True, kw_only=True)
class AxiRamConfig:
    """One of the memories behind the AXI masters of a cluster.

    Parameters
    ----------
    axi : AxiConfig
        The masters; bytes are interleaved over them.
    id_width : int
        Bits of an id.
    channel : int
        Of which master it is.
    windows : tuple of Window
        What there is.

    """

    axi: AxiConfig
    id_width: int
    channel: int = 0
    windows: tuple[Window, ...]

    def __post_init__(self):
        require_integer("channel", self.channel, 0, self.axi.masters - 1)
        least = self.axi.masters * self.axi.interleave_bytes
        for window in self.windows:
            if window.size < least:
                raise ValueError(f"windows must have {least} bytes or more, not {window.size}")
        if not self.windows:
            raise ValueError("windows must be one or more, not none")

    @property
    def placed(self) -> list[tuple[int, Window]]:
        """Each window with the number of its first beat in this memory, the largest first."""
        found, first = [], 0
        for window in sorted(self.windows, key=lambda window: -window.size):
            found.append((first, window))
            first += self.beats_of(window)
        return found

    @property
    def depth(self) -> int:
        """Beats in all."""
        return sum(self.beats_of(window) for window in self.windows)

    def beats_of(self, window: Window) -> int:
        """Return how many beats of a window are here."""
        return window.size // self.axi.masters // self.axi.beat_bytes

    def words(self, when: str) -> list[int]:
        """Return all beats as numbers, ``before`` or ``after``."""
        step, beat = self.axi.interleave_bytes, self.axi.beat_bytes
        found = []
        for _, window in self.placed:
            contents = getattr(window, when)
            for start in range(self.channel * step, window.size, self.axi.masters * step):
                piece = contents[start : start + step]
                found += [
                    int.from_bytes(piece[at : at + beat], "little") for at in range(0, step, beat)
                ]
        return found


class AxiRam(wiring.Component):
    """A slave with a memory of its own, and a look at it when all is over.

    Reads and writes go side by side, each a burst at a time and a beat per cycle; the first beat
    of a read comes a cycle after its address. Bursts are incrementing, of whole beats, each
    within `interleave_bytes`. What no window has is refused: reads are 0, writes are dropped, both
    with an error.

    While `verify` is high nothing may be under way; `verified` is high once all beats were
    compared, a beat per cycle, and `differs` from the first on that is not as it must be.

    Parameters
    ----------
    config : AxiRamConfig

    Members
    -------
    axi : In(Axi4Signature)
    verify : In(1)
    verified : Out(1)
    differs : Out(1)
    """

    axi: Any
    verify: Signal
    verified: Signal
    differs: Signal

    def __init__(self, config: AxiRamConfig):
        self.config = config
        signature = Axi4Signature(
            address_width=32, data_width=config.axi.data_width, id_width=config.id_width
        )
        super().__init__({
            "axi": In(signature),
            "verify": In(1),
            "verified": Out(1),
            "differs": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config
        width, depth = config.axi.data_width, config.depth
        m.submodules.memory = memory = Memory(shape=width, depth=depth, init=config.words("before"))
        self.write = memory.write_port(granularity=8)
        self.read = memory.read_port()
        self.answer_reads(m)
        self.take_writes(m)
        self.look(m)
        return m

    def find(self, m: Module, address: Value, name: str) -> tuple[Value, Signal]:
        """Return the number of the beat at an address, and whether there is one."""
        config = self.config
        step, masters = exact_log2(config.axi.interleave_bytes), exact_log2(config.axi.masters)
        own = Cat(address[:step], address[step + masters :])[exact_log2(config.axi.beat_bytes) :]
        place = Signal(ceil_log2(config.depth), name=f"{name}_place")
        there = Signal(name=f"{name}_there")
        for first, window in config.placed:
            size = exact_log2(window.size)
            # The largest come first, so each begins at a multiple of what it has.
            inside = own[: exact_log2(config.beats_of(window))]
            with m.If(address[size:] == window.base >> size):
                m.d.comb += [place.eq(first | inside), there.eq(1)]
        return place, there

    def answer_reads(self, m: Module):
        """Serve one burst after the other."""
        axi, read = self.axi, self.read
        left, place = Signal(9), Signal(len(read.addr))
        there = Signal()
        moves = ~axi.rvalid | axi.rready
        begin, begin_there = self.find(m, axi.araddr, "read")
        m.d.comb += [
            axi.arready.eq((left == 0) & ~axi.rvalid & ~self.verify),
            axi.rdata.eq(Mux(there, read.data, 0)),
            axi.rresp.eq(Mux(there, RESPONSE_OKAY, RESPONSE_SLAVE_ERROR)),
            read.addr.eq(place),
            read.en.eq(moves & (left != 0)),
        ]
        with m.If(axi.arvalid & axi.arready):
            m.d.sync += [
                left.eq(axi.arlen + 1),
                place.eq(begin),
                there.eq(begin_there),
                axi.rid.eq(axi.arid),
            ]
        with m.Elif(moves):
            m.d.sync += [axi.rvalid.eq(left != 0), axi.rlast.eq(left == 1)]
            with m.If(left != 0):
                m.d.sync += [left.eq(left - 1), place.eq(place + 1)]

    def take_writes(self, m: Module):
        """Take one burst after the other, and reply."""
        axi, write = self.axi, self.write
        place, there, open_ = Signal(len(write.addr)), Signal(), Signal()
        begin, begin_there = self.find(m, axi.awaddr, "write")
        m.d.comb += [
            axi.awready.eq(~open_ & ~axi.bvalid),
            axi.wready.eq(open_),
            axi.bresp.eq(Mux(there, RESPONSE_OKAY, RESPONSE_SLAVE_ERROR)),
            write.addr.eq(place),
            write.data.eq(axi.wdata),
            write.en.eq(Mux(open_ & axi.wvalid & there, axi.wstrb, 0)),
        ]
        with m.If(axi.awvalid & axi.awready):
            m.d.sync += [
                open_.eq(1),
                place.eq(begin),
                there.eq(begin_there),
                axi.bid.eq(axi.awid),
            ]
        with m.If(open_ & axi.wvalid):
            m.d.sync += place.eq(place + 1)
            with m.If(axi.wlast):
                m.d.sync += [open_.eq(0), axi.bvalid.eq(1)]
        with m.If(axi.bvalid & axi.bready):
            m.d.sync += axi.bvalid.eq(0)

    def look(self, m: Module):
        """Compare all with what it must be, once asked to."""
        config, read = self.config, self.read
        m.submodules.expected = expected = Memory(
            shape=config.axi.data_width, depth=config.depth, init=config.words("after")
        )
        wanted = expected.read_port()
        place, compares = Signal(range(config.depth + 1)), Signal()
        more = self.verify & (place != config.depth)
        m.d.comb += [wanted.addr.eq(place), wanted.en.eq(more)]
        with m.If(self.verify):
            m.d.comb += [read.addr.eq(place), read.en.eq(more)]
        with m.If(more):
            m.d.sync += place.eq(place + 1)
        m.d.sync += compares.eq(more)
        with m.If(compares & (read.data != wanted.data)):
            m.d.sync += self.differs.eq(1)
        m.d.comb += self.verified.eq((place == config.depth) & ~compares)
