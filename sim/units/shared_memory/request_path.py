"""Requests of one core on their way to shared memory: coalescer, dispatch and memory alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect

from ....hw.config import WORD_BYTES, ClusterConfig, MemoryUnitConfig
from ....hw.isa.memory_map import SHARED_BASE
from ....hw.memory.memory_unit.coalescer import Coalescer
from ....hw.memory.memory_unit.shared_lanes import SharedLanes
from ....hw.memory.shared.shared_memory import SharedMemory, cluster_ports
from ...engine.block_bench import BlockBench
from ...golden.memory.shared.shared_memory import SharedMemoryModel
from ..alike import require_alike

__all__ = ["CoreRequest", "RequestBench", "RequestPath"]


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


class RequestPath(wiring.Component):
    """Coalescer and dispatch of one core before shared memory, for single requests.

    Parameters
    ----------
    config : ClusterConfig
        With one core.

    Members
    -------
    wish, write, mask : In(1), In(1), In(lanes)
        A request, offered when the path is idle.
    address_{n}, data_{n}, strobes_{n} : In(32), In(32), In(4)
    ready : Out(1)
    answered, words : Out(lanes), Out(32 * lanes)
        The response: its lanes, and a word of each.
    row : Out(1)
        A row is accessed in this cycle.
    """

    wish: Signal
    write: Signal
    mask: Signal
    ready: Signal
    answered: Signal
    words: Signal
    row: Signal

    def __init__(self, config: ClusterConfig):
        self.config = config
        unit = MemoryUnitConfig.of(config)
        self.lanes = unit.core.request_lanes
        members: dict[str, Any] = {"wish": In(1), "write": In(1), "mask": In(self.lanes)}
        for n in range(self.lanes):
            members |= {f"address_{n}": In(32), f"data_{n}": In(32), f"strobes_{n}": In(4)}
        super().__init__(
            members
            | {"ready": Out(1), "answered": Out(self.lanes), "words": Out(32 * self.lanes)}
            | {"row": Out(1)}
        )

    def elaborate(self, platform):
        m = Module()
        unit = MemoryUnitConfig.of(self.config)
        m.submodules.coalescer = coalescer = Coalescer(unit)
        m.submodules.lanes = lanes = SharedLanes(unit)
        m.submodules.memory = memory = SharedMemory(cluster_ports(self.config))
        connect(m, coalescer.o, lanes.i)
        for port in range(unit.core.shared_ports):
            connect(m, lanes.port[port], getattr(memory, f"narrow_{port}"))
        if lanes.has_rows:
            connect(m, lanes.row, memory.row_0)
            m.d.comb += self.row.eq(lanes.row.request.valid & lanes.row.request.ready)
        request = coalescer.i.payload
        m.d.comb += [
            coalescer.i.valid.eq(self.wish),
            self.ready.eq(coalescer.i.ready),
            request.is_store.eq(self.write),
            request.mask.eq(self.mask),
            self.answered.eq(Mux(lanes.o.valid, lanes.o.payload.mask, 0)),
            self.words.eq(lanes.o.payload.data.as_value()),
        ]
        for n in range(self.lanes):
            m.d.comb += [
                request.address[n].eq(getattr(self, f"address_{n}")),
                request.data[n].eq(getattr(self, f"data_{n}")),
                request.strobes[n].eq(getattr(self, f"strobes_{n}")),
            ]
        return m


class RequestBench:
    """Bench that performs requests one by one, each at idle memory, and checks every word.

    Parameters
    ----------
    config : ClusterConfig
        With one core.
    optimize : int
        Level of the C++ compiler.

    """

    def __init__(self, config: ClusterConfig, *, optimize: int = 1):
        self.path = RequestPath(config)
        self.ports = cluster_ports(config)
        self.model = SharedMemoryModel(self.ports)
        self.bench = BlockBench(self.path, optimize=optimize)
        self.bench.reset()
        lanes = self.path.lanes
        zeros = CoreRequest([], store=True, data=[0] * lanes, strobes=[15] * lanes)
        fill = [
            [min(first + WORD_BYTES * n, self.ports.memory.size - WORD_BYTES) for n in range(lanes)]
            for first in range(0, self.ports.memory.size, WORD_BYTES * lanes)
        ]
        self.run([CoreRequest(each, True, zeros.data, zeros.strobes) for each in fill])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.bench.close()

    def run(self, requests: Sequence[CoreRequest]) -> list[tuple[int, bool]]:
        """Return for each request the cycles of its accesses, and whether it was a row."""
        lanes, latency = self.path.lanes, self.ports.memory.read_latency
        # From a request to its first access: coalescer, and dispatch.
        before = 2
        gap = before + lanes + latency + 2
        inputs: dict[str, Any] = {
            port.name: np.zeros(gap * len(requests), np.uint32) for port in self.bench.layout.inputs
        }
        for number, request in enumerate(requests):
            at = gap * number
            inputs["wish"][at] = 1
            inputs["write"][at] = request.store
            inputs["mask"][at] = request.mask & (1 << lanes) - 1
            for n, address in enumerate(request.addresses):
                inputs[f"address_{n}"][at] = SHARED_BASE + address
                if request.store:
                    inputs[f"data_{n}"][at] = request.data[n]
                    inputs[f"strobes_{n}"][at] = request.strobes[n]
        found = self.bench.run(**inputs)
        assert found["ready"][::gap].all()
        words = found["words"].reshape(len(requests), gap, -1)
        answered = found["answered"].reshape(len(requests), gap)
        rows = np.asarray(found["row"].reshape(len(requests), gap).any(axis=1))
        costs = []
        for number, request in enumerate(requests):
            self.check(request, words[number], answered[number])
            last = int(np.flatnonzero(answered[number]).max())
            costs.append((last - latency - before + 1, bool(rows[number])))
        return costs

    def check(self, request: CoreRequest, words: np.ndarray, answered: np.ndarray) -> None:
        """Compare the response to a request with the model, the lowest lanes first."""
        for n, address in enumerate(request.addresses):
            if not request.mask >> n & 1:
                continue
            (cycle,) = np.flatnonzero(answered >> n & 1)
            at = address // WORD_BYTES * WORD_BYTES
            if request.store:
                self.model.write(at, WORD_BYTES, request.data[n], request.strobes[n])
            else:
                found = int(words[cycle, n])
                require_alike(found, self.model.read(at, WORD_BYTES), request, "lane", n)
