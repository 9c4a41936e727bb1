"""On-chip replacement of DRAM, with initial contents and a check of the final contents."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib.memory import Memory, ReadPort, WritePort
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from ....hw.config import AxiConfig
from ....hw.config.checks import require_integer
from ....hw.emit.component import Component
from ....hw.lib.axi import RESPONSE_OKAY, RESPONSE_SLAVE_ERROR, Axi4Signature

__all__ = ["AxiRam", "AxiRamConfig", "Window"]


@dataclass(frozen=True, kw_only=True)
class Window:
    """Address range of a memory, with its contents before and after the test.

    Parameters
    ----------
    base : int
        First byte address, a multiple of the size.
    before, after : bytes
        Their contents: equally many bytes, a power of two.

    """

    base: int
    before: bytes
    after: bytes

    def __post_init__(self):
        size = len(self.before)
        if size & (size - 1) or not size or len(self.after) != size:
            raise ValueError(
                f"before and after must have the same power of two of bytes, not {size} and "
                f"{len(self.after)}"
            )
        if self.base % size:
            raise ValueError(f"base must be a multiple of {size} bytes, not {self.base:#x}")

    @property
    def size(self) -> int:
        """Size in bytes."""
        return len(self.before)


@dataclass(frozen=True, kw_only=True)
class AxiRamConfig:
    """The memory behind one of the AXI masters of a cluster.

    Parameters
    ----------
    axi : AxiConfig
        The masters; addresses interleave over them.
    id_width : int
        Bits of an ID.
    channel : int
        Index of its master.
    windows : tuple of Window
        Contents of the memory.

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
            raise ValueError("windows must be at least 1, not 0")

    @property
    def placed(self) -> list[tuple[int, Window]]:
        """Each window with the index of its first beat in this memory, the largest first."""
        places, first = [], 0
        for window in sorted(self.windows, key=lambda window: -window.size):
            places.append((first, window))
            first += self.beats_of(window)
        return places

    @property
    def depth(self) -> int:
        """Total number of beats."""
        return sum(self.beats_of(window) for window in self.windows)

    def beats_of(self, window: Window) -> int:
        """Return how many beats of a window are in this memory."""
        return window.size // self.axi.masters // self.axi.beat_bytes

    def words(self, when: str) -> list[int]:
        """Return the contents ``before`` or ``after`` the test, one integer per beat."""
        step, beat = self.axi.interleave_bytes, self.axi.beat_bytes
        ports = []
        for _, window in self.placed:
            contents = getattr(window, when)
            for start in range(self.channel * step, window.size, self.axi.masters * step):
                piece = contents[start : start + step]
                ports += [
                    int.from_bytes(piece[at : at + beat], "little") for at in range(0, step, beat)
                ]
        return ports


class AxiRam(Component):
    """AXI4 slave with internal memory and a final comparison.

    Reads and writes proceed concurrently, each one burst at a time and one beat per cycle. The
    first beat of a read comes 1 cycle after its address. Bursts are incrementing, of whole beats,
    each within `interleave_bytes`. Addresses outside all windows are refused with an error: reads
    return 0, writes are dropped.

    No access may be in flight while `verify` is high. `verified` rises once all beats are
    compared, at one beat per cycle. `differs` rises at the first mismatch.

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
        write, read = memory.write_port(granularity=8), memory.read_port()
        self.answer_reads(m, read)
        self.take_writes(m, write)
        self.compare(m, read)
        return m

    def find(self, m: Module, address: Value, name: str) -> tuple[Value, Signal]:
        """Return the index of the beat at an address, and whether it exists."""
        config = self.config
        step, masters = exact_log2(config.axi.interleave_bytes), exact_log2(config.axi.masters)
        own = Cat(address[:step], address[step + masters :])[exact_log2(config.axi.beat_bytes) :]
        place = Signal(ceil_log2(config.depth), name=f"{name}_place")
        there = Signal(name=f"{name}_there")
        for first, window in config.placed:
            size = exact_log2(window.size)
            # The largest window comes first, so each begins at a multiple of its size.
            inside = own[: exact_log2(config.beats_of(window))]
            with m.If(address[size:] == window.base >> size):
                m.d.comb += [place.eq(first | inside), there.eq(1)]
        return place, there

    def answer_reads(self, m: Module, read: ReadPort):
        """Serve read bursts, one at a time."""
        axi = self.axi
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

    def take_writes(self, m: Module, write: WritePort):
        """Serve write bursts, one at a time, each with its response."""
        axi = self.axi
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

    def compare(self, m: Module, read: ReadPort):
        """Compare the memory with the expected contents while `verify` is high."""
        config = self.config
        m.submodules.expected = expected = Memory(
            shape=config.axi.data_width, depth=config.depth, init=config.words("after")
        )
        reference = expected.read_port()
        place, compares = Signal(range(config.depth + 1)), Signal()
        more = self.verify & (place != config.depth)
        m.d.comb += [reference.addr.eq(place), reference.en.eq(more)]
        with m.If(self.verify):
            m.d.comb += [read.addr.eq(place), read.en.eq(more)]
        with m.If(more):
            m.d.sync += place.eq(place + 1)
        m.d.sync += compares.eq(more)
        with m.If(compares & (read.data != reference.data)):
            m.d.sync += self.differs.eq(1)
        m.d.comb += self.verified.eq((place == config.depth) & ~compares)
