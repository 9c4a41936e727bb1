"""Signatures and layouts of the control and status registers of a core."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..config import PipelineConfig
from ..isa.csr import PLACE_WIDTH
from ..lib.interfaces.core_memory import warp_shape
from ..lib.streams import ResponseSignature
from .clock_control import SLEEP_WIDTH

__all__ = [
    "FLAGS_WIDTH",
    "ROUNDING_WIDTH",
    "CounterSignature",
    "CsrSignature",
    "FloatStateSignature",
    "csr_answer_layout",
    "csr_lookup_layout",
    "flags_layout",
]

FLAGS_WIDTH, ROUNDING_WIDTH = 5, 3


def flags_layout(config: PipelineConfig) -> data.ArrayLayout:
    """Return the layout of the float flags raised on the writeback buses, one entry per bus."""
    bus = data.StructLayout({"valid": 1, "warp": warp_shape(config), "flags": FLAGS_WIDTH})
    return data.ArrayLayout(bus, config.writeback_buses)


def csr_lookup_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of a look-up: the warp, and whether mscratch is read, otherwise mepc."""
    return data.StructLayout({"scratch": 1, "warp": config.warp_width})


def csr_answer_layout() -> data.StructLayout:
    """Return the layout of a register that is read.

    ``value`` is common to all threads. With ``per_thread`` the thread index is to be added; its
    bits are 0 in ``value``. ``mepc`` is that of the warp, unless mscratch was selected.
    """
    fields = {"value": 32, "per_thread": 1, "exists": 1, "writable": 1, "mepc": 32}
    return data.StructLayout(fields)


class CsrSignature(wiring.Signature):
    """Access to the control registers by the instruction in execution.

    Members
    -------
    lookup : Out(ResponseSignature(csr_lookup_layout(config)))
        Selects a warp, and mscratch or mepc, for the following reads; in an earlier cycle than the
        read, and not in the cycle of a write.
    number : Out(12)
    warp : Out(warp_shape(config))
    warps : Out(warps)
        The same warp, one-hot.
    mask : Out(threads)
        Its active threads.
    answer : In(csr_answer_layout())
    is_command : In(1)
        A write is a command word for the cluster's matrix units.
    write : Out(1)
        The register takes `write_value`. Only float registers, mscratch and mepc are written;
        other writes have no effect.
    write_value : Out(32)
    """

    def __init__(self, config: PipelineConfig):
        super().__init__({
            "lookup": Out(ResponseSignature(csr_lookup_layout(config))),
            "number": Out(12),
            "warp": Out(warp_shape(config)),
            "warps": Out(config.warps),
            "mask": Out(config.threads),
            "answer": In(csr_answer_layout()),
            "is_command": In(1),
            "write": Out(1),
            "write_value": Out(32),
        })


class FloatStateSignature(wiring.Signature):
    """Float state of the warps: flags raised by results, and rounding modes.

    Members
    -------
    flags : Out(flags_layout(config))
    frm : In(ArrayLayout(3, warps))
        Dynamic rounding modes; software may write reserved ones. Stable while an instruction that
        needs one can issue.
    """

    def __init__(self, config: PipelineConfig):
        super().__init__({
            "flags": Out(flags_layout(config)),
            "frm": In(data.ArrayLayout(ROUNDING_WIDTH, config.warps)),
        })


class CounterSignature(wiring.Signature):
    """Counters that control registers read: the core's performance counters, cycles, instructions.

    Members
    -------
    number : Out(PLACE_WIDTH)
        Place of the performance counter to read.
    value : In(64)
        Value of that counter, in the same cycle.
    busy : In(1)
        This cycle counts in mcycle, visible from two cycles later on.
    slept : In(SLEEP_WIDTH)
        Earlier cycles to count in mcycle, with the same delay.
    retired : In(3)
        Instructions to count in minstret, with the same delay.
    mcycle, minstret : Out(64)
    """

    def __init__(self):
        super().__init__({
            "number": Out(PLACE_WIDTH),
            "value": In(64),
            "busy": In(1),
            "slept": In(SLEEP_WIDTH),
            "retired": In(3),
            "mcycle": Out(64),
            "minstret": Out(64),
        })
