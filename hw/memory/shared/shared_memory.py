"""Shared memory in two dimensions: parallel banks, and subbanks that interleave words."""

from collections.abc import Sequence
from dataclasses import replace

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...config import WORD_BYTES, ClusterConfig
from ...emit.shared_block import SharedBlock
from ...isa.memory_map import numbered
from ...isa.operations import AtomicOperation
from ...lib.interfaces.shared_memory import (
    NarrowSignature,
    RowSignature,
    WideReadSignature,
    WideWriteSignature,
)
from ...lib.one_hot import one_hot, ones
from .bank import Bank
from .ports import SharedMemoryPorts

__all__ = [
    "SharedMemory",
    "SharedMemoryPorts",
    "cluster_ports",
    "port_names",
    "shared_events",
    "tensor_ports",
]

#: Kinds of ports.
KINDS = ("read", "write", "narrow", "row")


def dma_masters(config: ClusterConfig) -> int:
    """Return the number of wide ports of each kind of the DMA: one for each AXI master."""
    return 0 if config.dma is None else config.axi.masters


def port_names(config: ClusterConfig) -> tuple[list[str], list[str]]:
    """Return the names of the requesters at a cluster's wide read ports and wide write ports."""
    masters = [f"dma{c}" for c in range(dma_masters(config))]
    operands = [numbered(port, n) for n, unit in enumerate(config.units) for port in unit.reads]
    return operands + [name for name, _, _ in tensor_ports(config)] + masters, masters


def tensor_ports(config: ClusterConfig) -> list[tuple[str, int, str]]:
    """Return name, core and unit's port of each wide read port of the tensor units.

    The name of a unit's only port is ``tensor`` and the core.
    """
    ports = () if config.core is None else tuple(config.core.tensor_reads)
    names = ports if len(ports) > 1 else ("tensor",)
    return [
        (f"{name}{core}", core, port)
        for core in range(config.cores)
        for name, port in zip(names, ports, strict=False)
    ]


def cluster_ports(config: ClusterConfig, clusters: int = 1) -> SharedMemoryPorts:
    """Return the ports of the shared memory of one of `clusters`, in the order of `port_names`.

    Narrow ports are those of core 0, then of core 1, and so on. With several clusters the last one
    is that of the cores of all clusters, behind their network. Row port n is that of core n.
    """
    lanes = config.cores * config.core_shared_ports + (clusters > 1)
    memory = replace(config.shared, narrow_ports=lanes) if lanes else config.shared
    masters = (config.axi.beat_bytes,) * dma_masters(config)
    operands = [size for unit in config.units for size in unit.reads.values()]
    reads = {} if config.core is None else config.core.tensor_reads
    tensors = [reads[port] for _, _, port in tensor_ports(config)]
    sizes = (*operands, *tensors, *masters)
    return SharedMemoryPorts(
        memory=memory,
        read_sizes=sizes,
        write_sizes=masters,
        row_ports=config.cores if config.row_bytes else 0,
        row_bytes=config.row_bytes,
    )


def shared_events(config: SharedMemoryPorts) -> data.StructLayout:
    """Return the layout of a cycle's events: access done or stalled per wide port; counts.

    Bits `read_{i}`, `read_wait_{i}`, `write_{i}`, `write_wait_{i}`. With narrow ports also the
    numbers of lanes `narrow_reads`, `narrow_writes` and `narrow_waits`, with row ports those of
    rows `row_reads`, `row_writes` and `row_waits`, all one cycle later.
    """
    members: dict[str, int] = {}
    for kind, sizes in (("read", config.read_sizes), ("write", config.write_sizes)):
        members |= {f"{kind}_{i}": 1 for i, _ in enumerate(sizes)}
        members |= {f"{kind}_wait_{i}": 1 for i, _ in enumerate(sizes)}
    for kind, ports in (("narrow", config.memory.narrow_ports), ("row", config.row_ports)):
        if ports:
            width = ports.bit_length()
            members |= {f"{kind}_{name}": width for name in ("reads", "writes", "waits")}
    return data.StructLayout(members)


class SharedMemory(SharedBlock):
    """Shared memory: banks are contiguous slices that work in parallel, subbanks hold its words.

    `ready` is combinational from the requests. The data of a read, and the response to a lane or
    row, is valid exactly `memory.read_latency` cycles after the request was accepted::

        cycle      t         t+1       t+2 (read_latency = 2)
        request    accepted
        subbank    read      word
        response                       valid

    Each bank does one wide read and one wide write per cycle, of any size. Requesters of
    different banks never conflict. Requesters of one bank are served round-robin, each after at
    most one access of every other. Rows and lanes use the subbank cycles that wide accesses
    leave: in each slice of a bank that holds a row, and path, one row per cycle, or one lane per
    subbank, each round-robin. Rows and lanes of a slice take turns. Both starve only under wide
    traffic without a gap. A write accepted in cycle t is visible to reads accepted after t: no
    word is read and written by accesses of the same cycle. Two wide accesses of one line yield in
    turn, and so do rows, and lanes; others yield to a wide access.

    Atomics of lanes are served as their reads are, but one per bank and cycle, round-robin. They
    and all other accesses take effect in one order, in that of acceptance. The word of an atomic
    is not accessed in the next two cycles: one word again and again takes three cycles. Its write
    goes before all others of the subbank. If it displaces a write, the bank accepts no atomic in
    the next cycle: a write waits for three of them at most, and starves only if they fill all gaps
    of wide writes. A reservation ends after `LIFETIME` cycles; `busy` stays set until then.

    Parameters
    ----------
    config : SharedMemoryPorts

    Members
    -------
    read_{i} : In(WideReadSignature(memory.port, read_sizes[i]))
    write_{i} : In(WideWriteSignature(memory.port, write_sizes[i]))
    narrow_{n} : In(NarrowSignature(memory.port))
        The response to a lane's write carries no valid data, nor does that to a store-release.
    row_{n} : In(RowSignature(memory.port, row_bytes))
        Likewise.
    busy : Out(1)
        A request waits, a response or an atomic is in flight, or there is a reservation.
    events : Out(shared_events(config))
    """

    def __init__(self, config: SharedMemoryPorts):
        self.config = config
        memory = config.memory
        members = {}
        for i, size in enumerate(config.read_sizes):
            members[f"read_{i}"] = In(WideReadSignature(memory.port, size))
        for i, size in enumerate(config.write_sizes):
            members[f"write_{i}"] = In(WideWriteSignature(memory.port, size))
        for n in range(memory.narrow_ports):
            members[f"narrow_{n}"] = In(NarrowSignature(memory.port))
        for n in range(config.row_ports):
            members[f"row_{n}"] = In(RowSignature(memory.port, config.slice_bytes))
        super().__init__(members | {"busy": Out(1), "events": Out(shared_events(config))})

    def names(self, kind: str) -> list[str]:
        """Return the names of the ports of a kind: `read`, `write`, `narrow` or `row`."""
        counts = {
            "read": len(self.config.read_sizes),
            "write": len(self.config.write_sizes),
            "narrow": self.config.memory.narrow_ports,
            "row": self.config.row_ports,
        }
        return [f"{kind}_{i}" for i in range(counts[kind])]

    def ports(self, kind: str) -> list:
        """Return the ports of a kind, whose accesses may differ in size."""
        return [getattr(self, name) for name in self.names(kind)]

    def bank_of(self, address: Value) -> Value:
        """Return the number of the bank that holds a byte address."""
        return address[self.config.bank_address_width :]

    def build(self, platform):
        m = Module()
        banks = []
        for b in range(self.config.memory.banks):
            m.submodules[f"bank_{b}"] = bank = Bank(self.config)
            banks.append(bank)
        busy = []
        for name in [name for kind in KINDS for name in self.names(kind)]:
            self.offer(m, name, banks)
            busy.append(getattr(self, name).request.valid)
        for name, size in zip(self.names("read"), self.config.read_sizes, strict=True):
            busy.append(self.respond(m, name, self.address_of(name), size, banks))
        for name in self.names("narrow"):
            busy.append(self.respond(m, name, self.address_of(name), WORD_BYTES, banks))
        for name in self.names("row"):
            size = self.config.slice_bytes
            busy.append(self.respond(m, name, self.address_of(name), size, banks))
        self.report_wide(m)
        busy += [self.report(m, kind) for kind in ("narrow", "row") if self.names(kind)]
        if self.config.memory.atomics is not None:
            busy += [bank.busy for bank in banks]
        m.d.comb += self.busy.eq(Cat(busy).any())
        return m

    def address_of(self, name: str) -> Value:
        """Return the byte address of a port's request."""
        payload = getattr(self, name).request.payload
        return payload if name.startswith("read") else payload.address

    def offer(self, m: Module, name: str, banks: Sequence[Bank]):
        """Route a port's requests to the bank that holds their address."""
        request = getattr(self, name).request
        address = self.address_of(name)
        width = self.config.bank_address_width
        ready = []
        chosen = one_hot(m, self.bank_of(address), len(banks), f"{name}_bank")
        for b, bank in enumerate(banks):
            port = getattr(bank, name)
            m.d.comb += port.valid.eq(request.valid & chosen[b])
            if name.startswith("read"):
                m.d.comb += port.payload.eq(address[:width])
            else:
                m.d.comb += port.payload.address.eq(address[:width])
                for field in [key for key, _ in request.payload.shape() if key != "address"]:
                    m.d.comb += port.payload[field].eq(request.payload[field])
            ready.append(port.ready)
        m.d.comb += request.ready.eq(Cat(ready).any())

    def respond(
        self, m: Module, name: str, address: Value, size: int, banks: Sequence[Bank]
    ) -> Value:
        """Drive a port's response; return whether one is in flight."""
        port = getattr(self, name)
        latency = self.config.memory.read_latency
        pending = Signal(latency, name=f"{name}_pending")
        where = Signal(len(address), name=f"{name}_where", reset_less=True)
        m.d.sync += [
            pending.eq(Cat(port.request.valid & port.request.ready, pending)),
            where.eq(address),
        ]
        word = Signal(8 * size, name=f"{name}_word")
        offset = where[exact_log2(size) : exact_log2(self.config.memory.line_bytes)]
        pieces = [
            bank.line.word_select(piece, 8 * size)
            for bank in banks
            for piece in range(self.config.memory.line_bytes // size)
        ]
        # One case per piece: simulators run it faster than a shift of whole lines.
        with m.Switch(Cat(offset, self.bank_of(where))):
            for number, piece in enumerate(pieces):
                with m.Case(number) if len(pieces) > 1 else m.Default():
                    m.d.comb += word.eq(piece)
        if name.startswith("narrow") and self.config.memory.atomics is not None:
            word = self.answer_conditional(m, name, where, word, banks)
        for stage in range(1, latency):
            delayed = Signal(8 * size, name=f"{name}_word_{stage}", reset_less=True)
            m.d.sync += delayed.eq(word)
            word = delayed
        m.d.comb += [port.response.valid.eq(pending[-1]), port.response.payload.eq(word)]
        return pending.any()

    def answer_conditional(
        self, m: Module, name: str, where: Value, word: Value, banks: Sequence[Bank]
    ) -> Value:
        """Return the word of a lane, replaced by the result of a store-conditional."""
        request = getattr(self, name).request.payload
        is_conditional = Signal(name=f"{name}_conditional", reset_less=True)
        m.d.sync += is_conditional.eq(request.atomic & (request.operation == AtomicOperation.SC))
        fails = Cat(bank.fails for bank in banks).bit_select(self.bank_of(where), 1)
        answer = Signal(len(word), name=f"{name}_answer")
        m.d.comb += answer.eq(Mux(is_conditional, fails, word))
        return answer

    def report_wide(self, m: Module):
        """Drive the events of wide ports."""
        for kind in ("read", "write"):
            for i, name in enumerate(self.names(kind)):
                request = getattr(self, name).request
                m.d.comb += self.events[f"{kind}_{i}"].eq(request.valid & request.ready)
                m.d.comb += self.events[f"{kind}_wait_{i}"].eq(request.valid & ~request.ready)

    def report(self, m: Module, kind: str) -> Value:
        """Drive the events of narrow or row ports; return whether some are still to be counted."""
        requests = [port.request for port in self.ports(kind)]
        valid = Cat(request.valid for request in requests)
        ready = Cat(request.ready for request in requests)
        writes = Cat(request.payload.write for request in requests)
        events = {
            "reads": valid & ready & ~writes,
            "writes": valid & ready & writes,
            "waits": valid & ~ready,
        }
        uncounted = []
        for name, requesters in events.items():
            # A register before the sum, as the grants of all lanes are a deep path already.
            counted = Signal(len(requests), name=f"{kind}_{name}")
            m.d.sync += counted.eq(requesters)
            m.d.comb += self.events[f"{kind}_{name}"].eq(ones(counted))
            uncounted.append(counted)
        return Cat(uncounted).any()
