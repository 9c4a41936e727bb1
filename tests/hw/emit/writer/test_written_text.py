"""Tests of the written Verilog: names, expressions, processes, ports, comments of small blocks."""

import re
from dataclasses import dataclass

import pytest
from amaranth import *
from amaranth.lib import data, enum
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from spica.hw.emit.component import Component
from spica.hw.emit.emitter import emit


class Kind(enum.Enum, shape=2):
    """Kind of a request."""

    NONE = 0
    READ = 1
    WRITE = 2


REQUEST = data.StructLayout({"kind": Kind, "address": 12, "data": 8})


def written(component) -> str:
    """Return the text of a component."""
    return emit(component, "top").verilog


def module(text: str, name: str) -> str:
    """Return the text of one module."""
    return text[text.index(f"module {name} (") :].partition("endmodule")[0]


class Counter(Component):
    """Counter: counts requests to one page. Latency 1 cycle. It says nothing else."""

    def __init__(self):
        super().__init__({"request": In(REQUEST), "enable": In(1), "count": Out(8), "odd": Out(1)})

    def elaborate(self, platform):
        m = Module()
        hit, last, spare = Signal(), Signal(REQUEST, reset_less=True), Signal()
        m.d.comb += [
            hit.eq(self.enable & (self.request.address[8:] == 3) & ~spare),
            self.odd.eq(self.count[0] ^ (last.kind == Kind.WRITE)),
        ]
        with m.If(hit):
            m.d.sync += [self.count.eq(self.count + 1), spare.eq(self.request.data[0])]
        with m.Elif(self.request.kind == Kind.READ):
            m.d.sync += self.count.eq(0)
        with m.If(self.enable):
            m.d.sync += last.eq(self.request)
        return m


def test_text_of_a_component():
    assert (
        written(Counter()).partition("\n")[2].strip()
        == """\
// Counter: counts requests to one page.
// Latency 1 cycle.
module top (
  input clk,
  input rst,
  input [21:0] request,
  input enable,
  output reg [7:0] count,
  output odd
);
  localparam [1:0] KIND_WRITE = 2'd2;
  localparam [1:0] KIND_READ = 2'd1;
  reg spare;
  reg [1:0] last;
  wire [11:0] request__address = request[13:2];
  wire [7:0] request__data = request[21:14];
  wire [1:0] request__kind = request[1:0];
  wire hit = enable & (request__address[11:8] == 4'd3) & ~spare;
  assign odd = count[0] ^ (last == KIND_WRITE);
  wire unused = &{1'b0, request__address[7:0], request__data[7:1]};

  always @(posedge clk)
    if (rst) begin
      count <= 8'd0;
      spare <= 1'b0;
    end else begin
      if (hit) begin
        count <= count + 8'd1;
        spare <= request__data[0];
      end else if (request__kind == KIND_READ) count <= 8'd0;
    end

  always @(posedge clk) begin
    if (enable) last <= request__kind;
  end

  initial begin
    last = 2'd0;
  end
endmodule"""
    )


class Logic(Component):
    """Logic of one function of a module."""

    def __init__(self, members, build):
        self.build = build
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        self.build(self, m)
        return m


def logic(build, **members) -> str:
    """Return the lines of a module's body, joined."""
    text = module(written(Logic(members, build)), "top")
    return "\n".join(line.strip() for line in text.partition(");\n")[2].splitlines())


def expression(build, **members) -> str:
    """Return the value that is assigned to the output `o`."""
    match = re.search(r"assign o = (.*?);", logic(build, **members), re.S)
    assert match is not None
    return " ".join(match[1].split())


BYTES = {"a": In(8), "b": In(8), "s": In(1)}


@pytest.mark.parametrize(
    ("value", "width", "text"),
    [
        (lambda c: c.a + c.b, 8, "a + b"),
        (lambda c: c.a + c.b, 9, "{1'b0, a} + {1'b0, b}"),
        (lambda c: c.a - c.b, 8, "a - b"),
        (lambda c: (c.a & c.b) | c.a, 8, "(a & b) | a"),
        (lambda c: c.a & c.b & ~c.a, 8, "a & b & ~a"),
        (lambda c: ~(c.a ^ c.b), 8, "~(a ^ b)"),
        (lambda c: ~~c.a, 8, "a"),
        (lambda c: c.a.any() & ~c.b.all(), 1, "(|a) & ~(&b)"),
        (lambda c: c.a.xor(), 1, "^a"),
        (lambda c: Mux(c.s, c.a, c.b), 8, "s ? a : b"),
        (lambda c: Mux(c.a == 3, c.a, c.b), 8, "(a == 8'd3) ? a : b"),
        (lambda c: Mux(c.a.any(), c.a, c.b), 8, "(|a) ? a : b"),
        (lambda c: c.s == 1, 1, "s"),
        (lambda c: c.s == 0, 1, "~s"),
        (lambda c: c.s.replicate(8) & c.a, 8, "{8{s}} & a"),
        (lambda c: Cat(c.b[4:], c.a[:4]), 8, "{a[3:0], b[7:4]}"),
        (lambda c: Cat(C(0, 4), c.a[:4]), 8, "{a[3:0], 4'd0}"),
        (lambda c: c.a.as_signed() < c.b.as_signed(), 1, "$signed(a) < $signed(b)"),
        (lambda c: c.a >= c.b, 1, "a >= b"),
        (lambda c: (c.a << c.b[:2])[:8], 8, "a << b[1:0]"),
        (lambda c: c.a >> c.b[:2], 8, "a >> b[1:0]"),
        (lambda c: c.a >> 8, 8, "8'd0"),
        (lambda c: c.a << c.b[:0], 8, "a"),
        (lambda c: c.a.as_signed() >> c.b[:0], 8, "a"),
        (lambda c: c.a.as_signed() >> c.b[:2], 8, "$unsigned($signed(a) >>> b[1:0])"),
        (lambda c: c.a.bit_select(c.b[:3], 1), 1, "a[b[2:0]]"),
        (lambda c: c.a.word_select(c.b[:1], 4), 4, "a[{b[0], 2'd0} +: 4]"),
        (lambda c: c.a[:6].word_select(c.b[:1], 3), 3, "vector[{2'd0, b[0]} * 3'd3 +: 3]"),
        (lambda c: c.a[:6].bit_select(c.b[:2], 2), 2, "vector[{1'b0, b[1:0]} +: 2]"),
        (
            *(lambda c: c.a.word_select(c.b[:3], 4), 4),
            "(|b[2:1]) ? 4'd0 : a[{b[0], 2'd0} +: 4]",
        ),
        (lambda c: c.a & 0xFF, 8, "a"),
        (lambda c: c.a + 0, 8, "a"),
        (lambda c: C(0xA5A5A5A5, 32), 32, "{4{8'ha5}}"),
    ],
)
def test_expressions(value, width, text):
    assert (
        expression(lambda c, m: m.d.comb.__iadd__(c.o.eq(value(c))), **BYTES, o=Out(width)) == text
    )


def test_a_product_has_operands_of_its_width():
    text = logic(lambda c, m: m.d.comb.__iadd__(c.o.eq(c.a * c.b)), **BYTES, o=Out(16))
    assert "assign o = {8'd0, a} * {8'd0, b};" in text


def test_names_of_signals_that_are_assigned_together():
    def build(c, m):
        first, second = Signal(8), Signal(8)
        m.d.sync += [first.eq(c.a), second.eq(first)]
        m.d.comb += c.o.eq(second + first)

    text = logic(build, **BYTES, o=Out(8))
    assert "first <= a;" in text and "second <= first;" in text


def test_keywords_are_not_names():
    def build(c, m):
        table = Signal(8, name="table")
        m.d.sync += table.eq(c.a)
        m.d.comb += c.o.eq(table)

    assert "table_" not in logic(build, **BYTES, o=Out(8))  # the register is the output itself

    def read(c, m):
        table = Signal(8, name="table")
        m.d.sync += table.eq(table + c.a)
        m.d.comb += c.o.eq(table ^ c.b)

    text = logic(read, **BYTES, o=Out(8))
    assert "reg [7:0] table_;" in text and "assign o = table_ ^ b;" in text


def test_a_case_names_the_values_of_an_enumeration():
    def build(c, m):
        with m.Switch(c.kind):
            with m.Case(Kind.READ):
                m.d.comb += c.o.eq(c.a)
            with m.Case(Kind.WRITE):
                m.d.comb += c.o.eq(c.b)
            with m.Case(3):
                m.d.comb += c.o.eq(1)

    text = logic(build, **BYTES, kind=In(Kind), o=Out(8))
    assert "case (kind)\nKIND_READ: o = a;\nKIND_WRITE: o = b;\n2'd3: o = 8'd1;\n" in text
    assert "localparam [1:0] KIND_READ = 2'd1;" in text
    assert "o = 8'd0;\ncase" in text and "default: ;\nendcase" in text


def test_an_else_belongs_to_the_outer_if():
    def build(c, m):
        with m.If(c.s), m.If(c.a[0]):
            m.d.sync += c.o.eq(1)
        with m.Elif(c.a[1]):
            m.d.sync += c.o.eq(2)

    text = logic(build, **BYTES, o=Out(8))
    assert "if (s) begin\nif (a[0]) o <= 8'd1;\nend else if (a[1]) o <= 8'd2;\n" in text


@pytest.mark.parametrize("value", [3, 5])
def test_a_condition_of_its_own_is_no_reset(value):
    def build(c, m):
        stored = Signal(8, init=3, reset_less=True)
        m.d.sync += stored.eq(c.a)
        with m.If(c.s):
            m.d.sync += stored.eq(value)
        m.d.comb += c.o.eq(stored)

    text = logic(build, **BYTES, o=Out(8))
    assert f"o <= a;\nif (s) o <= 8'd{value};\n" in text
    assert "initial begin\no = 8'd3;\n" in text


def test_memories_are_arrays():
    def build(c, m):
        m.submodules.store = store = Memory(shape=8, depth=16, init=[])
        write, read = store.write_port(granularity=4), store.read_port()
        m.d.comb += [
            write.addr.eq(c.a[:4]),
            write.data.eq(c.b),
            write.en.eq(Cat(c.s, 1)),
            read.addr.eq(c.a[4:]),
            read.en.eq(c.s),
            c.o.eq(read.data),
        ]

    text = written(Logic({**BYTES, "o": Out(8)}, build))
    assert "reg [7:0] store [0:15];" in text
    assert "wire [3:0] write__addr = a[3:0];" in text
    assert "if (s) store[write__addr][3:0] <= b[3:0];" in text
    assert "store[write__addr][7:4] <= b[7:4];" in text
    assert "if (s) o <= store[read__addr];" in text


def test_a_memory_with_contents_has_all_its_words():
    """Without a value, a word would be undefined, though the source says 0."""

    def build(c, m):
        m.submodules.store = store = Memory(shape=8, depth=4, init=[0, 7])
        read = store.read_port(domain="comb")
        m.d.comb += [read.addr.eq(c.a), c.o.eq(read.data)]

    text = logic(build, **BYTES, o=Out(8))
    values = re.findall(r"store\[(\d)\] = (\S+);", text)
    assert values == [("0", "8'd0"), ("1", "8'd7"), ("2", "8'd0"), ("3", "8'd0")]


def test_a_struct_whose_fields_depend_on_each_other_is_no_loop():
    def build(c, m):
        pair = Signal(data.StructLayout({"low": 8, "high": 8}))
        m.d.comb += pair.high.eq(pair.low + c.b)
        with m.If(c.s):
            m.d.comb += pair.low.eq(c.a)
        with m.Else():
            m.d.comb += pair.low.eq(c.b)
        m.d.comb += c.o.eq(pair.high)

    text = logic(build, **BYTES, o=Out(8))
    assert "assign o = (s ? a : b) + b;" in text


class Inner(Component):
    """Inner part: adds one."""

    def __init__(self):
        super().__init__({"i": In(8), "o": Out(8)})

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.o.eq(self.i + 1)
        return m


class Outer(Component):
    """Outer part: two equal parts."""

    def __init__(self):
        super().__init__({"i": In(8), "o": Out(8), "p": Out(4)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.first = first = Inner()
        m.submodules.second = second = Inner()
        m.d.comb += [
            first.i.eq(self.i),
            second.i.eq(first.o),
            self.o.eq(second.o),
            self.p.eq(first.o[2:6]),
        ]
        return m


def test_equal_parts_are_one_module():
    text = written(Outer())
    assert re.findall(r"^module (\w+)", text, re.M) == ["top", "top__first"]
    assert "// Inner: Inner part: adds one.\nmodule top__first (" in text
    head = "\n".join(module(text, "top__first").splitlines()[:6])
    assert head == (
        "module top__first (\n  input clk,\n  input rst,\n  input [7:0] i,\n"
        "  output reg [7:0] o\n);"
    )
    top = module(text, "top")
    assert (
        "top__first second (\n    .clk(clk),\n    .rst(rst),\n    .i(first__o),\n    .o(o)" in top
    )
    assert "assign p = first__o[5:2];" in top


def test_unread_outputs_of_an_instance_have_places():
    def build(c, m):
        m.submodules.part = part = Outer()
        m.d.comb += [part.i.eq(c.a), c.o.eq(part.p)]

    text = module(written(Logic({**BYTES, "o": Out(4)}, build)), "top")
    assert ".p(o)" in text and ".o(" not in text  # a part of the module itself is pruned


class RequestRegister(Component):
    """Register of a request whose data are sent twice."""

    i: In(data.StructLayout({"address": 12, "data": 8, "copy": 8}))
    o: Out(28)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.o.eq(self.i)
        return m


def test_fields_of_a_payload_with_equal_bits_name_the_ports_of_a_nested_module():
    def build(component, m):
        m.submodules.register = register = RequestRegister()
        m.d.comb += [
            register.i.address.eq(component.address),
            register.i.data.eq(component.data),
            register.i.copy.eq(component.data),
            component.o.eq(register.o),
        ]

    text = written(Logic({"address": In(12), "data": In(8), "o": Out(28)}, build))
    ports = re.findall(r"input (.*?),?\n", module(text, "top__register"))
    assert ports == ["clk", "rst", "[11:0] i__address", "[7:0] i__data"]


@dataclass(frozen=True, kw_only=True)
class DelayConfig:
    """Config of a delay."""

    cycles: int = 2
    unit: str = "cycles"


class Delay(Component):
    """Delay: repeats its input. Latency config.cycles, in config.unit, as config.cycles() says."""

    i: In(1)
    o: Out(1)

    def __init__(self):
        self.config = DelayConfig()
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.o.eq(self.i)
        return m


def test_a_head_has_the_numbers_of_the_config_that_it_names():
    assert "\n// Latency 2, in config.unit, as config.cycles() says.\n" in written(Delay())
