"""Shared memory behind the ports of a design: random grants, reads of fixed latency."""

import random
from collections import deque
from collections.abc import Sequence

from amaranth import Value

from spica.hw.isa.operations import AtomicOperation
from spica.sim.golden.memory.atomic.atomic_unit import atomic_word
from support.packing import Packing

__all__ = ["OWNER_BIT", "SharedPorts"]

#: Bit of an atomic's result with the lowest bit of its owner, so that each owner must arrive.
OWNER_BIT = 8


class SharedPorts:
    """Shared memory, one cycle at a time, at narrow, row and wide read and write ports.

    Ports are granted at random and independently. Accesses of a cycle take effect in the order of
    the ports. Asserted: a refused request stays, addresses are aligned, a wide write has a byte.
    The result of an atomic depends on its owner too. There are no reservations.

    Parameters
    ----------
    ports : sequence of interfaces
        Ports of the design, of `NarrowSignature`, `RowSignature`, `WideReadSignature` or
        `WideWriteSignature`.
    memory : SparseMemory
    rng : random.Random
    read_latency : int
        Cycles from an accepted request to its response.
    stall : float
        Probability that a port refuses, per port and cycle.

    Attributes
    ----------
    now, last_write : int
        Current cycle, and that of the last accepted wide write.

    """

    def __init__(
        self, ports: Sequence, memory, rng: random.Random, *, read_latency: int, stall: float
    ):
        self.memory, self.rng, self.stall = memory, rng, stall
        self.packings = [Packing(port.request.payload.shape()) for port in ports]
        self.responds = [hasattr(port, "response") for port in ports]
        self.sizes, self.samples, self.drives = [], [], []
        for port, responds in zip(ports, self.responds, strict=True):
            word = port.response.payload if responds else port.request.payload.data
            self.sizes.append(len(word) // 8)
            self.samples += [port.request.valid, Value.cast(port.request.payload)]
            self.drives.append(port.request.ready)
            self.drives += [port.response.valid, word] if responds else []
        nothing = [None] * len(ports)
        self.late: deque[list[int | None]] = deque([nothing] * (read_latency - 1))
        self.ready = [0] * len(ports)
        self.refused: list[int | None] = [None] * len(ports)
        self.now = self.last_write = 0

    def step(self, values) -> list[int]:
        """Sample the requests before a clock edge; return the values to drive after it."""
        self.now += 1
        words: list[int | None] = []
        for number, (valid, payload) in enumerate(zip(values[::2], values[1::2], strict=True)):
            stalled = self.refused[number]
            assert stalled is None or (valid and payload == stalled), (
                "a request changed while it waited"
            )
            granted = valid and self.ready[number]
            self.refused[number] = payload if valid and not granted else None
            words.append(self.access(number, payload) if granted else None)
        self.late.append(words)
        self.ready = [int(self.rng.random() >= self.stall) for _ in self.ready]
        driven = []
        for ready, responds, word in zip(
            self.ready, self.responds, self.late.popleft(), strict=True
        ):
            driven += [ready, int(word is not None), word or 0] if responds else [ready]
        return driven

    def access(self, number: int, payload: int) -> int:
        """Perform an access of a port; return the word before it."""
        request, size = self.packings[number].unpack(payload), self.sizes[number]
        is_read = not isinstance(request, dict)
        address = request if is_read else request["address"]
        assert address % size == 0
        word = int.from_bytes(self.memory.read(address, size), "little")
        if not is_read and request.get("atomic"):
            assert not request["write"]
            operation = AtomicOperation(request["operation"])
            values = word, request["data"], request["expected"]
            new = atomic_word(operation, request["mask"], *values)
            if new is not None:
                self.memory.write_masked(address, new, request["mask"], size)
            return word ^ request["owner"] << OWNER_BIT
        if not is_read and request.get("write", True):
            if "write" not in request:
                assert request["mask"], "a write has no byte in its mask"
                self.last_write = self.now
            self.memory.write_masked(address, request["data"], request["mask"], size)
        return word
