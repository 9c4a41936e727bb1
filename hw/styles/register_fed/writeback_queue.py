"""Writeback queue of the tensor unit: accumulator registers on their way to writeback."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect

from ...config import PipelineConfig
from ...emit.component import Component
from ...lib.interfaces.execution_unit import result_layout
from ...lib.sram import MemoryPorts, Sram
from .config import RegisterFedConfig
from .layouts import hmma_layout
from .signatures import RegisterPartSignature, RegisterStartSignature

__all__ = ["WritebackQueue"]


class WritebackQueue(Component):
    """Writeback queue: holds the registers of one matrix product until they are written.

    Registers arrive in order, in one or several parts. Each leaves as one result, two cycles after
    its last part if nothing waits; one per cycle. The results of a product are in order, all but
    the last marked ``more``. Parts cannot be refused: a register may be started only if there is
    room, which it occupies from then on. The registers of a product fit.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    start : In(RegisterStartSignature())
    info : In(hmma_layout(config))
        Of the product that begins.
    part : In(RegisterPartSignature(threads))
    o : Out(stream.Signature(result_layout(config)))
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        self.registers = RegisterFedConfig.of(config.tensor).registers
        super().__init__({
            "start": In(RegisterStartSignature()),
            "info": In(hmma_layout(config)),
            "part": In(RegisterPartSignature(config.threads)),
            "o": Out(stream.Signature(result_layout(config))),
        })

    def elaborate(self, platform):
        m = Module()
        registers = self.registers
        m.submodules.rows = memory = Sram(
            depth=registers, width=len(self.part.values.as_value()), granularity=32
        )
        rows = MemoryPorts(memory, "rows")
        connect(m, rows, memory)
        used = Signal(range(registers + 1))  # registers started and not read yet
        complete = Signal(range(registers + 1))  # registers that wait to be read
        write, read = Signal(range(registers)), Signal(range(registers))
        takes = Signal()
        m.d.comb += [
            self.start.room.eq(used != registers),
            takes.eq(complete.any() & (~self.o.valid | self.o.ready)),
            rows.write.mask.eq(self.part.part),
            rows.write.address.eq(write),
            rows.write.data.eq(self.part.values),
            rows.read.valid.eq(takes),
            rows.read.payload.eq(read),
        ]
        m.d.sync += [
            used.eq(used + self.start.start - takes),
            complete.eq(complete + self.part.finish - takes),
            write.eq(write + self.part.finish),
            read.eq(read + takes),
        ]
        with m.If(self.o.ready | ~self.o.valid):
            m.d.sync += self.o.valid.eq(takes)
        self.describe(m, rows.data)
        return m

    def describe(self, m: Module, values: Value):
        """Drive the results from the registers, and from the products that are in the queue."""
        # Two products at most: the registers of a third have no room beside one of the first.
        infos = [
            Signal(hmma_layout(self.config), name=f"info_{number}", reset_less=True)
            for number in range(2)
        ]
        newest, oldest = Signal(), Signal()
        register = Signal(range(self.registers))
        for number, info in enumerate(infos):
            with m.If(self.start.begin & (newest == number)):
                m.d.sync += info.eq(self.info)
        leaves, is_last = self.o.valid & self.o.ready, register == self.registers - 1
        m.d.sync += [
            newest.eq(newest ^ self.start.begin),
            register.eq(register + leaves),
            oldest.eq(oldest ^ (leaves & is_last)),
        ]
        info = data.View(hmma_layout(self.config), Mux(oldest, infos[1], infos[0]))
        m.d.comb += [
            *(self.o.payload[name].eq(info[name]) for name in ("warp", "mask", "pc")),
            self.o.payload.rd.eq(Cat(register, info.group)),
            self.o.payload.writes.eq(1),
            self.o.payload.more.eq(~is_last),
            Value.cast(self.o.payload.values).eq(values),
        ]
