"""Sleep counter: cycles in which the cores of a cluster are asleep, for their counters."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..core.clock_control import SLEEP_WIDTH, SleepSignature
from ..emit.shared_block import SharedBlock

__all__ = ["SleepCounter", "SleepCounterConfig"]


@dataclass(frozen=True, kw_only=True)
class SleepCounterConfig:
    """Cores whose sleep is counted.

    Parameters
    ----------
    cores : int
    observed : bool
        Whether `pending` exists.

    """

    cores: int
    observed: bool = False


class SleepCounter(SharedBlock):
    """Sleep counter: counts the cycles asleep of each core while its clock may be stopped.

    It must be clocked in every cycle. The count of a core is in `slept` for one cycle, the second
    one awake, which the core's clock never misses. A core whose count is full wakes; it may be
    asleep again in the next cycle.

    | cycle | event                                                 |
    |-------|-------------------------------------------------------|
    | 0     | a core is asleep                                      |
    | n     | it is awake; n cycles are counted                     |
    | n + 1 | `slept` is n                                          |
    | n + 3 | the counters of the core cover the cycles up to n     |

    Parameters
    ----------
    config : SleepCounterConfig

    Members
    -------
    core : In(SleepSignature()).array(cores)
    pending : Out(ArrayLayout(SLEEP_WIDTH, cores))
        Only if observed: cycles asleep, except for the last 3 cycles, that the counters of a core
        lack.
    """

    def __init__(self, config: SleepCounterConfig):
        self.config = config
        pending = {"pending": Out(data.ArrayLayout(SLEEP_WIDTH, config.cores))}
        super().__init__({
            "core": In(SleepSignature()).array(config.cores),
            **(pending if config.observed else {}),
        })

    def build(self, platform):
        m = Module()
        for number, core in enumerate(self.core):
            count = Signal(SLEEP_WIDTH, name=f"count_{number}")
            m.d.comb += core.wakes.eq(count.all())
            m.d.sync += [
                count.eq(Mux(core.asleep, count + 1, 0)),
                core.slept.eq(Mux(core.asleep, 0, count)),
            ]
            if self.config.observed:
                before = Signal(SLEEP_WIDTH, name=f"before_{number}")
                m.d.sync += [before.eq(count), self.pending[number].eq(before)]
        return m
