"""Bench of the issue stage inside a model of the rest of the core."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from amaranth import Cat
from amaranth.lib import data

from spica.hw.config import CoreConfig
from spica.hw.core.front_end_layouts import head_layout
from spica.hw.core.issue.issue import Issue
from spica.hw.core.issue.scoreboard_events import done_layout, register_event_layout
from spica.hw.core.issue.stall_reason import StallReason
from spica.hw.core.layouts import issue_layout
from spica.hw.isa.operations import HGMMA_GROUPS, Port
from spica.sim.engine.testbench import simulate
from support.core.issue_contract import IssueContract
from support.core.issue_entry import Cycle, Entry, pack_entry
from support.core.issue_surroundings import RestOfCore, Timing
from support.packing import Packing

__all__ = ["Run", "random_program", "run"]

#: Ports of random instructions with register groups.
GROUPED = (Port.SPECIAL, Port.MEMORY, Port.TENSOR)
#: Ports of a core without tensor instructions.
PLAIN_PORTS = CoreConfig().ports


@dataclass
class Run:
    """Statistics of a run: cycles, those until the last issue, and issue slots by reason."""

    cycles: int = 0
    until_last: int = 0
    slots: Counter = field(default_factory=Counter)

    def add(self, slots: list[StallReason]):
        """Count a cycle with these outcomes of its slots, NONE if issued."""
        self.cycles += 1
        self.slots.update(slots)
        if StallReason.NONE in slots:
            self.until_last = self.cycles

    @property
    def rate(self) -> float:
        """Instructions per cycle until the last is issued."""
        return self.slots[StallReason.NONE] / self.until_last


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


class IssueBench:
    """Inputs and outputs of the RTL, each as one number per cycle."""

    def __init__(self, config: CoreConfig, rng: random.Random):
        self.config, self.rng = config, rng
        self.dut = dut = Issue(config)
        warps, slots = config.warps, config.issue_width
        self.events = {
            "dispatched": register_event_layout(config),
            "arriving": register_event_layout(config),
            "written": done_layout(config),
        }
        self.head_width = head_layout(config).size
        warp_sets = ("active", "at_barrier", "started", "resume")
        inputs = data.StructLayout({
            "heads": data.ArrayLayout(data.ArrayLayout(self.head_width, warps), slots),
            "masks": data.ArrayLayout(config.threads, warps),
            **dict.fromkeys(warp_sets, warps),
            "released": len(config.credit_ports),
            **{name: data.ArrayLayout(layout, len(getattr(dut.results, name)))
               for name, layout in self.events.items()},
            "ready": slots,
        })  # fmt: skip
        offer = data.StructLayout({"valid": 1, "payload": issue_layout(config).size})
        outputs = data.StructLayout({
            "take": warps,
            "take_slot_1": 1,
            "drained": warps,
            "reason": data.ArrayLayout(4, warps),
            "slots": data.ArrayLayout(4, slots),
            "o": data.ArrayLayout(offer, slots),
        })
        self.input_packing, self.output_packing = Packing(inputs), Packing(outputs)
        heads = [head for entries in dut.heads for head in entries]
        states = (
            dut.warps.masks,
            dut.active,
            *(getattr(dut.warps, name) for name in warp_sets[1:]),
        )
        events = [getattr(dut.results, name) for name in self.events]
        readies = [o.ready for o in dut.o]
        self.inputs = Cat(*heads, *states, dut.released, *events, *readies)
        shown = (dut.take, dut.take_slot_1, dut.drained, dut.reason, dut.slots)
        self.outputs = Cat(*shown, *(Cat(o.valid, o.payload) for o in dut.o))

    def drive(self, ctx, cycle: Cycle) -> dict:
        """Set all inputs, random ones where nothing is valid; return all outputs."""
        values = {name: bits(getattr(cycle, name)) for name in ("active", "at_barrier")}
        values |= {name: bits(getattr(cycle, name)) for name in ("started", "resume")}
        for name in ("ready", "released"):
            values[name] = bits(n for n, is_set in enumerate(getattr(cycle, name)) if is_set)
        for name, layout in self.events.items():
            values[name] = [self.event(layout, event) for event in getattr(cycle, name)]
        slots = range(self.config.issue_width)
        values["heads"] = [[self.head(heads, slot) for heads in cycle.heads] for slot in slots]
        values["masks"] = cycle.masks
        ctx.set(self.inputs, self.input_packing.pack(values))
        return self.output_packing.unpack(ctx.get(self.outputs))

    def event(self, layout: data.StructLayout, event: tuple | None) -> dict:
        """Return an event, random if there is none."""
        _, *names = layout.members
        fields = event or [self.rng.getrandbits(6) for _ in names]
        return {"valid": event is not None, **dict(zip(names, fields, strict=True))}

    def head(self, heads: list[Entry], slot: int) -> int:
        """Return the bits of an instruction in a buffer, random if there is none."""
        if slot < len(heads):
            return pack_entry(self.config, heads[slot]) << 1 | 1
        return self.rng.getrandbits(self.head_width) & ~1


def bits(numbers) -> int:
    """Return a mask with these bits set."""
    return sum(1 << number for number in numbers)


def run(config: CoreConfig, programs: list[list[Entry]], timing: Timing, *, seed: int = 1) -> Run:
    """Run programs on the RTL; check all its outputs in every cycle."""
    rng = random.Random(seed)
    rest = RestOfCore(config, programs, timing, rng)
    bench, contract = IssueBench(config, rng), IssueContract(config, rest)
    result = Run()

    async def testbench(ctx):
        while not rest.done:
            cycle = rest.before()
            rest.after(*contract.check(cycle, bench.drive(ctx, cycle)))
            result.add(contract.slots)
            await ctx.tick()

    simulate(bench.dut, testbench)
    return result
