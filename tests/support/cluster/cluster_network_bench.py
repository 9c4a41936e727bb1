"""Bench of the network between clusters: cores, shared memories that stall, and a model."""

import random
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from amaranth import Value

from spica.hw.config import ClusterNetworkConfig
from spica.hw.lib.interfaces.remote_memory import remote_request
from spica.hw.lib.interfaces.shared_memory import narrow_request
from spica.hw.machine.cluster_network import ClusterNetwork
from spica.sim.engine.testbench import simulate
from spica.sim.golden.memory.dma.dma import SparseMemory
from support.packing import Packing, Together

__all__ = ["ClusterNetworkBench", "NetworkModel"]

#: A request: cluster, and address, write, data, mask.
Request = tuple[int, tuple[int, int, int, int]]
NAMES = ("address", "write", "data", "mask")


class NetworkModel:
    """Network, one cycle at a time: which requests it accepts, what it offers and responds.

    Each cluster has two places for accepted requests, in order, and selects among the cores the
    next after the one accepted last.
    """

    def __init__(self, config: ClusterNetworkConfig):
        self.latency, self.cores = config.shared.read_latency, config.cores
        self.waiting: list[deque] = [deque() for _ in range(config.clusters)]
        self.last = [config.cores] * config.clusters
        #: Cores of the requests in shared memory, the youngest first; None in other cycles.
        self.inside = [deque([None] * self.latency) for _ in range(config.clusters)]
        self.answers: dict[int, int] = {}

    def accepted(self, requests: Sequence[Request | None]) -> dict[int, int]:
        """Return the core that each cluster accepts a request of in this cycle."""
        chosen = {}
        for cluster, waiting in enumerate(self.waiting):
            cores = [n for n, one in enumerate(requests) if one and one[0] == cluster]
            if cores and len(waiting) < 2:
                later = [core for core in cores if core > self.last[cluster]]
                chosen[cluster] = min(later or cores)
        return chosen

    @property
    def offers(self) -> list[tuple | None]:
        """Requests offered to the clusters in this cycle."""
        return [waiting[0][1] if waiting else None for waiting in self.waiting]

    def step(
        self,
        requests: Sequence[Request | None],
        ready: Sequence[int],
        words: Sequence[int],
    ) -> None:
        """End a cycle with these requests, and ready signals and words of shared memory."""
        accepted = self.accepted(requests)
        self.answers = {}
        for cluster, waiting in enumerate(self.waiting):
            inside = self.inside[cluster]
            core = inside.pop()
            if core is not None:
                assert core not in self.answers, "two responses to a core in a cycle"
                self.answers[core] = words[cluster]
            leaves = waiting and ready[cluster]
            inside.appendleft(waiting.popleft()[0] if leaves else None)
            if cluster in accepted:
                core = self.last[cluster] = accepted[cluster]
                request = requests[core]
                assert request is not None
                waiting.append((core, request[1]))


@dataclass
class Requester:
    """A core: offers its requests in order, to another cluster only after all responses."""

    todo: deque[Request]
    rng: random.Random
    stall: float
    offered: Request | None = None
    under_way: deque[Request] = field(default_factory=deque)
    loaded: list[int] = field(default_factory=list)
    #: Cycles of acceptance and response.
    accepted: list[int] = field(default_factory=list)
    answered: list[int] = field(default_factory=list)

    def step(self, cycle: int, ready: int, valid: int, word: int) -> None:
        """End a cycle with these signals of its port."""
        if valid:
            request = self.under_way.popleft()
            self.answered.append(cycle)
            if not request[1][1]:
                self.loaded.append(word)
        if self.offered is not None and ready:
            self.under_way.append(self.offered)
            self.accepted.append(cycle)
            self.offered = None
        if self.offered is None and self.todo and self.rng.random() >= self.stall:
            cluster = self.todo[0][0]
            if all(one[0] == cluster for one in self.under_way):
                self.offered = self.todo.popleft()

    @property
    def done(self) -> bool:
        """Whether all requests are answered."""
        return not (self.todo or self.offered or self.under_way)


class Memory:
    """Shared memory of a cluster at one port: random grants, responses of fixed latency."""

    def __init__(self, latency: int, rng: random.Random, stall: float):
        self.contents, self.rng, self.stall = SparseMemory(), rng, stall
        self.late: deque[int | None] = deque([None] * (latency - 1))
        self.ready = 0
        self.log: list[tuple[int, tuple]] = []  # cycle and request

    def step(self, cycle: int, request: tuple | None) -> tuple[int, int]:
        """End a cycle with this request; return the validity and word of the next response."""
        word = None
        if request is not None and self.ready:
            address, write, data, mask = request
            assert address % 4 == 0
            self.log.append((cycle, request))
            word = int.from_bytes(self.contents.read(address, 4), "little")
            if write:
                self.contents.write_masked(address, data, mask, 4)
                word = self.rng.getrandbits(32)
        self.late.append(word)
        self.ready = int(self.rng.random() >= self.stall)
        word = self.late.popleft()
        return int(word is not None), self.rng.getrandbits(32) if word is None else word


class ClusterNetworkBench:
    """Network between cores and shared memories; each cycle is compared with `NetworkModel`.

    Parameters
    ----------
    config : ClusterNetworkConfig
    todo : sequence of iterables of requests
        Of each core.
    stalls : (float, float)
        Probability per cycle that a core has no request, and that a shared memory refuses one.

    """

    def __init__(
        self,
        config: ClusterNetworkConfig,
        todo: Sequence[Iterable[Request]],
        *,
        seed: int = 1,
        stalls: tuple[float, float] = (0.0, 0.0),
    ):
        self.config, self.rng = config, random.Random(seed)
        self.dut = ClusterNetwork(config)
        self.model = NetworkModel(config)
        core_stall, memory_stall = stalls
        self.cores = [Requester(deque(one), self.rng, core_stall) for one in todo]
        latency = config.shared.read_latency
        self.memories = [Memory(latency, self.rng, memory_stall) for _ in range(config.clusters)]
        self.request = Packing(remote_request(config.shared, config.clusters))
        self.access = Packing(narrow_request(config.shared))
        #: Cores with a request in each cycle, with its cluster, and those accepted.
        self.history: list[tuple[dict[int, int], set[int]]] = []

    def run(self, timeout: int = 20_000) -> None:
        """Run until all requests are answered."""
        dut, memories = self.dut, self.memories
        samples, drives = [], []
        for port in dut.core:
            samples += [port.request.ready, port.response.valid, port.response.payload]
            drives += [port.request.valid, Value.cast(port.request.payload)]
        for port in dut.shared:
            samples += [port.request.valid, Value.cast(port.request.payload)]
            drives += [port.request.ready, port.response.valid, port.response.payload]
        inputs = Together(drives)

        async def bench(ctx):
            cycle, words = 0, [(0, 0)] * len(memories)
            while not all(core.done for core in self.cores):
                driven = []
                for core in self.cores:
                    driven += self.packed(core.offered)
                for memory, word in zip(memories, words, strict=True):
                    driven += [memory.ready, *word]
                inputs.set(ctx, driven)
                _, _, *seen = await ctx.tick().sample(*samples)
                words = self.take(cycle, seen, [word for _, word in words])
                cycle += 1

        simulate(dut, bench, timeout=timeout)

    def packed(self, request: Request | None) -> list[int]:
        """Return validity and payload of a request, or noise."""
        if request is None:
            return [0, self.rng.getrandbits(self.request.width)]
        cluster, access = request
        fields = dict(zip(NAMES, access, strict=True))
        return [1, self.request.pack({"cluster": cluster, **fields})]

    def take(self, cycle: int, seen: Sequence[int], words: Sequence[int]) -> list[tuple[int, int]]:
        """Compare a cycle with the model, and let it end; return the words of the next one."""
        model, count = self.model, len(self.cores)
        requests = [core.offered for core in self.cores]
        accepted = set(model.accepted(requests).values())
        self.history.append(({n: one[0] for n, one in enumerate(requests) if one}, accepted))
        signals = list(zip(*[iter(seen[: 3 * count])] * 3, strict=True))
        offers = []
        for valid, payload in zip(*[iter(seen[3 * count :])] * 2, strict=True):
            fields = self.access.unpack(payload)
            offers.append(tuple(fields[name] for name in NAMES) if valid else None)
        assert offers == model.offers, cycle
        assert {n for n, (ready, _, _) in enumerate(signals) if ready} == accepted, cycle
        answers = {n: word for n, (_, valid, word) in enumerate(signals) if valid}
        assert answers == model.answers, cycle
        model.step(requests, [memory.ready for memory in self.memories], words)
        for core, values in zip(self.cores, signals, strict=True):
            core.step(cycle, *values)
        return [
            memory.step(cycle, offer) for memory, offer in zip(self.memories, offers, strict=True)
        ]
