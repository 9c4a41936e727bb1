"""Phase wait table: warps that sleep until a phase of a transaction barrier has completed."""

from dataclasses import dataclass
from typing import Annotated

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...config.ranges import Integers, require_ranges
from ...emit.shared_block import SharedBlock

__all__ = ["PhaseWaitConfig", "PhaseWaitSignature", "PhaseWaitTable", "phase_layout"]


@dataclass(frozen=True, kw_only=True)
class PhaseWaitConfig:
    """Size of a phase wait table.

    Parameters
    ----------
    warps : int
    place_width : int
        Bits of the number of a barrier.

    """

    warps: Annotated[int, Integers(1, 32)] = 8
    place_width: Annotated[int, Integers(1, 21)] = 14

    def __post_init__(self):
        require_ranges(self)


def phase_layout(config: PhaseWaitConfig) -> data.StructLayout:
    """Return the layout of a phase: number of the barrier, and parity."""
    return data.StructLayout({"place": config.place_width, "parity": 1})


class PhaseWaitSignature(wiring.Signature):
    """Waits of warps, answers to their tests, and ends of phases, seen from their source.

    Members
    -------
    arrivals : Out(config.warps)
        One-hot, or 0: the warp that begins to wait. It must not be waiting. Its test goes to the
        unit of transaction barriers in this cycle or later.
    arrival : Out(phase_layout(config))
    answers : Out(config.warps)
        One-hot, or 0: the warp whose test is answered. There is one answer to each arrival.
    holds : Out(1)
        The answer: the phase has completed.
    completed_valid : Out(1)
    completed : Out(phase_layout(config))
        A phase that has completed.
    clear : Out(1)
        Clears all waiting warps; no warp arrives in that cycle, and no answer is outstanding.
    """

    def __init__(self, config: PhaseWaitConfig):
        super().__init__({
            "arrivals": Out(config.warps),
            "arrival": Out(phase_layout(config)),
            "answers": Out(config.warps),
            "holds": Out(1),
            "completed_valid": Out(1),
            "completed": Out(phase_layout(config)),
            "clear": Out(1),
        })


class PhaseWaitTable(SharedBlock):
    """Phase wait table: an entry per warp, released by the end of its phase or by its test.

    | cycle | event                                                                        |
    |-------|------------------------------------------------------------------------------|
    | 0     | a warp arrives                                                               |
    | 1     | it waits; from now on each `completed` is compared with its phase            |
    | n     | its test is answered, and its phase has completed by then: `released`,       |
    |       | combinationally; or later, in the cycle in which `completed` is its phase    |
    | n + 1 | it does not wait                                                             |

    No end of a phase is missed if the unit of transaction barriers answers a test and reports an
    end in the order in which they happen: an end before the test is in its answer, a later one is
    compared, also if the next phase of that barrier ends before the warp runs. A warp that has seen
    the end of its phase still waits for the answer, so that no answer belongs to a later wait. Any
    number of warps is released in a cycle.

    Parameters
    ----------
    config : PhaseWaitConfig

    Members
    -------
    waits : In(PhaseWaitSignature(config))
    waiting : Out(config.warps)
    released : Out(config.warps)
    """

    def __init__(self, config: PhaseWaitConfig):
        self.config = config
        super().__init__({
            "waits": In(PhaseWaitSignature(config)),
            "waiting": Out(config.warps),
            "released": Out(config.warps),
        })

    def build(self, platform):
        m = Module()
        waits, count = self.waits, self.config.warps
        answered, ended, ends, matches = (
            Signal(count, name=name) for name in ("answered", "ended", "ends", "matches")
        )
        for warp in range(count):
            entry = Signal(phase_layout(self.config), name=f"entry_{warp}", reset_less=True)
            with m.If(waits.arrivals[warp]):
                m.d.sync += entry.eq(waits.arrival)
            m.d.comb += matches[warp].eq(entry.as_value() == waits.completed.as_value())
        seen = Mux(waits.completed_valid, matches, 0) | Mux(waits.holds, waits.answers, 0)
        m.d.comb += [
            ends.eq(ended | seen),
            self.released.eq(self.waiting & (answered | waits.answers) & ends),
        ]
        m.d.sync += [
            self.waiting.eq(Mux(waits.clear, 0, (self.waiting & ~self.released) | waits.arrivals)),
            answered.eq((answered | waits.answers) & ~waits.arrivals),
            ended.eq(ends & ~waits.arrivals),
        ]
        return m
