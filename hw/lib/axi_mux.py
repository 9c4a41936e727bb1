"""AXI4 multiplexer: several masters at one slave."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ..config.checks import require_integer, require_power_of_two
from ..config.parts import OPTIONAL
from ..emit.shared_block import SharedBlock
from .axi import Axi4Signature, atomic_user_fields, channel, whole_beats
from .merge import Merge
from .streams import Queue

__all__ = ["AxiMux", "AxiMuxConfig"]

#: Write bursts issued whose data is still to be sent.
BURSTS_AHEAD = 16


@dataclass(frozen=True, kw_only=True)
class AxiMuxConfig:
    """An AXI4 multiplexer.

    Parameters
    ----------
    id_widths : tuple of int
        Bits of the ids of each master, one or more masters.
    data_width : int
        Bits of a beat.
    owner_width : int or None
        Bits of the owner of an atomic; None without atomics.
    plain_sources : int
        With atomics, the first masters that have none.

    """

    id_widths: tuple[int, ...]
    data_width: int
    owner_width: int | None = field(default=None, metadata=OPTIONAL)
    plain_sources: int = field(default=0, metadata=OPTIONAL)

    def __post_init__(self):
        require_integer("masters", len(self.id_widths), 1, 256)
        require_power_of_two("data_width", self.data_width, 32, 1024)
        for width in self.id_widths:
            require_integer("each of id_widths", width, 1, 16)
        if self.owner_width is not None:
            require_integer("owner_width", self.owner_width, 0, 16)
            require_integer("plain_sources", self.plain_sources, 0, self.sources)

    @property
    def sources(self) -> int:
        """Number of masters."""
        return len(self.id_widths)

    @property
    def id_width(self) -> int:
        """Bits of the widest id of a master."""
        return max(self.id_widths)

    @property
    def source_width(self) -> int:
        """Bits of the master's number, above its own id."""
        return ceil_log2(self.sources)

    @property
    def outer_id_width(self) -> int:
        """Bits of an id at the slave."""
        return self.id_width + self.source_width

    def signature(self, source: int | None = None) -> Axi4Signature:
        """Return the AXI4 signature of a master, None for the slave."""
        is_plain = source is not None and source < self.plain_sources
        return Axi4Signature(
            address_width=32,
            data_width=self.data_width,
            id_width=self.outer_id_width if source is None else self.id_widths[source],
            owner_width=None if is_plain else self.owner_width,
        )


class AxiMux(SharedBlock):
    """AXI4 multiplexer: merges the bursts of several masters, and routes responses by their id.

    Bursts are merged round-robin, reads and writes separately. Latency 1 cycle, one payload per
    cycle and channel. Write data follows in the order of the bursts, from the cycle after a burst
    left. Read data and responses pass combinationally; `rready` and `bready` are those of the
    addressed master. All bursts must be incrementing, of whole beats. Responses to one id of one
    master are in order if the slave keeps those of an id in order. The user bits of atomics pass
    unchanged; the master's number makes an owner unique among masters.

    Parameters
    ----------
    config : AxiMuxConfig

    Members
    -------
    i_0, i_1, … : In(Axi4Signature)
    o : Out(Axi4Signature)
        Its ids have the master's number above the master's id.
    busy : Out(1)
        A burst waits here, or arrives.
    """

    def __init__(self, config: AxiMuxConfig):
        self.config = config
        super().__init__(
            {f"i_{k}": In(config.signature(k)) for k in range(config.sources)}
            | {"o": Out(config.signature()), "busy": Out(1)}
        )

    @property
    def inputs(self) -> list:
        """The ports of the masters, whose ids differ in width."""
        return [getattr(self, f"i_{k}") for k in range(self.config.sources)]

    def build(self, platform):
        m = Module()
        sources = self.inputs
        # The number of a single master has no bits; a memory has at least one.
        m.submodules.order = order = Queue(max(1, self.config.source_width), BURSTS_AHEAD)
        self.pass_addresses(m, "ar", sources, None)
        self.pass_addresses(m, "aw", sources, order)
        self.pass_data(m, sources, order)
        self.pass_back(m, "r", ("data", "resp", "last"), sources)
        self.pass_back(m, "b", ("resp", "user"), sources)
        valids = [valid for s in sources for valid in (s.arvalid, s.awvalid, s.wvalid)]
        o = self.o
        m.d.comb += self.busy.eq(
            Cat(*valids, o.arvalid, o.awvalid, o.rvalid, o.bvalid, order.o.valid).any()
        )
        return m

    def pass_addresses(self, m: Module, letter: str, sources: Sequence[Any], order: Queue | None):
        """Merge bursts round-robin, and queue the source of each write's data."""
        user = atomic_user_fields(self.config.owner_width) if letter == "aw" else {}
        layout = data.StructLayout({"id": self.config.id_width, "addr": 32, "len": 8, **user})
        m.submodules[f"{letter}_merge"] = merge = Merge(layout, len(sources))
        for i, source in zip(merge.i, sources, strict=True):
            its = channel(source, letter)
            m.d.comb += [
                i.valid.eq(its.valid),
                its.ready.eq(i.ready),
                i.payload.id.eq(its.id),
                i.payload.addr.eq(its.addr),
                i.payload.len.eq(its.len),
            ]
            if hasattr(its, "user"):
                m.d.comb += i.payload.user.eq(its.user)
        burst, room = merge.o.payload, C(1, 1) if order is None else order.i.ready
        o = channel(self.o, letter)
        m.d.comb += [
            o.id.eq(Cat(burst.payload.id, burst.source)),
            o.addr.eq(burst.payload.addr),
            o.len.eq(burst.payload.len),
            *whole_beats(self.o, letter),
            o.valid.eq(merge.o.valid & room),
            merge.o.ready.eq(o.ready & room),
        ]
        if user:
            m.d.comb += o.user.eq(burst.payload.user)
        if order is not None:
            m.d.comb += [
                order.i.valid.eq(merge.o.valid & o.ready),
                order.i.payload.eq(burst.source),
            ]

    def pass_data(self, m: Module, sources: Sequence[Any], order: Queue):
        """Connect the write data of the master whose burst is next."""
        o = self.o
        for k, source in enumerate(sources):
            with m.If(order.o.valid & (order.o.payload == k)):
                m.d.comb += [o.wvalid.eq(source.wvalid), source.wready.eq(o.wready)]
        with m.Switch(order.o.payload):
            for k, source in enumerate(sources):
                with m.Case(k) if len(sources) > 1 else m.Default():
                    m.d.comb += [
                        o.wdata.eq(source.wdata),
                        o.wstrb.eq(source.wstrb),
                        o.wlast.eq(source.wlast),
                    ]
        m.d.comb += order.o.ready.eq(o.wvalid & o.wready & o.wlast)

    def pass_back(self, m: Module, letter: str, fields: Sequence[str], sources: Sequence[Any]):
        """Route read data or responses to the master in their id."""
        o, width = channel(self.o, letter), self.config.id_width
        for k, source in enumerate(sources):
            its = channel(source, letter)
            is_its = C(1, 1) if len(sources) == 1 else o.id[width:] == k
            m.d.comb += [
                its.valid.eq(o.valid & is_its),
                its.id.eq(o.id[:width]),
                *(getattr(its, name).eq(getattr(o, name)) for name in fields if hasattr(its, name)),
            ]
            with m.If(is_its):
                m.d.comb += o.ready.eq(its.ready)
