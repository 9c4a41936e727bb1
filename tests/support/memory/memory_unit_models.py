"""Models behind a core's memory unit in a bench: shared memory and unit registers."""

import random
from collections import deque

from amaranth import Value

from spica.hw.config import ClusterConfig
from spica.hw.isa.memory_map import SHARED_BASE, unit_bases
from spica.hw.lib.interfaces.shared_memory import narrow_request
from spica.hw.lib.register_bus import register_request
from spica.hw.memory.memory_unit.layouts import WINDOW_WIDTH
from spica.hw.memory.memory_unit.memory_unit import MemoryUnit
from support.packing import Packing

__all__ = ["REFUSED_OFFSET", "DeviceModel", "NarrowModel", "Registers", "register_address"]

#: Accesses to registers of a unit from this offset on are refused.
REFUSED_OFFSET = 0xC0


def register_address(config: ClusterConfig, unit: str, offset: int) -> int:
    """Return the address of a unit's register, as seen by cores."""
    return SHARED_BASE + config.shared.size + unit_bases(len(config.units))[unit] + offset


class NarrowModel:
    """Shared memory behind narrow ports, with random grants and fixed latency."""

    def __init__(self, dut: MemoryUnit, memory, rng: random.Random, stall: float):
        config = dut.config
        self.memory, self.rng, self.stall = memory, rng, stall
        self.packing = Packing(narrow_request(config.shared))
        ports = [getattr(dut, f"narrow_{p}") for p in range(config.core.shared_ports)]
        self.samples = [
            part for p in ports for part in (p.request.valid, Value.cast(p.request.payload))
        ]
        self.drives = [
            part for p in ports for part in (p.request.ready, p.response.valid, p.response.payload)
        ]
        self.ready = [0] * len(ports)
        self.refused: dict[int, int] = {}
        self.late = deque([(0, 0)] * len(ports) for _ in range(config.shared.read_latency - 1))

    def step(self, values) -> list[int]:
        """Sample the requests before a clock edge; return the values to drive after it."""
        answers: list[tuple[int, int]] = []
        for p, (valid, payload) in enumerate(zip(values[::2], values[1::2], strict=True)):
            kept = self.refused.pop(p, None)
            assert kept is None or (valid and payload == kept), "a request changed while it waited"
            word = 0
            if valid and self.ready[p]:
                request = self.packing.unpack(payload)
                word = int.from_bytes(self.memory.read(request["address"], 4), "little")
                if request["write"]:
                    self.memory.write_masked(
                        request["address"], request["data"], request["mask"], 4
                    )
            elif valid:
                self.refused[p] = payload
            answers.append((int(valid and self.ready[p]), word))
        self.late.append(answers)
        due = self.late.popleft()
        self.ready = [int(self.rng.random() >= self.stall) for _ in self.ready]
        return [
            value
            for ready, answer in zip(self.ready, due, strict=True)
            for value in (ready, *answer)
        ]


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
