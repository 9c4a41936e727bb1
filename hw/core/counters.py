"""Performance counters of a core: what happens in each cycle, summed up."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..config import CoreConfig
from ..isa.csr import COUNTERS
from ..shared_block import SharedBlock
from .barrier import ones
from .collectors import collector_events
from .operations import Port
from .register_file import register_events
from .stall_reason import StallReason

__all__ = ["COUNTED", "COUNTER_WIDTH", "CoreCounters", "core_events"]

#: Bits of a counter. A carry through 64 would be the longest path of a core.
COUNTER_WIDTH = 48
#: What is counted here; cycles and instructions are in the `CsrFile`.
COUNTED = [
    counter for counter in COUNTERS.values() if counter.name not in ("cycles", "instructions")
]


def core_events(config: CoreConfig) -> data.StructLayout:
    """Layout of what happens in a core in one cycle.

    ``operations`` has the ports whose units take an operation, ``is_store`` is of the memory
    port's; ``done`` has for each bus the threads of the instruction that is done, if one is.
    """
    return data.StructLayout({
        "operations": len(Port),
        "is_store": 1,
        "memory_request": 1,
        "fetch": 1,
        "registers": register_events(config),
        "collectors": collector_events(config),
        "done": data.ArrayLayout(config.threads, config.writeback_buses),
        "divergent_split": 1,
    })


class CoreCounters(SharedBlock):
    """Counts what happens in each cycle, modulo ``2**48``.

    What happens in a cycle is in the value 3 cycles later, whatever it is, and so it is in
    `mcycle` and `minstret`: at any time all counters tell of the same cycles, from the reset to
    the third before. Issue slots count in those in which the core is busy alone, and what becomes
    of each is known a cycle late, so that the sum of ``slots_…`` is `mcycle` times their number.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    busy : In(1)
        The core is at work in this cycle.
    slots : In(ArrayLayout(StallReason, issue_width))
        What became of each issue slot in the cycle before.
    events : In(core_events(config))
    was_busy : Out(1)
        `busy` of the cycle before.
    settling : Out(1)
        What happened in a cycle of work is still on its way; counting needs the clock.
    number : In(5)
        A counter's place in ``COUNTER_NUMBERS``.
    value : Out(64)
        What it holds, in the same cycle; 0 if nothing is counted there.
    values : Out(ArrayLayout(64, len(COUNTED)))
        What all hold, in the order of `COUNTED`.

    Attributes
    ----------
    counted : dict of str to Signal
        What each holds; a test can set it near its end.
    """

    busy: Signal
    slots: data.View
    events: data.View
    was_busy: Signal
    settling: Signal
    number: Signal
    value: Signal
    values: data.View

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__({
            "busy": In(1),
            "slots": In(data.ArrayLayout(StallReason, config.issue_width)),
            "events": In(core_events(config)),
            "was_busy": Out(1),
            "settling": Out(1),
            "number": In(5),
            "value": Out(64),
            "values": Out(data.ArrayLayout(64, len(COUNTED))),
        })
        self.counted = {one.name: Signal(COUNTER_WIDTH, name=one.name) for one in COUNTED}

    def build(self, platform):
        m = Module()
        # Events end long paths in other boxes: nothing is done with them in their cycle.
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
            counted, increment = self.counted[counter.name], increments[counter.name]
            step = Signal(len(increment), name=f"{counter.name}_step")
            m.d.sync += [step.eq(increment), counted.eq(counted + step)]
            m.d.comb += self.values[place].eq(counted)
        with m.Switch(self.number):
            for counter in COUNTED:
                with m.Case(counter.place):
                    m.d.comb += self.value.eq(self.counted[counter.name])
        return m

    def slot_increments(self) -> dict[str, Value]:
        """Return how many slots became what in the cycle before."""
        slots = [Value.cast(self.slots[slot]) for slot in range(self.config.issue_width)]
        return {
            f"slots_{reason.name.lower()}": ones(
                Cat((slot == reason) & self.was_busy for slot in slots)
            )
            for reason in StallReason
        }

    def increments(self, happened) -> dict[str, Value]:
        """Return how often everything else happened in the cycle before."""
        memory = happened.operations[Port.MEMORY]
        return {
            **{
                f"operations_{port.name.lower()}": happened.operations[port]
                for port in Port
                if port is not Port.MEMORY
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
