"""Requests of one core on their way to shared memory: coalescer, dispatch and memory alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from spica.hw.config import WORD_BYTES, MachineConfig, MemoryUnitConfig
from spica.hw.isa.memory_map import SHARED_BASE
from spica.hw.lib.interfaces.core_memory import data_request_layout, data_response_layout
from spica.hw.lib.streams import ResponseSignature
from spica.hw.memory.memory_unit.coalescer import Coalescer
from spica.hw.memory.memory_unit.layouts import group_layout
from spica.hw.memory.memory_unit.shared_lanes import SharedLanes
from spica.hw.memory.shared.shared_memory import SharedMemory, cluster_ports
from spica.sim.engine.testbench import simulate
from spica.sim.golden.memory.shared.shared_memory import SharedMemoryModel
from support.alike import require_alike

__all__ = ["CoreRequest", "LanesAndMemory", "request_costs"]

#: Cycles from a request to its first access: coalescer, and dispatch.
BEFORE = 2


@dataclass(frozen=True)
class CoreRequest:
    """A request for shared memory: byte offsets of words, one per lane, and what is stored.

    Parameters
    ----------
    addresses : sequence of int
    store : bool
    data : sequence of int
        Words of a store.
    strobes : sequence of int
        Stored bytes of each word.
    mask : int
        Active lanes.

    """

    addresses: Sequence[int]
    store: bool = False
    data: Sequence[int] = ()
    strobes: Sequence[int] = ()
    mask: int = -1

    @property
    def lanes(self) -> list[int]:
        """Active lanes, the lowest first."""
        return [lane for lane in range(len(self.addresses)) if self.mask >> lane & 1]

    @property
    def payload(self) -> dict:
        """Payload of the stream into the coalescer."""
        return {
            "is_store": self.store,
            "mask": sum(1 << lane for lane in self.lanes),
            "address": [SHARED_BASE + address for address in self.addresses],
            "data": [*self.data] if self.store else [0] * len(self.addresses),
            "strobes": [*self.strobes] if self.store else [0] * len(self.addresses),
        }


class LanesAndMemory(wiring.Component):
    """The lanes of one core before shared memory.

    Parameters
    ----------
    config : MachineConfig
        With one core.

    Members
    -------
    i, o
        Ports of `SharedLanes`.
    row : Out(1)
        A row is accessed in this cycle.
    """

    i: stream.Interface
    o: wiring.PureInterface
    row: Signal

    def __init__(self, config: MachineConfig):
        self.config, self.unit = config, MemoryUnitConfig.of(config)
        super().__init__({
            "i": In(stream.Signature(group_layout(self.unit))),
            "o": Out(ResponseSignature(data_response_layout(self.unit.core))),
            "row": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.lanes = lanes = SharedLanes(self.unit)
        m.submodules.memory = memory = SharedMemory(cluster_ports(self.config))
        connect(m, flipped(self.i), lanes.i)
        connect(m, lanes.o, flipped(self.o))
        for port in range(self.unit.core.shared_ports):
            connect(m, lanes.port[port], getattr(memory, f"narrow_{port}"))
        if lanes.has_rows:
            connect(m, lanes.row, memory.row_0)
            m.d.comb += self.row.eq(lanes.row.request.valid & lanes.row.request.ready)
        return m


class RequestPath(wiring.Component):
    """Coalescer of one core before `LanesAndMemory`, with the same `o` and `row`.

    Members
    -------
    i
        Port of `Coalescer`.
    """

    i: stream.Interface
    o: wiring.PureInterface
    row: Signal

    def __init__(self, config: MachineConfig):
        self.inner = LanesAndMemory(config)
        request = stream.Signature(data_request_layout(self.inner.unit.core))
        members = self.inner.signature.members
        super().__init__({"i": In(request), "o": members["o"], "row": members["row"]})

    def elaborate(self, platform):
        m = Module()
        m.submodules.coalescer = coalescer = Coalescer(self.inner.unit)
        m.submodules.inner = inner = self.inner
        connect(m, flipped(self.i), coalescer.i)
        connect(m, coalescer.o, inner.i)
        connect(m, inner.o, flipped(self.o))
        m.d.comb += self.row.eq(inner.row)
        return m


def request_costs(config: MachineConfig, requests: Sequence[CoreRequest]) -> list[tuple[int, bool]]:
    """Return for each request the cycles of its accesses, and whether it was a row.

    Each request finds the memory idle, which holds zeros at first. Every word of a response is
    compared with the model.
    """
    path, ports = RequestPath(config), cluster_ports(config)
    model, latency, costs = SharedMemoryModel(ports), ports.memory.read_latency, []

    async def bench(ctx):
        for request in requests:
            ctx.set(path.i.payload, request.payload)
            ctx.set(path.i.valid, 1)
            assert ctx.get(path.i.ready)
            answers, cycle, row = {}, 0, False
            while len(answers) < len(request.lanes):
                await ctx.tick()
                ctx.set(path.i.valid, 0)
                cycle, row = cycle + 1, row or bool(ctx.get(path.row))
                if ctx.get(path.o.valid):
                    response = ctx.get(path.o.payload)
                    answers |= {
                        n: response.data[n] for n in request.lanes if response.mask >> n & 1
                    }
            check(model, request, answers)
            costs.append((cycle - latency - BEFORE + 1, row))
            await ctx.tick()

    simulate(path, bench, timeout=100 * len(requests))
    return costs


def check(model: SharedMemoryModel, request: CoreRequest, answers: dict[int, int]) -> None:
    """Compare the words of a response with the model, the lowest lanes first."""
    for n in request.lanes:
        at = request.addresses[n] // WORD_BYTES * WORD_BYTES
        if request.store:
            model.write(at, WORD_BYTES, request.data[n], request.strobes[n])
        else:
            require_alike(answers[n], model.read(at, WORD_BYTES), request, "lane", n)
