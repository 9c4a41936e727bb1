"""Design with every kind of cell that the writer of Verilog knows."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, signed
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from spica.hw.emit.component import Component
from spica.hw.emit.shared_block import SharedBlock

__all__ = ["WriterSample"]


class Box(SharedBlock):
    """Block of another conversion."""

    def __init__(self, config: int):
        self.config = config
        super().__init__({"left": In(4), "right": In(4), "o": Out(4)})

    def build(self, platform):
        m = Module()
        m.d.sync += self.o.eq(self.left - self.right)
        return m


class Inner(Component):
    """Ordinary component: a counter."""

    def __init__(self):
        super().__init__({"enable": In(1), "step": In(4), "count": Out(4)})

    def elaborate(self, platform):
        m = Module()
        with m.If(self.enable):
            m.d.sync += self.count.eq(self.count + self.step)
        return m


class WriterSample(Component):
    """Operators, selections, choices, registers, memories, instances and nested modules."""

    def __init__(self):
        super().__init__({
            "a": In(8),
            "b": In(8),
            "sel": In(3),
            "enable": In(2),
            "results": Out(1).array(20),
            "wide": Out(8).array(14),
            "chosen": Out(8).array(4),
            "stored": Out(8).array(6),
            "words": Out(8).array(3),
            "boxed": Out(4).array(2),
            "counts": Out(4).array(2),
            "selected": Out(8).array(5),
        })

    def elaborate(self, platform):
        m = Module()
        self.operators(m)
        self.selections(m)
        self.choices(m)
        self.registers(m)
        self.memory(m)
        for number in range(2):
            m.submodules[f"box_{number}"] = box = Box(3)
            m.d.comb += [box.left.eq(self.a[number:]), box.right.eq(self.b[2 * number :])]
            m.d.comb += self.boxed[number].eq(box.o)
            m.submodules[f"inner_{number}"] = inner = Inner()
            m.d.comb += [inner.enable.eq(self.enable[number]), inner.step.eq(self.a[number:])]
            m.d.comb += self.counts[number].eq(inner.count)
        return m

    def operators(self, m: Module) -> None:
        """Add one cell of each operator."""
        a, b, sel = self.a, self.b, self.sel
        x, y = a.as_signed(), b.as_signed()
        bits = (
            *(a == b, a != b, a < b, a > b, a <= b, a >= b, x < y, x > y, x <= y, x >= y),
            *(a.any(), a.all(), a.xor(), a.bool(), b == 11, (a + b)[8]),
            *(a.bit_select(sel, 1), (a & b).any(), (a | b).all(), (a ^ b)[3]),
        )
        for port, value in enumerate(bits):
            m.d.comb += self.results[port].eq(value)
        words = (
            *(a + b, a - b, a * b, a & b, a | b, a ^ b, ~a, -a, (a << sel)[1:9], a >> sel),
            *(x >> sel, a[:4] // b[:4], a[:4] % b[:4], Mux(sel[0], a, b)),
        )
        for port, value in enumerate(words):
            m.d.comb += self.wide[port].eq(value)

    def selections(self, m: Module) -> None:
        """Add bits of vectors from variable places on, some of them beyond the end."""
        three, place = Cat(self.a, self.b, ~self.a), Cat(self.sel, self.enable)
        values = (
            *(three.word_select(self.sel[:2], 8), three.word_select(self.sel[:2], 6)),
            *(three.word_select(place, 7), three[:23].bit_select(place, 8)),
            self.a.as_signed().bit_select(place, 4),
        )
        for port, value in enumerate(values):
            m.d.comb += self.selected[port].eq(value)

    def choices(self, m: Module) -> None:
        """Add trees of conditions."""
        a, b, sel = self.a, self.b, self.sel
        first, second, third, fourth = self.chosen
        m.d.comb += first.eq(a)
        with m.If(sel[0]):
            m.d.comb += first[:4].eq(b[4:])
            with m.If(sel[1]):
                m.d.comb += first[6:].eq(b[1:3])
        with m.Elif(sel[2]):
            m.d.comb += first.eq(0x5A)
        with m.Else():
            m.d.comb += first.eq(a + 1)
        with m.Switch(Cat(sel, self.enable)):
            with m.Case(0, 7):
                m.d.comb += second.eq(a)
            with m.Case("0-1-1"):
                m.d.comb += second.eq(b)
            with m.Case("1----"):
                m.d.comb += second[2:].eq(a)
            with m.Default():
                m.d.comb += second.eq(0x21)
        m.d.comb += third.eq(Array([a, b, a ^ 0x0F, b | 1])[sel[:2]])
        with m.If(sel[2]):
            m.d.comb += third.word_select(sel[:2], 2).eq(a[2:])
        with m.If(sel[0]), m.If(sel[1]):
            m.d.comb += fourth.eq(a)
        with m.Elif(self.enable[0]):
            m.d.comb += fourth.eq(b)

    def registers(self, m: Module) -> None:
        """Add registers with and without reset."""
        a, b = self.a, self.b
        counter = Signal(8, init=3)
        cleared = [Signal(8, reset_less=True, init=init, name="cleared") for init in (0x11, 0x12)]
        payload = Signal(8, reset_less=True, init=0x2D)
        shifted = Signal(signed(8))
        with m.If(self.enable[0]):
            m.d.sync += [counter.eq(counter + a), payload.eq(b)]
        with m.Else():
            m.d.sync += counter[:3].eq(b)
        m.d.sync += [one.eq(a) for one in cleared]
        with m.If(self.enable[1]):
            m.d.sync += [cleared[0].eq(0x33), cleared[1].eq(0x12)]
        m.d.sync += [shifted.eq(a.as_signed() >> 1), self.stored[3].eq(payload)]
        m.d.comb += [self.stored[4 + number].eq(one) for number, one in enumerate(cleared)]
        m.d.comb += [
            self.stored[0].eq(counter),
            self.stored[1].eq(payload),
            self.stored[2].eq(shifted),
        ]

    def memory(self, m: Module) -> None:
        """Add a memory written by halves and read at once and later, and one read in part."""
        words = Memory(shape=8, depth=8, init=[5, 0, 250])
        m.submodules.memory = words
        write = words.write_port(granularity=4)
        now, later = words.read_port(domain="comb"), words.read_port()
        m.d.comb += [write.addr.eq(self.sel), write.data.eq(self.a), write.en.eq(self.enable)]
        m.d.comb += [now.addr.eq(self.b), later.addr.eq(self.a), later.en.eq(self.enable[1])]
        m.d.comb += [self.words[0].eq(now.data), self.words[1].eq(later.data)]
        m.submodules.upper = upper = Memory(shape=8, depth=8, init=[])
        write, read = upper.write_port(), upper.read_port()
        m.d.comb += [write.addr.eq(self.sel), write.data.eq(self.b), write.en.eq(self.enable[0])]
        m.d.comb += [read.addr.eq(self.sel), read.en.eq(1), self.words[2].eq(read.data[3:])]
