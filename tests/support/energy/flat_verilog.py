"""Verilog of a flat machine with a bench that drives its ports and counts accesses to memories."""

from collections.abc import Iterator, Mapping, Sequence

from spica.synth.energy.boolean import And, Constant, Expression, Name, Not, Xor
from spica.synth.energy.mapped_netlist import ZERO, Instance, MappedNetlist, Opaque
from support.synth.icarus_netlist import instances_of

__all__ = ["bench_of"]

#: Memory with a read port and a write port; both reads and writes see the old word. Words have
#: random contents from the end of reset until they are written. A read that is not clocked counts
#: if its address differs from the cycle before.
MEMORY = """
module memory #(parameter WIDTH = 1, DEPTH = 1, ADDRESS = 1, CLOCKED = 1) (
  input clock, sample, counting, read_enable,
  input [ADDRESS-1:0] read_address, write_address,
  input [WIDTH-1:0] write_enable, write_data,
  output [WIDTH-1:0] read_data
);
  reg [WIDTH-1:0] words [0:DEPTH-1];
  reg [WIDTH-1:0] captured, other;
  reg [ADDRESS-1:0] last;
  integer reads = 0, writes = 0, k;
  wire [WIDTH-1:0] selected = read_address < DEPTH ? words[read_address] : {WIDTH{1'b0}};
  assign read_data = CLOCKED ? captured : selected;
  always @(posedge counting)
    for (k = 0; k < DEPTH; k = k + 1) words[k] = random(words[k]);
  function [WIDTH-1:0] random(input [WIDTH-1:0] word);
    integer n;
    for (n = 0; n < WIDTH; n = n + 1) random[n] = word[n] === 1'bx ? $random : word[n];
  endfunction
  always @(posedge clock) begin
    if (CLOCKED && read_enable !== 1'b0) captured <= selected;
    if (write_enable !== {WIDTH{1'b0}} && write_address < DEPTH)
      words[write_address] <=
        words[write_address] & ~write_enable | write_data & write_enable;
    if (counting) begin
      reads = reads + (CLOCKED && read_enable);
      writes = writes + (|write_enable);
    end
  end
  always @(posedge sample) begin
    if (counting) reads = reads + (!CLOCKED && read_address !== last);
    last = read_address;
  end
endmodule
"""
#: Bench. A row of the stimulus holds the expected outputs, above the inputs. In reset all domains
#: are clocked. States that reset leaves undefined get the values of the recorded run.
BENCH = """
module bench;
  reg [{inputs}-1:0] inputs;
  reg [{outputs}+{inputs}-1:0] rows [0:{rows}-1];
  reg [{domains}-1:0] clocks = 0;
  wire [{domains}-1:0] enables;
  wire [{outputs}-1:0] outputs;
  reg sample = 0, counting = 0;
  integer cycle, domain, undefined = 0;
  integer edges [0:{domains}-1];
  {body}
  initial begin
    $readmemb("rows.txt", rows);
    for (domain = 0; domain < {domains}; domain = domain + 1) edges[domain] = 0;
    inputs = rows[0];
    #5;
    for (cycle = 0; cycle < {rows}; cycle = cycle + 1) begin
      if (cycle == {resets}) begin
        {initial}
        counting = 1;
        #1 $dumpfile("run.vcd");
        $dumpvars(1, bench);
      end
      if (counting && outputs !== rows[cycle][{inputs} +: {outputs}])
        $display("differs %0d %b", cycle - {resets}, outputs ^ rows[cycle][{inputs} +: {outputs}]);
      sample = 1;
      if (cycle + 1 < {rows}) begin
        #1 clocks = counting ? enables : {{{domains}{{1'b1}}}};
        for (domain = 0; domain < {domains}; domain = domain + 1)
          if (counting && clocks[domain]) edges[domain] = edges[domain] + 1;
        inputs <= rows[cycle + 1];
        #4 clocks = 0;
        sample = 0;
        #5;
      end
    end
    #1;
    $display("undefined %0d", undefined);
    {report}
    $finish;
  end
endmodule
"""


def bench_of(
    netlist: MappedNetlist,
    clocks: Mapping[int, int | None],
    states: Sequence[bool],
    captured: Sequence[str],
    rows: int,
    resets: int,
) -> str:
    """Return the Verilog of a bench around a flat machine, without the gates' models.

    Parameters
    ----------
    netlist : MappedNetlist
        The machine.
    clocks : mapping of int to int or None
        For the net of each clock, the output that enables it; None for an ungated clock.
    states : sequence of bool
        State of each flip-flop after reset, if reset leaves it undefined.
    captured : sequence of str
        Read data of each memory with clocked reads after reset, the same.
    rows, resets : int
        Cycles, and those of them in reset.

    """
    inputs = [net for nets in netlist.inputs.values() for net in nets if net not in clocks]
    outputs = [net for nets in netlist.outputs.values() for net in nets]
    enables = [value(1 if enable is None else enable) for enable in clocks.values()]
    gates = MappedNetlist(**{**vars(netlist), "flip_flops": ()})
    body = [
        *(f"wire n{net};" for net in range(2, netlist.nets)),
        *(f"assign n{net} = inputs[{k}];" for k, net in enumerate(inputs)),
        *(f"assign n{net} = clocks[{k}];" for k, net in enumerate(clocks)),
        f"assign enables = {{{', '.join(reversed(enables))}}};",
        f"assign outputs = {vector(outputs)};",
        *instances_of(gates),
        *(line for k, register in enumerate(netlist.flip_flops) for line in state_of(k, register)),
        *(memory_text(k, memory) for k, memory in enumerate(netlist.opaque)),
    ]
    initial = [
        *(known(f"s{k}", f"1'b{int(state)}") for k, state in enumerate(states)),
        *(
            known(f"m{k}.captured", f"{len(data)}'b{data}")
            for k, data in enumerate(captured)
            if data
        ),
    ]
    report = [f'$display("edges %0d", edges[{k}]);' for k in range(len(clocks))]
    report += [
        f'$display("accesses %0d %0d", m{k}.reads, m{k}.writes);'
        for k in range(len(netlist.opaque))
    ]
    return MEMORY + BENCH.format(
        inputs=len(inputs),
        outputs=len(outputs),
        domains=len(clocks),
        rows=rows,
        resets=resets,
        body="\n  ".join(body),
        initial="\n        ".join(initial),
        report="\n    ".join(report),
    )


def value(net: int) -> str:
    """Return the value of a net in Verilog."""
    return f"n{net}" if net > 1 else f"1'b{net}"


def vector(nets: Sequence[int]) -> str:
    """Return the value of several nets, least significant bit first."""
    return f"{{{', '.join(value(net) for net in reversed(nets))}}}"


def known(signal: str, defined: str) -> str:
    """Return a statement that defines a signal if it is undefined, and counts it."""
    return f"if (^{signal} === 1'bx) begin {signal} = {defined}; undefined = undefined + 1; end"


def state_of(number: int, register: Instance) -> Iterator[str]:
    """Yield the Verilog of a flip-flop, from its functions in the library."""
    flip_flop = register.cell.flip_flop
    assert flip_flop is not None
    names = {pin: value(net) for pin, net in register.nets.items()}
    names |= {flip_flop.state: f"s{number}", flip_flop.inverted: f"~s{number}"}
    edge = "negedge" if flip_flop.is_falling else "posedge"
    following = formula(flip_flop.next_state, names)
    yield f"reg s{number}; always @({edge} {value(register.clock)}) s{number} <= {following};"
    for pin in register.cell.pins.values():
        if pin.is_output and pin.name in register.nets:
            assert pin.function is not None
            yield f"assign {names[pin.name]} = {formula(pin.function, names)};"


def formula(expression: Expression, names: Mapping[str, str]) -> str:
    """Return an expression in Verilog."""
    match expression:
        case Name(name):
            return names[name]
        case Constant(bit):
            return f"1'b{int(bit)}"
        case Not(operand):
            return f"~({formula(operand, names)})"
        case And(left, right):
            return f"({formula(left, names)} & {formula(right, names)})"
        case Xor(left, right):
            return f"({formula(left, names)} ^ {formula(right, names)})"


def memory_text(number: int, memory: Opaque) -> str:
    """Return the instance of a memory."""
    shape, nets = memory.shape, memory.inputs
    assert shape is not None
    is_clocked = not shape.ports.endswith("async")
    if shape.ports not in ("1r1w", "1r1w async"):
        raise ValueError(f"memories must have one read and one write port, not {shape.ports}")
    if is_clocked and nets["RD_CLK"] != nets["WR_CLK"]:
        raise ValueError(f"both ports of {memory.name} must have one clock")
    if any(net != ZERO for port in ("RD_ARST", "RD_SRST") for net in nets.get(port, ())):
        raise ValueError(f"reads of {memory.name} must have no reset")
    connections = {
        "clock": vector(nets["WR_CLK"]),
        "sample": "sample",
        "counting": "counting",
        "read_enable": vector(nets["RD_EN"]),
        "read_address": vector(nets["RD_ADDR"]),
        "write_address": vector(nets["WR_ADDR"]),
        "write_enable": vector(nets["WR_EN"]),
        "write_data": vector(nets["WR_DATA"]),
        "read_data": vector(memory.outputs["RD_DATA"]),
    }
    return (
        f"memory #({shape.width}, {shape.depth}, {len(nets['RD_ADDR'])}, {int(is_clocked)}) "
        f"m{number} ({', '.join(f'.{port}({text})' for port, text in connections.items())});"
    )
