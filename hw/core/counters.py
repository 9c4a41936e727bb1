"""Performance counters of a core: sums of the events of each cycle."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..config import PipelineConfig
from ..emit.shared_block import SharedBlock
from ..isa.csr import COUNTERS, PLACE_WIDTH
from ..isa.operations import PORTS, Port
from ..lib.one_hot import ones
from .clock_control import SLEEP_WIDTH
from .issue.stall_reason import StallReason
from .operands.collector_pool import collector_events
from .operands.register_file import register_events

__all__ = ["COUNTED", "COUNTER_WIDTH", "CoreCounters", "core_events"]

#: Bits of a counter. A 64-bit carry would be the longest path of a core.
COUNTER_WIDTH = 48
#: Counters of this block; cycles and instructions are in the `CsrFile`.
COUNTED = [
    counter for counter in COUNTERS.values() if counter.name not in ("cycles", "instructions")
]


def core_events(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of the events of one cycle.

    ``operations`` marks the ports whose units accept an operation; ``is_store`` qualifies the
    memory port. ``done`` has for each bus the thread mask of the instruction that retires, or 0.
    """
    return data.StructLayout({
        "operations": len(config.ports),
        "is_store": 1,
        "memory_request": 1,
        "fetch": 1,
        "registers": register_events(config),
        "collectors": collector_events(config),
        "done": data.ArrayLayout(config.threads, config.writeback_buses),
        "divergent_split": 1,
    })


class CoreCounters(SharedBlock):
    """Performance counters: count the events of each cycle, modulo ``2**48``.

    Every event is visible 3 cycles later, in these counters as in `mcycle` and `minstret`: all
    counters cover the same cycles, from reset to the third cycle before the read. Issue slots
    count only in cycles with `busy`. Their outcome arrives one cycle late. In cycles asleep all
    slots are empty for the reason BARRIER; they are added later. The sum of ``slots_…`` is `mcycle`
    times the number of slots.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    busy : In(1)
        The core is awake in this cycle.
    slept : In(SLEEP_WIDTH)
        Earlier cycles in which it was asleep.
    slots : In(ArrayLayout(StallReason, issue_width))
        Outcome of each issue slot in the previous cycle.
    events : In(core_events(config))
    was_busy : Out(1)
        `busy` of the previous cycle.
    settling : Out(1)
        Events of a busy cycle are still uncounted; counting needs the clock.
    number : In(PLACE_WIDTH)
        Place of a counter.
    value : Out(64)
        Its value in the same cycle; 0 if no counter has this place.
    values : Out(ArrayLayout(64, len(COUNTED)))
        Values of all counters, in the order of `COUNTED`.

    Attributes
    ----------
    counted : dict of str to Signal
        Register of each counter, by name; a test can set it near overflow. Those of a port that
        the core lacks have none and read 0.
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        super().__init__({
            "busy": In(1),
            "slept": In(SLEEP_WIDTH),
            "slots": In(data.ArrayLayout(StallReason, config.issue_width)),
            "events": In(core_events(config)),
            "was_busy": Out(1),
            "settling": Out(1),
            "number": In(PLACE_WIDTH),
            "value": Out(64),
            "values": Out(data.ArrayLayout(64, len(COUNTED))),
        })
        absent = [f"operations_{port.name.lower()}" for port in set(Port) - set(config.ports)]
        self.counted = {
            one.name: Signal(COUNTER_WIDTH, name=one.name)
            for one in COUNTED
            if one.name not in absent
        }

    def build(self, platform):
        m = Module()
        # Events end long paths in other blocks, so they are registered first.
        happened = Signal.like(self.events)
        before = Signal()
        m.d.sync += [
            happened.eq(self.events),
            self.was_busy.eq(self.busy),
            before.eq(self.was_busy),
        ]
        m.d.comb += self.settling.eq(self.was_busy | before)
        increments = self.slot_increments() | self.increments(happened)
        for place, counter in enumerate(COUNTED):
            if counter.name not in self.counted:
                continue
            counted, increment = self.counted[counter.name], increments[counter.name]
            step = Signal(len(increment), name=f"{counter.name}_step")
            m.d.sync += [step.eq(increment), counted.eq(counted + step)]
            m.d.comb += self.values[place].eq(counted)
        with m.Switch(self.number):
            for counter in COUNTED:
                if counter.name in self.counted:
                    with m.Case(counter.place):
                        m.d.comb += self.value.eq(self.counted[counter.name])
        return m

    def slot_increments(self) -> dict[str, Value]:
        """Return the number of slots with each outcome, previous cycles asleep included."""
        slots = [Value.cast(self.slots[slot]) for slot in range(self.config.issue_width)]
        increments = {
            f"slots_{reason.name.lower()}": ones(
                Cat((slot == reason) & self.was_busy for slot in slots)
            )
            for reason in StallReason
        }
        increments["slots_barrier"] += self.slept * len(slots)
        return increments

    def increments(self, happened: data.View) -> dict[str, Value]:
        """Return the increments of all other counters for the previous cycle."""
        memory = happened.operations[Port.MEMORY]
        return {
            **{
                f"operations_{port.name.lower()}": happened.operations[port]
                for port in self.config.ports
                if PORTS[port].counter is not None
            },
            "loads": memory & ~happened.is_store,
            "stores": memory & happened.is_store,
            "memory_requests": happened.memory_request,
            "fetches": happened.fetch,
            "register_reads": ones(happened.registers.reads),
            "register_writes": ones(happened.registers.writes),
            "read_conflicts": ones(happened.registers.read_conflicts),
            "write_conflicts": ones(happened.registers.write_conflicts),
            "operands_snooped": happened.collectors.snooped,
            "collectors_occupied": happened.collectors.occupied,
            "thread_instructions": ones(Value.cast(happened.done)),
            "divergent_splits": happened.divergent_split,
        }
