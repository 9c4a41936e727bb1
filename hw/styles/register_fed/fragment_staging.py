"""Fragment staging: buffers the registers of matrix products until the dot products need them."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect
from amaranth.utils import exact_log2

from ...config import PipelineConfig
from ...emit.component import Component
from ...lib.interfaces.execution_unit import operation_layout
from ...lib.sram import MemoryPorts, Sram
from ...lib.streams import ResponseSignature
from .config import BUFFERS, RegisterFedConfig
from .layouts import hmma_layout, row_shape, step_layout
from .signatures import FragmentsSignature

__all__ = ["FragmentStaging"]


class FragmentStaging(Component):
    """Fragment staging: collects the micro-operations of two matrix products.

    Micro-operation k writes register k of A, B and C to a buffer in the cycle in which it arrives;
    it is never refused. Those of a warp arrive in order, those of two warps may alternate. The
    first one of an instruction takes a buffer, so an instruction may begin only if one is free.
    Buffers are used in the order in which they were taken.

    A step of the oldest product reads its operands: the registers of A and B
    with the words of its set if it is the first step of the set, and a register of C if it is the
    first one for this register in set 0. Outputs hold until the next read. Those of A and
    B follow one cycle after the step, those of C two cycles after.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    i : In(stream.Signature(operation_layout(config)))
        Micro-operations; always ready.
    gathered : Out(range(registers + 1))
        Registers present of each operand of the oldest product, 0 if there is none.
    info : Out(hmma_layout(config))
        Fields of the oldest product, valid if `gathered` is not 0.
    step : In(ResponseSignature(step_layout(RegisterFedConfig.of(config.tensor))))
    release : In(1)
        Frees the buffer of the oldest product after this cycle; the step of this cycle belongs to
        it, and later ones read nothing more of it.
    fragments : Out(FragmentsSignature(RegisterFedConfig.of(config.tensor)))
    c : Out(row_shape(threads))
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        tensor = RegisterFedConfig.of(config.tensor)
        super().__init__({
            "i": In(stream.Signature(operation_layout(config))),
            "gathered": Out(range(tensor.registers + 1)),
            "info": Out(hmma_layout(config)),
            "step": In(ResponseSignature(step_layout(tensor))),
            "release": In(1),
            "fragments": Out(FragmentsSignature(tensor)),
            "c": Out(row_shape(config.threads)),
        })

    def elaborate(self, platform):
        m = Module()
        registers = RegisterFedConfig.of(self.config.tensor).registers
        newest, oldest = Signal(), Signal()  # buffer taken next; buffer of the oldest product
        chosen = Signal()  # buffer of the arriving micro-operation
        beat = self.i.payload.beat
        begins = self.i.valid & (beat == 0)
        counts = [Signal(range(registers + 1), name=f"gathered_{n}") for n in range(BUFFERS)]
        infos = [
            Signal(hmma_layout(self.config), name=f"info_{n}", reset_less=True)
            for n in range(BUFFERS)
        ]
        gathers_first = counts[0].any() & ~counts[0][-1] & (infos[0].warp == self.i.payload.warp)
        m.d.comb += [
            self.i.ready.eq(1),
            chosen.eq(Mux(beat == 0, newest, ~gathers_first)),
            self.gathered.eq(Mux(oldest, counts[1], counts[0])),
            Value.cast(self.info).eq(Mux(oldest, infos[1], infos[0])),
        ]
        m.d.sync += [newest.eq(newest ^ begins), oldest.eq(oldest ^ self.release)]
        for number, (count, info) in enumerate(zip(counts, infos, strict=True)):
            is_chosen = self.i.valid & (chosen == number)
            with m.If(self.release & (oldest == number)):
                m.d.sync += count.eq(0)
            with m.Elif(is_chosen):
                m.d.sync += count.eq(count + 1)
            with m.If(is_chosen & begins):
                m.d.sync += [
                    *(info[name].eq(self.i.payload[name]) for name in ("warp", "mask", "pc")),
                    info.group.eq(self.i.payload.rd[exact_log2(registers) :]),
                ]
            if platform is None:
                m.d.sync += Assert(~(is_chosen & begins) | (count == 0), "a buffer is taken twice")
        self.store(m, chosen, oldest)
        return m

    def store(self, m: Module, chosen: Value, oldest: Value):
        """Write arriving registers to the memories, and read those of a step."""
        tensor = RegisterFedConfig.of(self.config.tensor)
        beat, operands = self.i.payload.beat, self.i.payload.operands
        step = self.step.payload
        reads_set = self.step.valid & (step.register == 0) & (step.part == 0)
        width = len(self.c.as_value())
        fragments = (tensor.registers, tensor.b_registers)
        for operand, name in enumerate(("a", "b")):
            columns, registers = tensor.step_registers[operand], fragments[operand]
            # Sets that share registers read the same words again.
            shared = tensor.sets * columns // registers
            place = exact_log2(columns)
            m.submodules[name] = fragment = Sram(
                depth=BUFFERS * registers // columns, width=columns * width, granularity=width
            )
            memory = MemoryPorts(fragment, f"fragment_{name}")
            connect(m, memory, fragment)
            is_kept = self.i.valid
            if registers < tensor.registers:
                is_kept = is_kept & (beat < registers)
            m.d.comb += [
                memory.write.mask.eq(is_kept << beat[:place]),
                memory.write.address.eq(Cat(beat[place : exact_log2(registers)], chosen)),
                memory.write.data.eq(Value.cast(operands[operand]).replicate(columns)),
                memory.read.valid.eq(reads_set),
                memory.read.payload.eq(Cat(step.set[exact_log2(shared) :], oldest)),
                Value.cast(getattr(self.fragments, name)).eq(memory.data),
            ]
        m.submodules.c = addends = Sram(depth=BUFFERS * tensor.registers, width=width)
        memory = MemoryPorts(addends, "addends")
        connect(m, memory, addends)
        reads_c, address = Signal(), Signal(exact_log2(BUFFERS * tensor.registers))
        m.d.sync += [
            reads_c.eq(self.step.valid & (step.part == 0) & (step.set == 0)),
            address.eq(Cat(step.register, oldest)),
        ]
        m.d.comb += [
            memory.write.mask.eq(self.i.valid),
            memory.write.address.eq(Cat(beat, chosen)),
            memory.write.data.eq(operands[2]),
            memory.read.valid.eq(reads_c),
            memory.read.payload.eq(address),
            self.c.eq(memory.data),
        ]
