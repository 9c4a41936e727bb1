"""Control and status registers of a core."""

from functools import reduce
from operator import or_

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ..address_map import SHARED_BASE
from ..config import ClusterConfig
from ..isa.csr import COUNTER_NUMBERS, CSRS
from ..lib.interfaces.core_memory import warp_shape
from ..memory.arbiter import select
from ..shared_block import SharedBlock
from ..sram import Sram
from ..sram_macros import ONE_PORT

__all__ = ["ISA", "CsrFile", "core_shape", "flags_layout"]

#: misa: 32 bits, F, I, M.
ISA = 1 << 30 | 1 << 5 | 1 << 8 | 1 << 12
FLAGS_WIDTH, ROUNDING_WIDTH = 5, 3


def flags_layout(config: ClusterConfig) -> data.ArrayLayout:
    """Layout of what writeback buses tell: of a valid one, flags that a warp has raised."""
    assert config.core is not None
    bus = data.StructLayout({"valid": 1, "warp": warp_shape(config.core), "flags": FLAGS_WIDTH})
    return data.ArrayLayout(bus, config.core.writeback_buses)


def core_shape(config: ClusterConfig) -> int:
    """Bits of a core's number, at least one."""
    return max(1, ceil_log2(config.cores))


def count(m: Module, sum_low: Signal, events: Value) -> Value:
    """Return 64 bits that count `events`, of the cycles before the last; `sum_low` is of all.

    The upper half adds the carry of the lower half a cycle later, and what is read of the lower
    half waits for it: a sum of 64 bits in one cycle would be too deep.
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
    """Read any register, write those that can be; the floating-point registers of all warps.

    `value` and what is said of it belong to `number` and the warp in the same cycle; the warp has
    been looked at in an earlier cycle, and nothing written for it since. A write takes effect in
    the next cycle. Flags on the buses are accrued in the next cycle too; those of a warp must not
    come while its registers are written.

    Parameters
    ----------
    config : ClusterConfig

    Members
    -------
    core : In(core_shape(config))
        Number of this core.
    look : In(1)
        In an earlier cycle than the rest, and in none of a write: `look_warp` is going to be
        asked for.
    look_warp : In(warp_shape(config.core))
    number : In(12)
    warp : In(warp_shape(config.core))
    warps : In(warps)
        The same warp, one-hot.
    mask : In(threads)
        Its active threads.
    active : In(warps)
    value : Out(32)
        What the register holds, in every thread.
    per_thread : Out(1)
        The number of the thread is to be added; the bits for it are 0 in `value`.
    exists, writable : Out(1)
    is_command : Out(1)
        A write is a command word for the cluster's matrix units.
    write : In(1)
        The register takes `write_value`; of others than those of floats and mscratch nothing
        happens here.
    write_value : In(32)
    flags : In(flags_layout(config))
    frm : Out(ArrayLayout(3, warps))
        Dynamic rounding modes; programs may write reserved ones.
    busy : In(1)
        This cycle counts in mcycle, from the next but one on.
    retired : In(3)
        Instructions that count in minstret, likewise.
    counter_number : Out(5)
        Performance counter asked for, as its place in ``COUNTER_NUMBERS``; those of cycles and
        instructions are known here.
    counter : In(64)
        It, in the same cycle.
    mcycle, minstret : Out(64)
        What both hold.

    Attributes
    ----------
    cycles, instructions : Signal
        Lower halves of what is counted; a test can set them near their end.
    """

    core: Signal
    look: Signal
    look_warp: Signal
    number: Signal
    warp: Signal
    warps: Signal
    mask: Signal
    active: Signal
    value: Signal
    per_thread: Signal
    exists: Signal
    writable: Signal
    is_command: Signal
    write: Signal
    write_value: Signal
    flags: data.View
    frm: data.View
    busy: Signal
    retired: Signal
    counter_number: Signal
    counter: Signal
    mcycle: Signal
    minstret: Signal

    def __init__(self, config: ClusterConfig):
        assert config.core is not None
        self.config = config
        self.shape = shape = config.core
        self.cycles, self.instructions = Signal(32), Signal(32)
        super().__init__({
            "core": In(core_shape(config)),
            "look": In(1),
            "look_warp": In(warp_shape(shape)),
            "number": In(12),
            "warp": In(warp_shape(shape)),
            "warps": In(shape.warps),
            "mask": In(shape.threads),
            "active": In(shape.warps),
            "value": Out(32),
            "per_thread": Out(1),
            "exists": Out(1),
            "writable": Out(1),
            "is_command": Out(1),
            "write": In(1),
            "write_value": In(32),
            "flags": In(flags_layout(config)),
            "frm": Out(data.ArrayLayout(ROUNDING_WIDTH, shape.warps)),
            "busy": In(1),
            "retired": In(3),
            "counter_number": Out(5),
            "counter": In(64),
            "mcycle": Out(64),
            "minstret": Out(64),
        })

    def build(self, platform):
        m = Module()
        fcsr = self.keep_float_registers(m)
        scratch = self.keep_scratch(m)
        m.d.comb += [
            self.mcycle.eq(count(m, self.cycles, self.busy)),
            self.minstret.eq(count(m, self.instructions, self.retired)),
            self.counter_number.eq(self.number),
            self.is_command.eq(self.number == CSRS["accel_cisc"].number),
            self.per_thread.eq(
                (self.number == CSRS["thread_id"].number) | (self.number == CSRS["mhartid"].number)
            ),
        ]
        self.read(m, self.values(fcsr, scratch))
        return m

    def values(self, fcsr, scratch) -> dict[str, Value | int]:
        """Return what registers hold by name; others hold 0."""
        shape = self.shape
        thread = Const(0, shape.thread_width)
        warp = self.warp[: shape.warp_width]
        return {
            "fflags": fcsr[:FLAGS_WIDTH],
            "frm": fcsr[FLAGS_WIDTH:],
            "fcsr": fcsr,
            "mscratch": scratch,
            "misa": ISA,
            "mcycle": self.mcycle[:32],
            "mcycleh": self.mcycle[32:],
            "minstret": self.minstret[:32],
            "minstreth": self.minstret[32:],
            "warp_id": self.warp,
            "core_id": self.core,
            "warp_mask": self.active,
            "thread_mask": self.mask,
            "mhartid": Cat(thread, warp, self.core),
            "num_threads": shape.threads,
            "num_warps": shape.warps,
            "num_cores": self.config.cores,
            "local_mem_base": SHARED_BASE,
        }

    def read(self, m: Module, values: dict[str, Value | int]):
        """Choose the register that `number` names."""
        with m.Switch(self.number):
            for csr in CSRS.values():
                with m.Case(csr.number):
                    m.d.comb += [
                        self.value.eq(values.get(csr.name, 0)),
                        self.exists.eq(1),
                        self.writable.eq(csr.access != "read"),
                    ]
            with m.Default(), m.Switch(self.number):
                for half, numbers in enumerate(COUNTER_NUMBERS):
                    # A block of aligned numbers, of which the table above has some.
                    with m.Case(f"{numbers.start >> ceil_log2(len(numbers)):07b}-----"):
                        m.d.comb += [
                            self.value.eq(self.counter.word_select(half, 32)),
                            self.exists.eq(1),
                        ]

    def keep_float_registers(self, m: Module) -> Value:
        """Keep flags and rounding modes of all warps; return both of the warp asked for."""
        warps = range(self.shape.warps)
        flags = [Signal(FLAGS_WIDTH, name=f"fflags_{w}") for w in warps]
        fcsr, written = Signal(8), Signal(8)
        m.d.comb += [
            fcsr.eq(select(self.warps, [Cat(flags[w], self.frm[w]) for w in warps])),
            written.eq(fcsr),
        ]
        writes = Signal()
        with m.Switch(self.number):
            with m.Case(CSRS["fflags"].number):
                m.d.comb += [written[:FLAGS_WIDTH].eq(self.write_value), writes.eq(self.write)]
            with m.Case(CSRS["frm"].number):
                m.d.comb += [written[FLAGS_WIDTH:].eq(self.write_value), writes.eq(self.write)]
            with m.Case(CSRS["fcsr"].number):
                m.d.comb += [written.eq(self.write_value), writes.eq(self.write)]
        for w in warps:
            told = (self.flags[bus] for bus in range(self.shape.writeback_buses))
            raised = (Mux(bus.valid & (bus.warp == w), bus.flags, 0) for bus in told)
            m.d.sync += flags[w].eq(reduce(or_, raised, flags[w]))
            with m.If(writes & self.warps[w]):
                m.d.sync += [
                    flags[w].eq(written[:FLAGS_WIDTH]),
                    self.frm[w].eq(written[FLAGS_WIDTH:]),
                ]
        return fcsr

    def keep_scratch(self, m: Module) -> Value:
        """Keep a word for each warp; return that of the warp that was looked at."""
        warps = self.shape.warps
        m.submodules.scratch = scratch = Sram(depth=max(2, warps), width=32, ports=ONE_PORT)
        # Memory has no reset: what was never written is 0.
        written = Signal(warps)
        writes = self.write & (self.number == CSRS["mscratch"].number)
        m.d.comb += [
            scratch.read_enable.eq(self.look),
            scratch.read_address.eq(self.look_warp),
            scratch.write_mask.eq(writes),
            scratch.write_address.eq(self.warp),
            scratch.write_data.eq(self.write_value),
        ]
        m.d.sync += written.eq(written | Mux(writes, self.warps, 0))
        return Mux((self.warps & written).any(), scratch.read_data, 0)
