"""Wait table: warps that sleep until a unit of the cluster has made progress."""

from typing import Any

from amaranth import *
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from ...config import CoreBlockConfig, PipelineConfig
from ...emit.shared_block import SharedBlock
from ...isa.progress import PROGRESS_WIDTH
from ...lib.interfaces.progress import ProgressSignature

__all__ = [
    "WaitArrivalSignature",
    "WaitCondition",
    "WaitTable",
    "progress_ports",
    "wait_entry_layout",
]


class WaitCondition(enum.IntEnum, shape=1):
    """Condition of an entry on the value of its register."""

    AT_MOST = 0  #: value <= n
    AT_LEAST = 1  #: value is at or past n, modulo 2**PROGRESS_WIDTH


def wait_entry_layout(config: CoreBlockConfig) -> data.StructLayout:
    """Return the layout of the wait of a warp: register, condition, and the complement of n."""
    return data.StructLayout({
        "condition": WaitCondition,
        "register": range(len(config.progress)),
        "not_n": PROGRESS_WIDTH,
    })


def progress_ports(config: CoreBlockConfig) -> dict[str, Any]:
    """Return the port of a core, or of a part of it, for registers of units: none without any."""
    registers = len(config.progress)
    return {"progress": In(ProgressSignature(registers))} if config.core.awaits_units else {}


class WaitArrivalSignature(wiring.Signature):
    """Begin of a warp's wait for a unit register.

    Members
    -------
    warps : Out(warps)
        One-hot, or 0: the warp that begins to wait. It must not be waiting.
    address, n : Out(32)
        Operands of ``vx_wait``.
    refused : In(1)
        Combinational: warps cannot wait for this address; no state changes.
    clear : Out(1)
        Clears all waiting warps; no warp arrives in that cycle.
    """

    def __init__(self, config: PipelineConfig):
        super().__init__({
            "warps": Out(config.warps),
            "address": Out(32),
            "n": Out(32),
            "refused": In(1),
            "clear": Out(1),
        })


class WaitTable(SharedBlock):
    """Wait table: an entry per warp, released when its condition holds.

    | cycle | event                                                                    |
    |-------|--------------------------------------------------------------------------|
    | 0     | a warp arrives                                                           |
    | 1     | it waits; from now on its condition is compared with `progress`          |
    | n     | the condition holds: `released`, combinationally                         |
    | n + 1 | it does not wait                                                         |

    A valid entry is compared with the current value in every cycle, so no value that a register
    has for a cycle is missed, and a condition that holds already releases in cycle 1. Warps arrive
    one per cycle; any number is released in a cycle. Values are compared modulo
    ``2**PROGRESS_WIDTH``: a counter must be less than half of that before or past n. Other
    registers are below half of it, and a larger n counts as half of it, less 1.

    Parameters
    ----------
    config : CoreBlockConfig
        With `progress`.

    Members
    -------
    arrival : In(WaitArrivalSignature(config.core))
    progress : In(ProgressSignature(len(config.progress)))
        While it is behind, no warp is released.
    waiting : Out(warps)
    released : Out(warps)
    """

    def __init__(self, config: CoreBlockConfig):
        self.config = config
        self.warps = config.core.warps
        super().__init__({
            "arrival": In(WaitArrivalSignature(config.core)),
            "progress": In(ProgressSignature(len(config.progress))),
            "waiting": Out(self.warps),
            "released": Out(self.warps),
        })

    def build(self, platform):
        m = Module()
        arrival, layout = self.arrival, wait_entry_layout(self.config)
        arriving = self.entry_of_arrival(m)
        begins = Mux(arrival.refused, 0, arrival.warps)
        m.d.sync += self.waiting.eq(
            Mux(arrival.clear, 0, (self.waiting & ~self.released) | begins),
        )
        for warp in range(self.warps):
            entry = Signal(layout, name=f"entry_{warp}", reset_less=True)
            with m.If(arrival.warps[warp]):
                m.d.sync += entry.eq(arriving)
            m.d.comb += self.released[warp].eq(
                self.waiting[warp] & ~self.progress.is_behind & self.holds(m, warp, entry)
            )
        return m

    def entry_of_arrival(self, m: Module) -> data.View:
        """Return the entry of the arriving warp; drive `refused`."""
        arrival = self.arrival
        entry: data.View = Signal(wait_entry_layout(self.config))
        n = Signal(PROGRESS_WIDTH)
        largest = (1 << (PROGRESS_WIDTH - 1)) - 1
        m.d.comb += [arrival.refused.eq(1), n.eq(arrival.n), entry.not_n.eq(~n)]
        with m.Switch(arrival.address):
            for number, register in enumerate(self.config.progress):
                with m.Case(register.address):
                    m.d.comb += [arrival.refused.eq(0), entry.register.eq(number)]
                    if register.is_counter:
                        m.d.comb += entry.condition.eq(WaitCondition.AT_LEAST)
        with m.If((entry.condition == WaitCondition.AT_MOST) & (arrival.n > largest)):
            m.d.comb += n.eq(largest)
        return entry

    def holds(self, m: Module, warp: int, entry: data.View) -> Value:
        """Return whether the condition of an entry holds."""
        is_counter = entry.condition == WaitCondition.AT_LEAST
        value = Signal(PROGRESS_WIDTH, name=f"value_{warp}")
        # value - n for a counter, otherwise value - n - 1: the sign is that of the difference.
        difference = Signal(PROGRESS_WIDTH, name=f"difference_{warp}")
        m.d.comb += [
            value.eq(self.progress.values[entry.register]),
            difference.eq(value + entry.not_n + is_counter),
        ]
        return difference[-1] ^ is_counter
