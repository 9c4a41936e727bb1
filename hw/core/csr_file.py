"""Control and status registers of a core."""

from functools import reduce
from operator import or_

from amaranth import *
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from ..config import CoreBlockConfig
from ..emit.shared_block import SharedBlock
from ..emit.sram_macros import ONE_PORT
from ..isa.csr import BLOCK_BIT, BLOCK_PLACES, CSRS, USED_BLOCKS
from ..isa.memory_map import ARGUMENTS, SHARED_BASE
from ..lib.one_hot import select
from ..lib.sram import Sram
from .csr_signatures import (
    FLAGS_WIDTH,
    CounterSignature,
    CsrSignature,
    FloatStateSignature,
)
from .launch import core_shape, launch_ports

__all__ = ["ISA", "CsrFile"]

#: Bits of the index of a counter in its block.
INDEX_WIDTH = ceil_log2(BLOCK_PLACES)
#: misa: 32 bits, F, I, M.
ISA = 1 << 30 | 1 << 5 | 1 << 8 | 1 << 12


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
            counters.mcycle.eq(count(m, self.cycles, counters.busy + counters.slept)),
            counters.minstret.eq(count(m, self.instructions, counters.retired)),
            counters.number.eq(Cat(access.number[:INDEX_WIDTH], access.number[BLOCK_BIT])),
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
