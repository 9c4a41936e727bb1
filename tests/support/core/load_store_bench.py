"""Bench of the load-store unit: random accesses on one side, a memory model on the other."""

from types import SimpleNamespace

from amaranth import Value

from spica.hw.core.units.lsu.load_store import LoadStoreUnit
from spica.hw.isa.operations import AtomicOperation, MemoryOperation
from spica.hw.lib.interfaces.execution_unit import operation_layout, result_layout
from spica.hw.lib.interfaces.memory_fault import MemoryFault, memory_fault_layout
from spica.sim.engine.testbench import put, require_no_loop, simulate
from spica.sim.golden.core.units.load_store import Access, fault_of, requests_of, size_of
from support.core.simple_memory import SimpleMemory
from support.packing import Packing

__all__ = [
    "BASE",
    "WORD",
    "Outcome",
    "completions",
    "make_access",
    "make_memory",
    "random_access",
    "run",
]

#: Base address of memory: addresses lie on both sides of a carry into their upper half.
BASE = 0x8000_FF80
PLAIN = [operation for operation in MemoryOperation if operation.name[0] in "LS"]
LOADS = [operation for operation in PLAIN if operation.name.startswith("L")]
ATOMIC = [operation for operation in MemoryOperation if operation.name.startswith("ATOMIC")]
#: Atomic operations on words only.
OF_WORDS = (AtomicOperation.LR, AtomicOperation.SC)
WORD = 0xFFFF_FFFF


def make_access(config, operation, addresses, *, immediate=0, **fields):
    """Return an access of all threads to these addresses; `fields` override."""
    store = operation.name.startswith("S")
    offset = 0 if operation in ATOMIC else immediate
    return Access(
        operation=operation,
        immediate=immediate & WORD,
        bases=tuple((address - offset) & WORD for address in addresses),
        **{
            "warp": 0,
            "mask": (1 << config.threads) - 1,
            "pc": 0x8000_0000,
            "rd": 0 if store else 5,
            "writes": not store,
            "values": (0,) * config.threads,
            "expected": (0,) * config.threads,
            **fields,
        },
    )


def random_address(rng, size, place, room):
    """Return a random legal address, mostly near others; also at the edges of memory."""
    kind = rng.random()
    if kind < 0.05:
        return BASE + rng.choice([0, room - size])
    if kind < 0.5:
        return BASE + (place + rng.randrange(16)) % room // size * size
    return BASE + rng.randrange(room // size) * size


def random_immediate(rng, operation):
    """Return a random immediate, or the operation and the ordering of an atomic access."""
    if operation not in ATOMIC:
        return rng.choice([0, 4, -4, 2047, -2048, rng.randrange(-2048, 2048)])
    is_word = operation == MemoryOperation.ATOMIC_W
    atomics = [one for one in AtomicOperation if is_word or one not in OF_WORDS]
    often = [AtomicOperation.LR, AtomicOperation.SC, AtomicOperation.CAS]
    chosen = rng.choice(often if is_word and rng.random() < 0.3 else atomics)
    value = chosen << 7 | rng.getrandbits(7)
    return value - (1 << 12 if value >> 11 else 0)


def random_access(rng, config, room, *, wrong=0.0, refused=0.0):
    """Return a random access within `room` bytes, with shares of illegal and refused addresses.

    In cores with atomics most accesses are atomic.
    """
    operation = rng.choice(PLAIN + 4 * ATOMIC * config.atomics)
    size, place = size_of(operation), rng.randrange(room)
    addresses = [random_address(rng, size, place, room) for _ in range(config.threads)]
    for thread in range(config.threads):
        if rng.random() < wrong:
            addresses[thread] = rng.choice([0, BASE + 1, BASE + 2, BASE + 3, 0x7FFF_FFFC, 2])
        if rng.random() < refused:
            far = 0x8000_0000 | rng.getrandbits(29) << 2
            addresses[thread] = rng.choice([BASE - 4, BASE + room, far, 0x8000_0000, 0xFFFF_FFFC])
    full = (1 << config.threads) - 1
    immediate = random_immediate(rng, operation)
    # A store-release has no register.
    has_result = operation in LOADS or (
        operation in ATOMIC and immediate >> 7 & 31 != AtomicOperation.STORE
    )
    writes = has_result and rng.random() < 0.95
    return make_access(
        config,
        operation,
        addresses,
        immediate=immediate,
        warp=rng.randrange(config.warps),
        mask=full if rng.random() < 0.5 else rng.randrange(full) + 1,
        pc=rng.randrange(1 << 30) * 4,
        rd=rng.randrange(1, 64) if writes else 0,
        writes=writes,
        values=random_values(rng, config),
        expected=random_values(rng, config),
    )


def random_values(rng, config):
    """Return a value for each thread, often an extreme."""
    return tuple(rng.choice([0, WORD, rng.getrandbits(32)]) for _ in range(config.threads))


def payloads_of(config, accesses):
    """Return the accesses as numbers of `operation_layout`; unused operands are arbitrary."""
    packing = Packing(operation_layout(config))
    return [
        packing.pack({
            "warp": access.warp,
            "mask": access.mask,
            "pc": access.pc,
            "operation": access.operation,
            "rd": access.rd,
            "writes": access.writes,
            "immediate": access.immediate,
            "rounding": access.rd % 8,
            "a_is_pc": 0,
            "b_is_immediate": access.operation in LOADS,
            "operands": [access.bases, access.values, access.expected],
        })
        for access in accesses
    ]


def as_numbers(port):
    """Return the same stream with its payload as a number."""
    return SimpleNamespace(payload=Value.cast(port.payload), valid=port.valid, ready=port.ready)


class Outcome:
    """Observed outcome with cycles: acceptances, results, faults."""

    def __init__(self):
        self.accepted_at, self.results, self.results_at = [], [], []
        self.faults, self.faults_at, self.busy = [], [], []
        self.announced = {}  # cycle: warp and register
        self.offered = {}  # number of a result: cycle of its first offer

    def refused(self):
        """Return the number of threads refused by memory."""
        return sum(f.mask.bit_count() for f in self.faults if f.kind == MemoryFault.REFUSED)


def run(config, accesses, memory, *, rng, stall=0.0, willing_from=0, until):
    """Run `accesses` until the outcome satisfies `until`, and a few cycles more.

    Results are accepted from cycle `willing_from` on.
    """
    dut, outcome, finished = require_no_loop(LoadStoreUnit(config)), Outcome(), []
    result_packing, fault_packing = (
        Packing(layout(config)) for layout in (result_layout, memory_fault_layout)
    )

    async def feed(ctx):
        await put(ctx, as_numbers(dut.i), payloads_of(config, accesses), rng=rng, stall=stall)

    async def watch(ctx):
        cycle, quiet = 0, 0
        while quiet < 4:
            willing = cycle >= willing_from and rng.random() >= stall
            ctx.set(dut.o.ready, willing)
            sampled = await ctx.tick().sample(
                dut.i.valid, dut.i.ready, dut.o.valid, Value.cast(dut.o.payload),
                dut.fault.valid, Value.cast(dut.fault.payload), dut.busy_warps,
                dut.arriving.valid, dut.arriving.payload.warp, dut.arriving.payload.rd,
            )  # fmt: skip
            _, _, offered, ready, valid, result, faulty, fault, busy, *arriving = sampled
            if arriving[0]:
                outcome.announced[cycle] = tuple(arriving[1:])
            if valid:
                outcome.offered.setdefault(len(outcome.results), cycle)
            if offered and ready:
                outcome.accepted_at.append(cycle)
            if valid and willing:
                outcome.results.append(SimpleNamespace(**result_packing.unpack(result)))
                outcome.results_at.append(cycle)
            if faulty:
                outcome.faults.append(SimpleNamespace(**fault_packing.unpack(fault)))
                outcome.faults_at.append(cycle)
            outcome.busy.append(busy)
            quiet += until(outcome)
            cycle += 1
        finished.append(True)

    async def serve(ctx):
        await memory.serve(ctx, dut.request, dut.response, lambda: bool(finished))

    simulate(dut, feed, watch, serve, timeout=200 + 200 * len(accesses))
    return outcome


def completions(config, accesses, memory):
    """Return the accesses in the order of their last responses, with the cycle of each."""
    owner = [
        number
        for number, access in enumerate(accesses)
        if fault_of(access) is None
        for _ in requests_of(config, access)
    ]
    left = [access.mask.bit_count() for access in accesses]
    order = {}
    for request, mask, cycle in memory.answers:
        left[owner[request]] -= mask.bit_count()
        if left[owner[request]] == 0:
            order[owner[request]] = cycle
    return order


def make_memory(config, rng, room=256, **manners):
    """Return a memory of `room` random bytes."""
    return SimpleMemory(
        config=config, base=BASE, contents=bytearray(rng.randbytes(room)), rng=rng, **manners
    )
