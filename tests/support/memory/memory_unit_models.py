"""Models of unit registers and of other clusters behind a core's memory unit in a bench."""

import random
from collections import defaultdict, deque

from amaranth import Value

from spica.hw.config import MachineConfig, MemoryUnitConfig
from spica.hw.isa.memory_map import SHARED_BASE, unit_bases
from spica.hw.lib.interfaces.remote_memory import remote_request
from spica.hw.lib.register_bus import register_request
from spica.hw.memory.memory_unit.layouts import WINDOW_WIDTH
from spica.hw.memory.memory_unit.memory_unit import MemoryUnit
from spica.hw.memory.memory_unit.remote_port import remote_flights
from spica.sim.golden.memory.dma.dma import SparseMemory
from support.packing import Packing

__all__ = ["REFUSED_OFFSET", "DeviceModel", "Registers", "RemoteModel", "register_address"]

#: Accesses to registers of a unit from this offset on are refused.
REFUSED_OFFSET = 0xC0


def register_address(config: MachineConfig, unit: str, offset: int) -> int:
    """Return the address of a unit's register, as seen by cores."""
    return SHARED_BASE + config.shared.size + unit_bases(len(config.units))[unit] + offset


class Registers:
    """Unit registers of a bench: words that count accesses, some of which are refused.

    A load returns the word stored last, combined with the number of accesses so far. It thus
    reveals the order of all accesses.
    """

    def __init__(self):
        self.words: dict[int, int] = {}
        self.log: list[tuple[int, int]] = []  # offset, whether it was a store

    def access(self, offset: int, is_store: int, value: int) -> int | None:
        """Perform an access; return the loaded value, None if it is refused."""
        self.log.append((offset, is_store))
        if offset & 0xFF >= REFUSED_OFFSET:
            return None
        if is_store:
            self.words[offset] = value
            return 0
        return (self.words.get(offset, 0) ^ len(self.log) << 16) & 0xFFFF_FFFF


class DeviceModel:
    """Units behind the memory unit's register port: random stalls, response 1 cycle later.

    With a `stall` of 0 an access is accepted in the cycle after it was offered, as by
    `UnitRegisterBus`.
    """

    def __init__(self, dut: MemoryUnit, registers: Registers, rng: random.Random, stall: float):
        port = dut.device
        self.registers, self.rng, self.stall = registers, rng, stall
        self.packing = Packing(register_request(WINDOW_WIDTH))
        self.samples = [port.request.valid, Value.cast(port.request.payload)]
        self.drives = [
            port.request.ready,
            port.response.valid,
            port.response.payload.data,
            port.response.payload.error,
        ]
        self.ready, self.held = 0, None

    def step(self, values) -> list[int]:
        """Sample a request before a clock edge; return the values to drive after it."""
        valid, payload = values
        assert self.held is None or (valid and payload == self.held), "a refused offer changed"
        answers = 0, 0, 0
        self.held = payload if valid and not self.ready else None
        if valid and self.ready:
            request = self.packing.unpack(payload)
            access = request["address"], request["write"], request["data"]
            word = self.registers.access(*access)
            # Data of a store's response, or of a refused access, is undefined.
            noise = self.rng.getrandbits(32)
            loads = not request["write"]
            answers = 1, word if word is not None and loads else noise, int(word is None)
            self.ready = 0
        else:
            self.ready = int(valid and self.rng.random() >= self.stall)
        return [self.ready, *answers]


class RemoteModel:
    """Shared memories of all clusters behind the memory unit: random stalls and latencies.

    Responses are in order. With a `stall` of 0 every request is accepted, and answered after the
    latency of a network without other requests. Asserted: a refused request stays, requests to
    another cluster wait for all responses, and there are not too many.

    Attributes
    ----------
    accepted, answered : list of int
        Cycles of acceptances and responses.

    """

    def __init__(
        self,
        dut: MemoryUnit,
        config: MemoryUnitConfig,
        memories: defaultdict[int, SparseMemory],
        rng: random.Random,
        stall: float,
    ):
        port = dut.remote
        self.memories, self.rng, self.stall = memories, rng, stall
        self.latency, self.most = config.shared.read_latency + 2, remote_flights(config.shared)
        self.packing = Packing(remote_request(config.shared, config.clusters))
        self.samples = [port.request.valid, Value.cast(port.request.payload)]
        self.drives = [port.request.ready, port.response.valid, port.response.payload]
        self.ready, self.held, self.now = 0, None, 0
        self.under_way: deque[tuple[int, int, int]] = deque()  # cycle of response, cluster, word
        self.accepted: list[int] = []
        self.answered: list[int] = []

    def step(self, values) -> list[int]:
        """Sample a request before a clock edge; return the values to drive after it."""
        self.now += 1
        valid, payload = values
        assert self.held is None or (valid and payload == self.held), "a refused offer changed"
        self.held = payload if valid and not self.ready else None
        if valid:
            cluster = self.packing.unpack(payload)["cluster"]
            assert all(one[1] == cluster for one in self.under_way), "two clusters at once"
        if valid and self.ready:
            self.accepted.append(self.now)
            self.access(self.packing.unpack(payload))
            assert len(self.under_way) <= self.most
        self.ready = int(self.rng.random() >= self.stall)
        answer = self.rng.getrandbits(32)
        is_due = bool(self.under_way) and self.under_way[0][0] == self.now
        if is_due:
            _, _, answer = self.under_way.popleft()
            self.answered.append(self.now + 1)
        return [self.ready, int(is_due), answer]

    def access(self, request: dict) -> None:
        """Perform an access; its response follows."""
        memory, address = self.memories[request["cluster"]], request["address"]
        assert address % 4 == 0
        word = int.from_bytes(memory.read(address, 4), "little")
        if request["write"]:
            memory.write_masked(address, request["data"], request["mask"], 4)
            word = self.rng.getrandbits(32)
        due = self.now + self.latency - 1
        if self.stall:
            due += self.rng.randrange(10)
        if self.under_way:
            due = max(due, self.under_way[-1][0] + 1)
        self.under_way.append((due, request["cluster"], word))
