"""What lies behind the ports of a core's path in a bench: shared memory, and registers of units."""

import random
from collections import deque

from amaranth import Value

from ..hw.address_map import SHARED_BASE, unit_bases
from ..hw.config import ClusterConfig
from ..hw.memory.core_path import CorePath
from ..hw.memory.path_layouts import WINDOW_WIDTH
from ..hw.memory.ports import narrow_request
from ..hw.registers import register_request
from .packing import Packing

__all__ = ["REFUSED_OFFSET", "DeviceModel", "NarrowModel", "Registers", "register_address"]

#: From this offset on, the registers of a unit are refused.
REFUSED_OFFSET = 0xC0


def register_address(config: ClusterConfig, unit: str, offset: int) -> int:
    """Return where cores find a register of a unit."""
    return SHARED_BASE + config.shared.size + unit_bases(len(config.matrices))[unit] + offset


class NarrowModel:
    """Shared memory behind narrow ports: random grants, answers of fixed latency."""

    def __init__(self, dut: CorePath, memory, rng: random.Random, stall: float):
        config = dut.config
        self.memory, self.rng, self.stall = memory, rng, stall
        self.packing = Packing(narrow_request(config.shared))
        ports = [getattr(dut, f"narrow_{p}") for p in range(config.core_shared_ports)]
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
        """Take requests before a clock edge, return what to drive after it."""
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
    """Registers of units as a bench has them: words that count accesses, some of them refused.

    A load returns what was stored last in the word, together with how many accesses there were,
    so that it tells the order of all.
    """

    def __init__(self):
        self.words: dict[int, int] = {}
        self.log: list[tuple[int, int]] = []  # offset, whether it was a store

    def access(self, offset: int, is_store: int, value: int) -> int | None:
        """Carry out an access; return what is loaded, None if it is refused."""
        self.log.append((offset, is_store))
        if offset & 0xFF >= REFUSED_OFFSET:
            return None
        if is_store:
            self.words[offset] = value
            return 0
        return (self.words.get(offset, 0) ^ len(self.log) << 16) & 0xFFFF_FFFF


class DeviceModel:
    """Units behind the path's port for registers: they hold at random, and answer a cycle later.

    Where `stall` is 0 an access is accepted in the cycle after it was offered, as `Devices` does.
    """

    def __init__(self, dut: CorePath, registers: Registers, rng: random.Random, stall: float):
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
        """Take a request before a clock edge, return what to drive after it."""
        valid, payload = values
        assert self.held is None or (valid and payload == self.held), "an offer was changed"
        answers = 0, 0, 0
        self.held = payload if valid and not self.ready else None
        if valid and self.ready:
            request = self.packing.unpack(payload)
            access = request["address"], request["write"], request["data"]
            word = self.registers.access(*access)
            # What comes back of a store, or of what is refused, is nobody's.
            noise = self.rng.getrandbits(32)
            loads = not request["write"]
            answers = 1, word if word is not None and loads else noise, int(word is None)
            self.ready = 0
        else:
            self.ready = int(valid and self.rng.random() >= self.stall)
        return [self.ready, *answers]
