"""Proofs of the wait table: no wake-up of a warp is lost, and none comes early."""

from amaranth import *

from spica.hw.config import CoreBlockConfig, PipelineConfig, ProgressConfig
from spica.hw.core.clock_control import ClockControl
from spica.hw.core.control.wait_table import WaitTable, wait_entry_layout
from spica.hw.isa.progress import PROGRESS_WIDTH

from .proof import Proof
from .properties import Assert, Assume, Properties

__all__ = ["PROOFS"]

#: Registers by whether they are counters; the address of each is its number.
REGISTERS = (False, True, True)


class Sleep(Properties):
    """One arbitrary warp: arrival, sleep and release, with any values in any cycle.

    The clock runs in the cycles in which the clock control of the core needs it, and in any others.

    Assumptions: one warp arrives at a time, and none that sleeps; a warp that waits is active, and
    an arrival is in flight; values that are no counters are below half of the modulus.
    """

    def __init__(self, warps: int):
        self.config = CoreBlockConfig(
            core=PipelineConfig(warps=warps, awaits_units=True),
            cores=1,
            barriers=1,
            barrier_scope="cluster",
            progress=tuple(
                ProgressConfig(address=number, is_counter=is_counter)
                for number, is_counter in enumerate(REGISTERS)
            ),
        )
        width = wait_entry_layout(self.config).size
        super().__init__(
            free={"warps": warps, "address": 32, "operand": 32, "clear": 1, "is_behind": 1}
            | {"active": warps, "in_flight": 1, "is_clocked": 1}
            | {f"value_{number}": PROGRESS_WIDTH for number, _ in enumerate(REGISTERS)},
            fixed={"who": range(warps)},
            inside={f"entry_{warp}": (f"waits.entry_{warp}", width) for warp in range(warps)},
        )

    def state(self, m):
        self.dut = dut = WaitTable(self.config)
        m.submodules.clock_control = clock = ClockControl(len(self.warps))
        m.submodules.waits = EnableInserter(clock.busy | self.is_clocked)(dut)
        values = [getattr(self, f"value_{number}") for number, _ in enumerate(REGISTERS)]
        arrival, own = dut.arrival, Signal(len(self.warps))
        self.asleep, self.register = asleep, register = Signal(), Signal(range(len(REGISTERS)))
        self.n = n = Signal(32)
        arrives = (self.warps & own).any()
        is_known = self.address < len(REGISTERS)
        holds = Signal()
        m.d.comb += [
            own.eq(1 << self.who),
            arrival.warps.eq(self.warps),
            arrival.address.eq(self.address),
            arrival.n.eq(self.operand),
            arrival.clear.eq(self.clear),
            dut.progress.is_behind.eq(self.is_behind),
            *(dut.progress.values[number].eq(value) for number, value in enumerate(values)),
            Assume((self.warps & (self.warps - 1)) == 0),
            Assume(~(arrives & asleep) & ~(self.warps.any() & self.clear)),
            Assume(self.in_flight | ~(self.warps.any() | self.clear)),
            Assume((dut.waiting & ~self.active) == 0),
            clock.active.eq(self.active),
            clock.waiting.eq(dut.waiting),
            clock.released.eq(dut.released),
            clock.in_flight.eq(self.in_flight),
            *(
                Assume(~value[-1])
                for value, is_counter in zip(values, REGISTERS, strict=True)
                if not is_counter
            ),
        ]
        with m.Switch(register):
            for number, (value, is_counter) in enumerate(zip(values, REGISTERS, strict=True)):
                past = Signal(PROGRESS_WIDTH, name=f"past_{number}")
                m.d.comb += past.eq(value - n)
                with m.Case(number):
                    m.d.comb += holds.eq(~past[-1] if is_counter else value <= n)
        released = (dut.released & own).any()
        m.d.comb += [
            Assert((dut.waiting & own).any() == asleep),
            Assert(released == (asleep & holds & ~self.is_behind)),
            Assert(~self.warps.any() | (arrival.refused == ~is_known)),
        ]
        m.d.sync += asleep.eq(~self.clear & ((asleep & ~released) | (arrives & is_known)))
        with m.If(arrives):
            m.d.sync += [register.eq(self.address), n.eq(self.operand)]

    def relate(self, m):
        layout = wait_entry_layout(self.config)
        entries = Array(getattr(self, name) for name in self.inside)
        entry = Signal(layout)
        kinds = Const(
            sum(is_counter << k for k, is_counter in enumerate(REGISTERS)), len(REGISTERS)
        )
        largest = (1 << (PROGRESS_WIDTH - 1)) - 1
        is_counter = kinds.bit_select(self.register, 1)
        compared = Mux(is_counter | (self.n <= largest), self.n, largest)[:PROGRESS_WIDTH]
        m.d.comb += [
            Value.cast(entry).eq(entries[self.who]),
            Assert(~self.asleep | (self.register < len(REGISTERS))),
            Assert(
                ~self.asleep
                | (
                    (entry.register == self.register)
                    & (entry.condition == is_counter)
                    & (entry.not_n == ~compared)
                )
            ),
        ]


PROOFS = (
    Proof(
        name="wait_table",
        says="a warp that sleeps continues in the first cycle in which the value of its register "
        "meets its condition, also if that lasts for one cycle only, and not before, whether the "
        "clock of the core stops meanwhile or not; only an address without a register is refused",
        size="2 warps, 3 registers",
        kind=Sleep,
        arguments=(2,),
    ),
    Proof(
        name="wait_table_8",
        says="the same",
        size="8 warps, 3 registers",
        kind=Sleep,
        arguments=(8,),
    ),
)
