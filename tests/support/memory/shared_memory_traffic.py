"""Random traffic on every port of shared memory, checked against the golden model."""

import random

from spica.hw.isa.operations import AtomicOperation
from spica.sim.golden.memory.shared.shared_atomics import Atomic
from spica.sim.golden.memory.shared.shared_memory import SharedMemoryModel, port_sizes
from support.alike import require_alike

__all__ = ["Traffic"]

#: Kinds of ports that read and write.
CORES = ("narrow", "row")
#: Bytes of an atomic.
MASKS = (0b0001, 0b0010, 0b0100, 0b1000, 0b0011, 0b1100, 0b1111)
#: Operations with a reservation.
RESERVING = (AtomicOperation.LR, AtomicOperation.SC)


class Traffic:
    """Random traffic on every port of a `SharedMemory`, with a check of every answer.

    In each cycle it samples the accepted accesses and applies them to the golden model. It expects
    the data of accepted reads exactly `read_latency` cycles later, and no other response.

    Parameters
    ----------
    dut : SharedMemory
    rng : random.Random
    stalls : dict of str to float
        Probability of a pause before an access, by kind of port: ``read``, ``write``, ``narrow``
        and ``row``.
    addresses : sequence of int
        Addresses of accesses, each rounded down to a multiple of the size.
    atomics : float
        Probability that an access of a lane is an atomic, with atomics.

    Attributes
    ----------
    accesses : int
        Number of accepted accesses.
    longest_wait : dict of str to int
        Most cycles that an access of each port was stalled.
    conditional : int
        Number of store-conditionals that wrote.

    """

    def __init__(
        self, dut, rng: random.Random, *, stalls: dict[str, float], addresses, atomics=0.5
    ):
        self.dut = dut
        self.rng = rng
        self.stalls = stalls
        self.addresses = addresses
        self.model = SharedMemoryModel(dut.config)
        self.sizes = port_sizes(dut.config)
        self.names = list(self.sizes)
        self.offered: dict = dict.fromkeys(self.names)
        self.expected: dict = {name: {} for name in self.names if not name.startswith("write")}
        self.waits = dict.fromkeys(self.names, 0)
        self.longest_wait = dict.fromkeys(self.names, 0)
        self.accesses = self.conditional = 0
        self.atomics, self.last = atomics, {}
        self.owner_width = dut.config.memory.port.owner_width

    def choose(self, name):
        """Return a random access of port `name`."""
        rng = self.rng
        size = self.sizes[name]
        access = {"address": rng.choice(self.addresses) // size * size}
        if name.startswith("read"):
            return access
        full = (1 << size) - 1
        access["data"] = rng.choice([0, (1 << 8 * size) - 1, rng.getrandbits(8 * size)])
        access["mask"] = rng.choice([0, full, full, rng.getrandbits(size)])
        if name.startswith(CORES):
            access["write"] = rng.randint(0, 1)
        if name.startswith("narrow") and self.model.atomics is not None:
            is_atomic = rng.random() < self.atomics
            return self.choose_atomic(name, access) if is_atomic else access | {"atomic": 0}
        return access

    def choose_atomic(self, name, access):
        """Return a random atomic; a store-conditional often follows its load-reserved."""
        rng, last = self.rng, self.last.get(name)
        values = [rng.choice([0, 1, 0x7F, 0x8000_0000, rng.getrandbits(32)]) for _ in range(2)]
        atomic = {"write": 0, "atomic": 1, "data": values[0], "expected": values[1]}
        if last is not None and last["operation"] == AtomicOperation.LR and rng.random() < 0.7:
            access = last | atomic | {"operation": AtomicOperation.SC}
        else:
            operation = rng.choice([*AtomicOperation, *RESERVING])
            mask = 0b1111 if operation in RESERVING else rng.choice(MASKS)
            owner = rng.randrange(1 << self.owner_width)
            access |= atomic | {"operation": operation, "mask": mask, "owner": owner}
        self.last[name] = access
        return access

    def offer(self, ctx):
        """Offer a new access on each idle port, unless it pauses."""
        for name in self.names:
            if self.offered[name] is None:
                request = getattr(self.dut, name).request
                if self.rng.random() >= self.stalls[name.partition("_")[0]]:
                    self.offered[name] = access = self.choose(name)
                    payload = access["address"] if name.startswith("read") else access
                    ctx.set(request.payload, payload)
                ctx.set(request.valid, self.offered[name] is not None)

    def accept(self, cycle, ready):
        """Apply the accesses accepted in `cycle`: reads first, then writes."""
        done = [name for name in self.names if ready[name] and self.offered[name]]
        latency = self.dut.config.memory.read_latency
        for name in done:
            access, size = self.offered[name], self.sizes[name]
            if name in self.expected and not access.get("atomic"):
                value = self.model.read(access["address"], size)
                self.expected[name][cycle + latency] = None if access.get("write") else value
        for name in done:
            if self.offered[name].get("atomic"):
                self.expected[name][cycle + latency] = self.execute(name, self.offered[name])
        for name in done:
            access, size = self.offered[name], self.sizes[name]
            if access.get("write", name.startswith("write")):
                self.model.write(access["address"], size, access["data"], access["mask"])
        for name in self.names:
            self.waits[name] = 0 if name in done or not self.offered[name] else self.waits[name] + 1
            self.longest_wait[name] = max(self.longest_wait[name], self.waits[name])
            if name in done:
                self.offered[name] = None
        self.accesses += len(done)
        self.model.end_cycle()

    def execute(self, name, access):
        """Execute an atomic; return its result."""
        fields = {key: value for key, value in access.items() if key not in ("write", "atomic")}
        result = self.model.atomics.execute(int(name.partition("_")[2]), Atomic(**fields))
        self.conditional += access["operation"] == AtomicOperation.SC and result == 0
        return result

    async def fill(self, ctx):
        """Write zeros to all of memory, through the first port that can write."""
        name = next(name for name in reversed(self.names) if not name.startswith("read"))
        size = self.sizes[name]
        request = getattr(self.dut, name).request
        ctx.set(request.valid, 1)
        for address in range(0, self.dut.config.memory.size, size):
            access = {"address": address, "data": 0, "mask": (1 << size) - 1}
            ctx.set(request.payload, access | ({"write": 1} if name.startswith(CORES) else {}))
            await ctx.tick().until(request.ready)
        ctx.set(request.valid, 0)
        await ctx.tick().repeat(self.dut.config.memory.read_latency)

    async def run(self, ctx, cycles):
        """Drive and check for `cycles` cycles."""
        dut = self.dut
        readies = [getattr(dut, name).request.ready for name in self.names]
        responses = [getattr(dut, name).response for name in self.expected]
        valids = [response.valid for response in responses]
        payloads = [response.payload for response in responses]
        await self.fill(ctx)
        for cycle in range(cycles):
            self.offer(ctx)
            sampled = await ctx.tick().sample(dut.busy, *readies, *valids, *payloads)
            busy, *values = sampled[2:]
            ready = dict(zip(self.names, values, strict=False))
            valid = values[len(readies) : len(readies) + len(valids)]
            payload = values[len(readies) + len(valids) :]
            pending = any((*self.offered.values(), *self.expected.values(), self.model.busy))
            require_alike(busy, pending, "busy in cycle", cycle)
            for name, one, value in zip(self.expected, valid, payload, strict=True):
                require_alike(one, cycle in self.expected[name], name, "valid in cycle", cycle)
                if one and (right := self.expected[name].pop(cycle)) is not None:
                    require_alike(value, right, name, "in cycle", cycle)
            self.accept(cycle, ready)
