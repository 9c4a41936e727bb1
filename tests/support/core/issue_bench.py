"""Bench of the issue stage: model, or model and RTL, inside a model of the rest of the core."""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache

from amaranth import Cat
from amaranth.lib import data

from spica.hw.config import CoreConfig
from spica.hw.core.front_end_layouts import head_layout
from spica.hw.core.issue.issue import Issue
from spica.hw.core.issue.scoreboard import done_layout, register_event_layout
from spica.hw.core.issue.stall_reason import StallReason
from spica.hw.core.layouts import decoded_layout, issue_layout, product_field
from spica.hw.isa.operations import HGMMA_GROUPS, Port
from spica.sim.engine.testbench import simulate
from spica.sim.golden.core.issue.issue import Cycle, Entry, IssueModel, Offer, Outcome
from support.core.issue_surroundings import RestOfCore, Timing

__all__ = ["Run", "pack_entry", "random_program", "run_beside", "run_model"]

#: Ports of random instructions with register groups.
GROUPED = (Port.SPECIAL, Port.MEMORY, Port.TENSOR)
#: Ports of a core without tensor instructions.
PLAIN_PORTS = CoreConfig().ports


@dataclass
class Run:
    """Statistics of a run: cycles, and issue slots by reason (NONE: issued)."""

    width: int
    cycles: int = 0
    slots: Counter = field(default_factory=Counter)

    def add(self, outcome: Outcome):
        """Count a cycle."""
        self.cycles += 1
        self.slots.update(outcome.slots)

    @property
    def rate(self) -> float:
        """Instructions issued per cycle."""
        return self.slots[StallReason.NONE] / self.cycles


def random_grouped(rng: random.Random, size: int, ports: Sequence[Port]) -> Entry:
    """Return a random instruction with register groups among the first 12 registers."""
    grouped = tuple(rng.random() < 0.7 for _ in range(4))
    rd, *sources = (
        size * rng.randrange(1, 3) if group else rng.randrange(1, 3 * size) for group in grouped
    )
    return Entry(
        pc=rng.getrandbits(32),
        port=rng.choice([port for port in GROUPED if port in ports]),
        rd=rd,
        writes=rng.random() < 0.8,
        sources=tuple(sources),
        reads=tuple(rng.random() < 0.7 for _ in range(3)),
        grouped=grouped,
        last=size - 1,
    )


def random_product(rng: random.Random) -> Entry:
    """Return an ``hgmma`` with random addresses."""
    grouped = tuple(field in HGMMA_GROUPS.by_field for field in range(4))
    first = HGMMA_GROUPS.destination.first
    return Entry(
        pc=rng.getrandbits(32),
        port=Port.TENSOR,
        rd=first,
        writes=True,
        sources=(rng.randrange(1, 5), rng.randrange(1, 5), first),
        reads=(True, True, True),
        grouped=grouped,
        last=HGMMA_GROUPS.size - 1,
    )


def random_program(
    rng: random.Random,
    length: int,
    registers: int = 5,
    group_size: int | None = None,
    ports: Sequence[Port] = PLAIN_PORTS,
) -> list[Entry]:
    """Return random instructions of all `ports` with all kinds of dependences.

    One in four has register groups if their size is given. Half of those that serialise await
    products.
    """
    program = []
    for _ in range(length):
        if group_size is not None and rng.random() < 0.25:
            is_product = group_size == HGMMA_GROUPS.size
            program.append(
                random_product(rng) if is_product else random_grouped(rng, group_size, ports)
            )
            continue
        port = rng.choice(ports)
        control = port == Port.CONTROL
        reads = tuple(rng.random() < 0.6 for _ in range(3))
        serialises = control and rng.random() < 0.3
        program.append(
            Entry(
                pc=rng.getrandbits(32),
                port=port,
                rd=rng.choice([*range(1, registers), 63]),
                writes=rng.random() < (0.3 if control else 0.8),
                sources=tuple(rng.choice([*range(registers), 63]) for _ in range(3)),
                reads=reads,
                stalls_warp=control or (port == Port.INT and rng.random() < 0.1),
                serialises=serialises,
                awaits_products=serialises and rng.random() < 0.5,
            )
        )
    return program


def run_model(
    config: CoreConfig,
    programs: list[list[Entry]],
    timing: Timing,
    *,
    seed: int = 1,
    model: IssueModel | None = None,
) -> Run:
    """Run programs on the model alone."""
    rest = RestOfCore(config, programs, timing, random.Random(seed))
    model = model or IssueModel(config)
    run = Run(config.issue_width)
    while not rest.done:
        cycle = rest.before()
        outcome = model.step(cycle)
        rest.after(outcome, accepted(outcome, cycle))
        run.add(outcome)
    return run


def accepted(outcome: Outcome, cycle: Cycle) -> list[Offer]:
    """Return the accepted offers."""
    pairs = zip(outcome.offered, cycle.ready, strict=True)
    return [offer for offer, ready in pairs if offer is not None and ready]


def run_beside(
    config: CoreConfig,
    programs: list[list[Entry]],
    timing: Timing,
    *,
    seed: int = 1,
    model: IssueModel | None = None,
    dut: Issue | None = None,
) -> Run:
    """Run programs on the model and the RTL; compare all outputs in every cycle."""
    dut = dut or Issue(config)
    rng = random.Random(seed)
    rest = RestOfCore(config, programs, timing, rng)
    model = model or IssueModel(config)
    run = Run(config.issue_width)
    inputs = Cat(
        *(head for heads in dut.heads for head in heads),
        *(dut.masks, dut.active, dut.at_barrier, dut.started, dut.resume, dut.released),
        *(dut.dispatched, dut.arriving, dut.written),
        *(o.ready for o in dut.o),
    )
    outputs = Cat(
        dut.take,
        dut.take_slot_1,
        dut.drained,
        dut.reason,
        *(Cat(o.valid, o.payload) for o in dut.o),
    )

    async def testbench(ctx):
        last = [StallReason.IDLE] * config.issue_width
        while not rest.done:
            cycle = rest.before()
            ctx.set(inputs, pack_cycle(config, cycle, rng))
            found, slots = ctx.get(outputs), ctx.get(dut.slots.as_value())
            outcome = model.step(cycle)
            expected, care = pack_outcome(config, outcome)
            message = f"cycle {run.cycles}: {outcome}"
            assert (found ^ expected) & care == 0, message
            assert slots == join((4, reason) for reason in last), message
            last = outcome.slots
            rest.after(outcome, accepted(outcome, cycle))
            run.add(outcome)
            await ctx.tick()

    simulate(dut, testbench)
    return run


def join(fields: Iterable[tuple[int, int]]) -> int:
    """Return the values of ``(width, value)`` concatenated, the first lowest."""
    total = position = 0
    for width, value in fields:
        assert 0 <= value < 1 << width
        total |= int(value) << position
        position += width
    return total


def struct(layout: data.StructLayout, values: dict) -> int:
    """Return the bits of a struct as a number."""
    widths = ((name, part.width) for name, part in layout)
    return join((width, int(values[name])) for name, width in widths)


def bits(numbers: Iterable[int]) -> int:
    """Return a mask with these bits set."""
    return sum(1 << number for number in numbers)


@cache
def pack_entry(config: CoreConfig, entry: Entry) -> int:
    """Return a decoded instruction; fields that issue ignores derive from its pc."""
    pc = entry.pc
    names = ("port", "rd", "writes", "stalls_warp", "serialises", *product_field(config))
    values = {name: getattr(entry, name) for name in names}
    passed = {"operation": pc & 31, "immediate": pc ^ 0xFFFF_FFFF, "rounding": pc >> 5 & 7}
    flags = {"a_is_pc": pc >> 8 & 1, "b_is_immediate": pc >> 9 & 1}
    sources = join((6, source) for source in entry.sources)
    reads = join((1, read) for read in entry.reads)
    groups = {"grouped": join((1, each) for each in entry.grouped), "last": entry.last}
    return struct(
        decoded_layout(config),
        values | passed | flags | groups | {"pc": pc, "sources": sources, "reads": reads},
    )


def pack_cycle(config: CoreConfig, cycle: Cycle, rng: random.Random) -> int:
    """Return all inputs, with random payloads where nothing is valid."""
    fields = []
    head_width = head_layout(config).size
    for slot in range(config.issue_width):
        for heads in cycle.heads:
            there = slot < len(heads)
            noise = rng.getrandbits(head_width) & ~1
            fields.append((
                head_width,
                pack_entry(config, heads[slot]) << 1 | 1 if there else noise,
            ))
    fields += [(config.threads, mask) for mask in cycle.masks]
    for warps in (cycle.active, cycle.at_barrier, cycle.started, cycle.resume):
        fields.append((config.warps, bits(warps)))
    fields += [(1, released) for released in cycle.released]
    event, done = register_event_layout(config), done_layout(config)
    for layout, news in [(event, cycle.dispatched), (event, cycle.arriving), (done, cycle.written)]:
        names = list(layout.members)
        for one in news:
            values = struct(layout, dict(zip(names, (1, *one), strict=True))) if one else None
            noise = rng.getrandbits(layout.size) & ~1
            fields.append((layout.size, noise if values is None else values))
    fields += [(1, ready) for ready in cycle.ready]
    return join(fields)


def pack_outcome(config: CoreConfig, outcome: Outcome) -> tuple[int, int]:
    """Return all outputs except the slots, and a mask of those that matter."""
    taken = 0 if outcome.taken is None else 1 << outcome.taken
    fields = [(config.warps, taken), (1, outcome.second), (config.warps, bits(outcome.drained))]
    fields += [(4, reason) for reason in outcome.reasons]
    care = [(width, (1 << width) - 1) for width, _ in fields]
    layout = issue_layout(config)
    for offer in outcome.offered:
        fields.append((1, offer is not None))
        care.append((1, 1))
        payload = 0
        if offer is not None:
            pending = join((1, waits) for waits in offer.pending)
            values = {
                "warp": offer.warp,
                "mask": offer.mask,
                "pending": pending,
                "beat": offer.beat,
            }
            payload = struct(layout, values | {"instruction": pack_entry(config, offer.entry)})
        fields.append((layout.size, payload))
        care.append((layout.size, (1 << layout.size) - 1 if offer is not None else 0))
    return join(fields), join(care)
