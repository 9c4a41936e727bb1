"""Control and status registers of a core."""

from functools import reduce
from operator import or_

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from ..config import CoreBlockConfig, PipelineConfig
from ..emit.shared_block import SharedBlock
from ..emit.sram_macros import ONE_PORT
from ..isa.csr import BLOCK_BIT, BLOCK_PLACES, CSRS, PLACE_WIDTH, USED_BLOCKS
from ..isa.memory_map import ARGUMENTS, SHARED_BASE
from ..lib.interfaces.core_memory import warp_shape
from ..lib.one_hot import select
from ..lib.sram import Sram
from ..lib.streams import ResponseSignature
from .launch import core_shape, launch_ports

__all__ = [
    "ISA",
    "CounterSignature",
    "CsrFile",
    "CsrSignature",
    "FloatStateSignature",
    "csr_answer_layout",
    "flags_layout",
]

#: Bits of the index of a counter in its block.
INDEX_WIDTH = ceil_log2(BLOCK_PLACES)
#: misa: 32 bits, F, I, M.
ISA = 1 << 30 | 1 << 5 | 1 << 8 | 1 << 12
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


def count(m: Module, sum_low: Signal, events: Value) -> Value:
    """Return a 64-bit count of `events`; `sum_low` is its lower half, a cycle ahead.

    The upper half adds the carry of the lower half a cycle later, and the readable lower half is
    delayed to match. A 64-bit sum in one cycle would be too deep.
    """
    name = sum_low.name
    carry = Signal(name=f"{name}_carry")
    low, high = Signal(32, name=f"{name}_low"), Signal(32, name=f"{name}_high")
    m.d.sync += [
        Cat(sum_low, carry).eq(sum_low + events),
        low.eq(sum_low),
        high.eq(high + carry),
    ]
    return Cat(low, high)


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
    retired : In(3)
        Instructions to count in minstret, with the same delay.
    mcycle, minstret : Out(64)
    """

    def __init__(self):
        super().__init__({
            "number": Out(PLACE_WIDTH),
            "value": In(64),
            "busy": In(1),
            "retired": In(3),
            "mcycle": Out(64),
            "minstret": Out(64),
        })


class CsrFile(SharedBlock):
    """Control and status registers: reads all, writes the writable, keeps float CSRs per warp.

    The answer of `access` is combinational from the number and the warp. A look-up must have
    selected the warp in an earlier cycle, with no write for it since. A write takes effect in the
    next cycle, and so do flags on the buses. Flags of a warp must not arrive while its registers
    are written.

    Parameters
    ----------
    config : CoreBlockConfig

    Members
    -------
    core : In(core_shape(config.cores))
        Number of this core in its cluster.
    launch : In(LaunchSignature(config.clusters, config.cores))
        Only with several clusters.
    access : In(CsrSignature(config.core))
    active : In(warps)
    floats : In(FloatStateSignature(config.core))
    counters : Out(CounterSignature())
        Cycles and instructions are counted in this block.

    Attributes
    ----------
    cycles, instructions : Signal
        Lower halves of the counters; a test can set them near overflow.
    """

    def __init__(self, config: CoreBlockConfig):
        self.config = config
        self.shape = shape = config.core
        self.cycles, self.instructions = Signal(32), Signal(32)
        super().__init__({
            "core": In(core_shape(config.cores)),
            **launch_ports(config),
            "access": In(CsrSignature(shape)),
            "active": In(shape.warps),
            "floats": In(FloatStateSignature(shape)),
            "counters": Out(CounterSignature()),
        })

    def build(self, platform):
        m = Module()
        access, counters = self.access, self.counters
        fcsr = self.keep_float_registers(m)
        word = self.keep_words(m)
        m.d.comb += [
            counters.mcycle.eq(count(m, self.cycles, counters.busy)),
            counters.minstret.eq(count(m, self.instructions, counters.retired)),
            counters.number.eq(
                Cat(access.number[: ceil_log2(BLOCK_PLACES)], access.number[BLOCK_BIT])
            ),
            access.is_command.eq(access.number == CSRS["accel_cisc"].number),
            access.answer.mepc.eq(word),
            access.answer.per_thread.eq(
                (access.number == CSRS["thread_id"].number)
                | (access.number == CSRS["mhartid"].number)
            ),
        ]
        self.read(m, self.values(fcsr, word))
        return m

    def values(self, fcsr: Value, word: Value) -> dict[str, Value | int]:
        """Return register values by name; registers not listed read 0."""
        shape, access, counters = self.shape, self.access, self.counters
        thread = Const(0, shape.thread_width)
        warp = access.warp[: shape.warp_width]
        several = self.config.clusters > 1
        return {
            "fflags": fcsr[:FLAGS_WIDTH],
            "frm": fcsr[FLAGS_WIDTH:],
            "fcsr": fcsr,
            "mscratch": word,
            "mepc": word,
            "misa": ISA,
            "mcycle": counters.mcycle[:32],
            "mcycleh": counters.mcycle[32:],
            "minstret": counters.minstret[:32],
            "minstreth": counters.minstret[32:],
            "warp_id": access.warp,
            "core_id": self.core,
            "warp_mask": self.active,
            "thread_mask": access.mask,
            "cluster_id": self.launch.cluster if several else 0,
            "arguments": self.launch.arguments if several else ARGUMENTS,
            "mhartid": Cat(thread, warp, self.launch.core if several else self.core),
            "num_threads": shape.threads,
            "num_warps": shape.warps,
            "num_cores": self.config.cores,
            "num_clusters": self.config.clusters,
            "local_mem_base": SHARED_BASE,
        }

    def read(self, m: Module, values: dict[str, Value | int]):
        """Select the register at address `number`."""
        access = self.access
        with m.Switch(access.number):
            for csr in CSRS.values():
                with m.Case(csr.number):
                    m.d.comb += [
                        access.answer.value.eq(values.get(csr.name, 0)),
                        access.answer.exists.eq(1),
                        access.answer.writable.eq(csr.access != "read"),
                    ]
            with m.Default(), m.Switch(access.number):
                halves = (half for block in USED_BLOCKS for half in enumerate(block.halves))
                for half, numbers in halves:
                    # An aligned block of numbers; the cases above take precedence.
                    with m.Case(f"{numbers.start >> ceil_log2(len(numbers)):07b}-----"):
                        m.d.comb += [
                            access.answer.value.eq(self.counters.value.word_select(half, 32)),
                            access.answer.exists.eq(1),
                        ]

    def keep_float_registers(self, m: Module) -> Value:
        """Keep the flags and rounding modes of all warps; return those of the addressed warp."""
        access, warps = self.access, range(self.shape.warps)
        flags = [Signal(FLAGS_WIDTH, name=f"fflags_{w}") for w in warps]
        fcsr, written = Signal(8), Signal(8)
        m.d.comb += [
            fcsr.eq(select(access.warps, [Cat(flags[w], self.floats.frm[w]) for w in warps])),
            written.eq(fcsr),
        ]
        writes = Signal()
        with m.Switch(access.number):
            with m.Case(CSRS["fflags"].number):
                m.d.comb += [written[:FLAGS_WIDTH].eq(access.write_value), writes.eq(access.write)]
            with m.Case(CSRS["frm"].number):
                m.d.comb += [written[FLAGS_WIDTH:].eq(access.write_value), writes.eq(access.write)]
            with m.Case(CSRS["fcsr"].number):
                m.d.comb += [written.eq(access.write_value), writes.eq(access.write)]
        for w in warps:
            raising = (self.floats.flags[bus] for bus in range(self.shape.writeback_buses))
            raised = (Mux(bus.valid & (bus.warp == w), bus.flags, 0) for bus in raising)
            m.d.sync += flags[w].eq(reduce(or_, raised, flags[w]))
            with m.If(writes & access.warps[w]):
                m.d.sync += [
                    flags[w].eq(written[:FLAGS_WIDTH]),
                    self.floats.frm[w].eq(written[FLAGS_WIDTH:]),
                ]
        return fcsr

    def keep_words(self, m: Module) -> Value:
        """Keep mscratch and mepc of each warp; return the one selected by `lookup`."""
        access, warps = self.access, self.shape.warps
        m.submodules.words = words = Sram(depth=2 * warps, width=32, ports=ONE_PORT)
        connect(m, flipped(access.lookup), words.read)
        # The memory has no reset: a word reads 0 until it is written.
        scratches, returns = Signal(warps), Signal(warps)
        is_scratch = access.number == CSRS["mscratch"].number
        writes_scratch = access.write & is_scratch
        writes_return = access.write & (access.number == CSRS["mepc"].number)
        m.d.comb += [
            words.write.mask.eq(writes_scratch | writes_return),
            words.write.address.eq(Cat(writes_scratch, access.warp)),
            # Instructions are aligned to words.
            words.write.data.eq(
                access.write_value & Cat(writes_scratch.replicate(2), ~Const(0, 30))
            ),
        ]
        m.d.sync += [
            scratches.eq(scratches | Mux(writes_scratch, access.warps, 0)),
            returns.eq(returns | Mux(writes_return, access.warps, 0)),
        ]
        written = Mux(is_scratch, scratches, returns)
        return Mux((access.warps & written).any(), words.data, 0)
