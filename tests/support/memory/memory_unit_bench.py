"""Bench of the memory unit of a core: requests on one side, memory models on the other."""

import random
from collections import Counter, deque
from dataclasses import dataclass, field
from functools import lru_cache

from amaranth import EnableInserter, Module, Value

from spica.hw.config import WORD_BYTES, MachineConfig, MemoryUnitConfig
from spica.hw.isa.memory_map import DRAM_BASE, DRAM_END
from spica.hw.isa.operations import AtomicOperation
from spica.hw.lib.axi import RESPONSE_OKAY, RESPONSE_SLAVE_ERROR
from spica.hw.lib.interfaces.core_memory import (
    data_request_layout,
    data_response_layout,
    fetch_request_layout,
    fetch_response_layout,
)
from spica.hw.memory.memory_unit.memory_unit import MemoryUnit
from spica.sim.engine.testbench import Simulation
from spica.sim.golden.memory.memory_unit.memory_unit import ClusterMemory
from support.memory.axi_memory import interleaved_memories
from support.memory.memory_unit_models import DeviceModel, Registers, RemoteModel
from support.memory.shared_ports import OWNER_BIT, SharedPorts
from support.packing import Packing, Together

__all__ = ["Answer", "MemoryUnitBench", "row"]


@dataclass
class Answer:
    """Response to one request: its cycles, and the words by lane, None if refused.

    For lanes that load from DRAM, `may_be` has the word's address and the possible values of its
    bytes.
    """

    accepted: int
    waits: int  # lanes without a response
    expected: list[int | None]
    is_store: int
    words: dict[int, int | None] = field(default_factory=dict)
    cycles: list[int] = field(default_factory=list)
    may_be: dict[int, tuple[int, list[set[int]]]] = field(default_factory=dict)

    def fits(self, lane: int, got: int | None) -> bool:
        """Return True if `got` is a legal word for the lane."""
        if lane not in self.may_be or got is None:
            return got == self.expected[lane]
        return all(
            byte in may for byte, may in zip(bytes_of(got), self.may_be[lane][1], strict=True)
        )

    def change(self, address: int, values: bytes):
        """Add values written by another master to the possible values of loading lanes."""
        for at, may_be in self.may_be.values():
            for byte, may in enumerate(may_be, at - address):
                if 0 <= byte < len(values):
                    may.add(values[byte])


def bytes_of(word: int) -> bytes:
    """Return the bytes of a word, the lowest first."""
    return word.to_bytes(WORD_BYTES, "little")


def row(address: int, lanes: int, *, is_store: int = 0, step: int = 4) -> dict:
    """Return a request of whole words, `step` bytes apart."""
    return {
        "is_store": is_store,
        "mask": (1 << lanes) - 1,
        "address": [address + step * lane for lane in range(lanes)],
        "data": [0] * lanes,
        "strobes": [15] * lanes,
    }


@lru_cache(maxsize=8)
def simulated_unit(config: MemoryUnitConfig) -> tuple[MemoryUnit, Simulation]:
    """Return a memory unit and its simulation, which all benches of the config share."""
    dut, top = MemoryUnit(config), Module()
    # An invalidation needs the clock in its cycle.
    enable = dut.busy | dut.invalidate | dut.invalidate_data
    top.submodules.dut = EnableInserter(enable)(dut)
    return dut, Simulation(top)


class MemoryUnitBench:
    """Bench that drives a `MemoryUnit` until all requests are answered.

    Data requests are offered in order, each once the previous one was accepted and a tag is free,
    with random pauses. Each is checked against `ClusterMemory` on acceptance. Fetches likewise. A
    request of None is a pause of one cycle. Cycle 0 is the first with empty caches after reset.

    Parameters
    ----------
    config : MachineConfig
    rng : random.Random
    stall : float
        Probability of a pause: of requests, every AXI channel and every port of shared memory.
    jitter : int
        Maximum random addition to the DRAM latency, in cycles.
    broken : range
        DRAM addresses that answer with errors.
    refused : range
        DRAM addresses that answer stores with errors.

    Attributes
    ----------
    events : Counter
        Events summed over all cycles, by side and name.

    """

    def __init__(
        self,
        config: MachineConfig,
        rng: random.Random,
        *,
        stall: float = 0.0,
        jitter: int = 0,
        broken: range = range(0),
        refused: range = range(0),
    ):
        self.config, self.rng, self.stall = config, rng, stall
        unit = MemoryUnitConfig.of(config, config.clusters)
        self.dut, self.simulation = simulated_unit(unit)
        self.registers, self.golden_registers = Registers(), Registers()
        self.golden = ClusterMemory(unit, broken, self.golden_registers.access, refused=refused)
        self.memory = ClusterMemory(unit)  # the actual contents
        self.cycle = 0
        self.answers: list[Answer] = []
        self.fetched: list[tuple[dict, int, int, int]] = []  # request, accepted, answered, data
        self.invalidations: list[int] = []
        self.events = Counter()

        def response(address: int, is_write: bool) -> int:
            fails = address in broken or (is_write and address in refused)
            return RESPONSE_SLAVE_ERROR if fails else RESPONSE_OKAY

        self.buses = interleaved_memories(
            self.dut, self.memory.dram, config.axi, rng,
            jitter=jitter, stall=stall, reorders=True, response=response, prompt=True,
            does=self.does if unit.core.atomics else None,
        )  # fmt: skip
        ports = [*self.dut.narrow, *([self.dut.row] if unit.row_bytes else [])]
        self.shared_ports = SharedPorts(
            ports,
            self.memory.shared, rng, read_latency=unit.shared.read_latency, stall=stall,
        )  # fmt: skip
        self.models = [*self.buses, self.shared_ports]
        if unit.has_dma:
            self.device = DeviceModel(self.dut, self.registers, rng, stall)
            self.models.append(self.device)
        if unit.clusters > 1:
            self.remote = RemoteModel(self.dut, unit, self.memory.windows, rng, stall)
            self.models.append(self.remote)

    def does(self, user: int, beats: list[tuple[int, int, int]]) -> int:
        """Do a burst at DRAM; return its user bits, which depend on the owner of an atomic."""
        fields = Packing(self.dut.axi[0].awuser.shape()).unpack(user)
        memory, size = self.memory, self.config.axi.beat_bytes
        if not fields["atomic"]:
            for address, value, strobes in beats:
                memory.dram.write_masked(address, value, strobes, size)
            return self.rng.getrandbits(32)
        for address, value, strobes in beats:  # one, or none if it fails
            place = ((strobes & -strobes).bit_length() - 1) // WORD_BYTES
            operand, expected = (value >> 32 * n & 0xFFFF_FFFF for n in (place, place ^ 1))
            old = memory.atomic(
                address + WORD_BYTES * place, AtomicOperation(fields["operation"]),
                operand, strobes >> WORD_BYTES * place, expected,
            )  # fmt: skip
            assert old is not None
            return old ^ fields["owner"] << OWNER_BIT
        return 0

    def owner_of(self, request: dict, lane: int) -> int:
        """Return the owner of a lane's atomic in DRAM, or at its port of shared memory."""
        unit = MemoryUnitConfig.of(self.config, self.config.clusters)
        ports, lanes = unit.core.shared_ports, unit.core.request_lanes
        if DRAM_BASE <= request["address"][lane] < DRAM_END:
            ports = 1
        return request["owner"] * (lanes // ports) + lane // ports

    def write(self, address: int, data: bytes):
        """Write bytes to DRAM, in the machine and its model."""
        for memory in (self.golden, self.memory):
            memory.dram.write(address, data)

    def change(self, address: int, values: bytes) -> bool:
        """Write to DRAM as another master, unless a store to it is pending; return True if so."""
        end = address + len(values)
        stores = [
            request
            for request in (*self.held.values(), self.offered)
            if request and (request["is_store"] or request.get("atomic"))
        ]
        places = [
            at & ~3 if request.get("atomic") else at  # which returns the whole word
            for request in stores
            for at in request["address"]
        ]
        if any(address - WORD_BYTES < at < end for at in places):
            return False  # the order of the two writes is undefined
        self.golden.change(address, values)
        self.memory.dram.write(address, values)
        for answer in self.under_way.values():
            answer.change(address, values)
        return True

    def run(self, requests=(), fetches=(), *, events=None, fences=None, timeout: int = 20_000):
        """Offer all requests and fetches; call `events` and `fences` in their cycles.

        An event invalidates instructions from its cycle on; a fence invalidates data if its call
        returns True.
        """
        core = self.config.core
        assert core is not None
        dut = self.dut
        layouts = (data_request_layout(core), data_response_layout(core))
        self.request_packing, self.reply = (Packing(layout) for layout in layouts)
        self.fetch, self.bring = (
            Packing(fetch_request_layout(core)),
            Packing(fetch_response_layout(core)),
        )
        self.requests, self.fetches = deque(requests), deque(fetches)
        self.tags = list(range(1 << core.tag_width))
        self.under_way: dict[int, Answer] = {}
        self.held: dict[int, dict] = {}  # requests by tag
        self.requested: dict[tuple, tuple] = {}
        events, fences = dict(events or {}), dict(fences or {})
        shown = Packing(dut.events.shape())

        async def bench(ctx):
            drives = [dut.request.valid, Value.cast(dut.request.payload), dut.fetch.valid]
            drives += [Value.cast(dut.fetch.payload), dut.console.ready, dut.invalidate]
            drives.append(dut.invalidate_data)
            samples = [dut.request.ready, dut.response.valid, Value.cast(dut.response.payload)]
            samples += [dut.fetch.ready, dut.fetched.valid, Value.cast(dut.fetched.payload)]
            samples += [dut.console.valid, dut.console.payload]
            samples += [Value.cast(dut.events), dut.busy]
            own, models = len(samples), self.models
            for model in models:
                samples += model.samples
                drives += model.drives
            inputs = Together(drives)
            driven = [0] * sum(len(model.drives) for model in models)
            self.offered, self.offered_fetch = None, None
            willing = 0
            while ctx.get(dut.busy):
                await ctx.tick()
            while True:
                invalidates = self.cycle in events
                if invalidates:
                    events.pop(self.cycle)()
                    self.invalidations.append(self.cycle)
                is_fence = self.cycle in fences and fences.pop(self.cycle)()
                if is_fence:
                    self.golden.drop_old()
                self.choose()
                values = [
                    self.offered is not None,
                    self.request_packing.pack(self.offered) if self.offered else 0,
                    self.offered_fetch is not None,
                    self.fetch.pack(self.offered_fetch) if self.offered_fetch else 0,
                    willing,
                    invalidates,
                    is_fence,
                ]
                inputs.set(ctx, values + driven)
                _, _, *seen = await ctx.tick().sample(*samples)
                self.take(seen[: own - 2], willing)
                for side, names in shown.unpack(seen[own - 2]).items():
                    self.events.update({f"{side}.{name}": n for name, n in names.items()})
                at, driven = own, []
                for model in models:
                    count = len(model.samples)
                    driven += model.step(seen[at : at + count])
                    at += count
                willing = int(self.rng.random() >= self.stall)
                self.cycle += 1
                if self.done() and not events and not fences and not seen[own - 1]:
                    break
            for _ in range(3):
                await ctx.tick()
            assert not ctx.get(dut.busy), "busy must be 0 without outstanding requests"

        self.simulation.run(bench, timeout=timeout)

    def choose(self):
        """Offer the next request and fetch, unless paused at random; offers are held."""
        pauses = self.rng.random() < self.stall
        if self.offered is None and self.requests and self.requests[0] is None:
            self.requests.popleft()
        elif self.offered is None and self.requests and self.tags and not pauses:
            tag = self.tags.pop(self.rng.randrange(len(self.tags)))
            self.offered = self.requests.popleft() | {"tag": tag}
        if self.offered_fetch is None and self.fetches and not pauses:
            tag = tuple(self.fetches[0]["tag"].values())
            if tag not in self.requested:
                self.offered_fetch = self.fetches.popleft()

    def take(self, seen, willing: int):
        """Process the acceptances and responses of this cycle."""
        ready, valid, payload, fetch_ready, fetched, words, prints, byte = seen
        if fetched:
            self.check_fetch(self.bring.unpack(words))
        if valid:
            self.check(self.reply.unpack(payload))
        if self.offered is not None and ready:
            loaded, refused = self.golden.carry_out(self.offered)
            mask = self.offered["mask"]
            expected = [None if refused >> n & 1 else word for n, word in enumerate(loaded)]
            is_atomic = self.offered.get("atomic", 0)
            for lane in (n for n, word in enumerate(expected) if is_atomic and word is not None):
                expected[lane] = loaded[lane] ^ self.owner_of(self.offered, lane) << OWNER_BIT
            answer = Answer(self.cycle, mask, expected, self.offered["is_store"])
            if not answer.is_store and not is_atomic:
                self.record_bytes(answer, self.offered["address"])
            self.answers.append(answer)
            self.under_way[self.offered["tag"]] = answer
            self.held[self.offered["tag"]] = self.offered
            self.offered = None
        if self.offered_fetch is not None and fetch_ready:
            tag = tuple(self.offered_fetch["tag"].values())
            self.requested[tag] = (self.offered_fetch, self.cycle)
            self.offered_fetch = None
        if prints and willing:
            self.memory.console.append(byte)

    def record_bytes(self, answer: Answer, addresses: list[int]):
        """Record the possible values of words loaded from DRAM."""
        for lane, address in enumerate(addresses):
            if answer.expected[lane] is not None and DRAM_BASE <= address < DRAM_END:
                answer.may_be[lane] = (address & ~3, self.golden.may_be(address))

    def check(self, response: dict):
        """Compare a response with what the model expects."""
        answer = self.under_way[response["tag"]]
        mask = response["mask"]
        assert mask and not mask & ~answer.waits, "only requested lanes may be answered"
        assert not response["error"] & ~mask
        for lane, word in enumerate(response["data"]):
            if not mask >> lane & 1:
                continue
            got = None if response["error"] >> lane & 1 else word
            if answer.is_store and got is not None:
                got = 0
            assert answer.fits(lane, got), (lane, got, answer.expected[lane], answer.may_be)
            answer.words[lane] = got
        answer.cycles.append(self.cycle)
        answer.waits &= ~mask
        if not answer.waits:
            del self.under_way[response["tag"]], self.held[response["tag"]]
            self.tags.append(response["tag"])

    def check_fetch(self, response: dict):
        """Record a fetched pair."""
        request, accepted = self.requested.pop(tuple(response["tag"].values()))
        data = -1 if response["error"] else response["data"]
        self.fetched.append((request, accepted, self.cycle, data))

    def done(self) -> bool:
        """Return True if everything was offered and answered."""
        waits = (self.requests, self.fetches, self.offered, self.offered_fetch)
        idle = all(bus.idle for bus in self.buses)
        return idle and not any(waits) and not self.under_way and not self.requested
