"""Mapped netlists: programs, refused netlists, and toggles equal to those of Icarus."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from spica.base.errors import UserError
from spica.synth.design import design_of
from spica.synth.energy.evaluator import evaluate_program, pack_cycles, unpack_cycles
from spica.synth.energy.mapped_netlist import ONE, ZERO, map_block
from spica.synth.energy.power_library import library_of, read_power_library
from spica.synth.energy.program import INVERT_RESULT, compile_netlist
from spica.synth.liberty import read_library
from support.need_tools import need_icarus
from support.synth import small_netlist
from support.synth.icarus_netlist import run_icarus
from support.synth.small_library import SMALL_LIBRARY

PDK = os.environ.get("SPICA_PDK")
LIBRARIES = ["small", *(sorted(path.stem for path in Path(PDK).glob("*.lib")) if PDK else ())]
CYCLES, RESETS = 1000, 10


class Mixed(wiring.Component):
    """Counter, multiplier, enabled accumulator, comparator and a memory."""

    a: In(6)
    b: In(6)
    enable: In(1)
    address: In(4)
    sum: Out(12)
    is_less: Out(1)
    read: Out(8)

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = Memory(shape=8, depth=16, init=[])
        read, write = memory.read_port(), memory.write_port()
        count = Signal(5, init=3)
        product = Signal(12)
        total = Signal(12)
        m.d.sync += [count.eq(count + 1), product.eq(self.a * self.b)]
        with m.If(self.enable):
            m.d.sync += total.eq(total + product)
        m.d.comb += [
            self.sum.eq(Mux(count[4], total, product ^ total)),
            self.is_less.eq(total < product),
            read.addr.eq(self.address),
            read.en.eq(self.enable),
            write.addr.eq(count),
            write.data.eq(product),
            write.en.eq(count[0]),
            self.read.eq(read.data ^ total),
        ]
        return m


@pytest.fixture(scope="module", params=LIBRARIES)
def mapped(request, tmp_path_factory):
    """Return a netlist, its program, and its run in Icarus."""
    need_icarus()
    folder = tmp_path_factory.mktemp("icarus")
    path = folder / "small.lib"
    path.write_text(SMALL_LIBRARY)
    if request.param != "small":
        path = Path(str(PDK)) / f"{request.param}.lib"
    library = read_library(path)
    block = design_of(Mixed(), "mixed").blocks["mixed"]
    netlist = map_block(library, read_power_library(path), block)
    program = compile_netlist(netlist)
    return netlist, program, run_icarus(folder, netlist, program, library.text, CYCLES, RESETS)


def activity_of(program, run, begin, compared=(), expected=None):
    """Return the activity from cycle `begin` on, with the inputs and registers of a run."""
    window = slice(begin - 1, None)
    counted = np.ones(CYCLES - begin + 1, bool)
    counted[0] = False
    values = pack_cycles(run.values[list(program.driven), window])
    return evaluate_program(program, values, counted, compared, expected)


def test_toggles_are_those_of_icarus(mapped):
    netlist, program, run = mapped
    clocks = sorted({register.clock for register in netlist.flip_flops})
    logic = [net for net in range(2, program.nets) if net not in clocks]
    assert run.is_known[logic, RESETS:].all()
    changes = run.changes[logic, RESETS + 1 :].sum(axis=1)
    assert changes.min() > 0  # every net toggles
    activity = activity_of(program, run, RESETS + 1)
    assert activity.toggles[logic].tolist() == changes.tolist()


def test_every_value_is_that_of_icarus(mapped):
    netlist, program, run = mapped
    outputs = [net for nets in netlist.outputs.values() for net in nets]
    outputs += [net for part in netlist.opaque for nets in part.inputs.values() for net in nets]
    clocks = {register.clock for register in netlist.flip_flops}
    outputs = [net for net in outputs if net > 1 and net not in clocks]
    now = run.values[outputs, RESETS:]
    following = np.pad(run.values[list(program.states), RESETS + 1 :], [(0, 0), (0, 1)])
    expected = np.concatenate([now, following])
    compared = (*outputs, *program.next_states)
    right = activity_of(program, run, RESETS + 1, compared, pack_cycles(expected))
    assert not right.wrong[:-1].any()  # nothing follows the last cycle
    assert len(outputs) > 30 and len(program.states) > 20
    # A recorded value that differs in one cycle makes this cycle wrong, and no other.
    for row, cycle in ((0, 5), (len(outputs) - 1, 64), (len(compared) - 1, 700)):
        differing = expected.copy()
        differing[row, cycle] ^= True
        activity = activity_of(program, run, RESETS + 1, compared, pack_cycles(differing))
        assert np.flatnonzero(activity.wrong[:-1]).tolist() == [cycle]


@pytest.mark.full
def test_a_wrong_operation_is_seen(mapped):
    netlist, program, run = mapped
    operations = program.operations.copy()
    operations[len(operations) // 2, 0] ^= INVERT_RESULT
    outputs = [net for nets in netlist.outputs.values() for net in nets if net > 1]
    compared = (*outputs, *program.next_states)
    following = np.pad(run.values[list(program.states), RESETS + 1 :], [(0, 0), (0, 1)])
    expected = pack_cycles(np.concatenate([run.values[outputs, RESETS:], following]))
    broken = replace(program, operations=operations)
    assert activity_of(broken, run, RESETS + 1, compared, expected).wrong[:-1].any()


def test_windows_are_counted_apart(mapped):
    _, program, run = mapped
    values = run.values[list(program.driven)]
    windows = [slice(20, 60), slice(100, 301), slice(700, 828)]
    parts = []
    for window in windows:
        counted = np.ones(window.stop - window.start, bool)
        counted[0] = False
        parts.append((values[:, window], counted))
    apart = [evaluate_program(program, pack_cycles(v), c).toggles for v, c in parts]
    together = evaluate_program(
        program,
        pack_cycles(np.concatenate([v for v, _ in parts], axis=1)),
        np.concatenate([c for _, c in parts]),
    )
    assert together.toggles.tolist() == sum(apart).tolist()


@pytest.mark.parametrize("cycles", [1, 63, 64, 65, 1000])
def test_packing(cycles):
    bits = np.random.default_rng(cycles).random((3, cycles)) < 0.5
    assert (unpack_cycles(pack_cycles(bits), cycles) == bits).all()


MORE_CELLS = """
  cell (DFFE) { ff (IQ, IQN) { clocked_on : "C"; next_state : "(E & D) | (!E & IQ)"; }
    pin (C) { direction : input; } pin (D) { direction : input; } pin (E) { direction : input; }
    pin (Q) { direction : output; function : "IQ"; }
    pin (QN) { direction : output; function : "IQN"; } }
  cell (DFFR) { ff (IQ, IQN) { clocked_on : "!C"; next_state : "D"; clear : "!R"; }
    pin (C) { direction : input; } pin (D) { direction : input; } pin (R) { direction : input; }
    pin (Q) { direction : output; function : "IQ"; } }
  cell (LATCH) { latch (IQ, IQN) { enable : "G"; data_in : "D"; }
    pin (G) { direction : input; } pin (D) { direction : input; }
    pin (Q) { direction : output; function : "IQ"; } }
}
"""
LIBRARY = library_of(SMALL_LIBRARY.removesuffix("}\n") + MORE_CELLS)
INPUTS = {"clk": ("input", 2), "a": ("input", 3), "b": ("input", 4)}


def netlist_of(outputs, *cells):
    """Return a netlist of inputs clk, a, b with some cells, of kinds and nets of pins."""
    ports = INPUTS | {name: ("output", net) for name, net in outputs.items()}
    return small_netlist.netlist_of(LIBRARY, ports, *cells)


def values_of(program, given, slots):
    """Return bits of some slots in each cycle, found by comparison with 0."""
    rows = pack_cycles(np.array([given[net] for net in program.driven], bool))
    cycles = len(next(iter(given.values())))
    zeros = np.zeros((1, rows.shape[1]), np.uint64)
    counted = np.ones(cycles, bool)
    return [
        evaluate_program(program, rows, counted, [slot], zeros).wrong.astype(int).tolist()
        for slot in slots
    ]


def test_gates_in_levels():
    netlist = netlist_of(
        {"o": 6},
        ("NAND2", {"A": 5, "B": "1", "Y": 6}),
        ("MUX2", {"A": 3, "B": "0", "S": 4, "Y": 5}),
    )
    program = compile_netlist(netlist)
    assert (program.driven, program.levels) == ((2, 3, 4), 2)
    given = {2: [0] * 4, 3: [0, 1, 0, 1], 4: [0, 0, 1, 1]}
    assert values_of(program, given, [5, 6, ZERO, ONE]) == [
        *([0, 1, 0, 0], [1, 0, 1, 1]),
        *([0, 0, 0, 0], [1, 1, 1, 1]),
    ]


@pytest.mark.parametrize(
    ("pins", "state", "following"),
    [
        ({"Q": 5}, 5, [0, 1, 1, 1]),
        ({"Q": 5, "QN": 6}, 5, [0, 1, 1, 1]),
        ({"QN": 6}, 6, [1, 0, 0, 0]),
    ],
)
def test_outputs_and_next_state_of_a_flip_flop(pins, state, following):
    cell = ("DFFE", {"C": 2, "D": 3, "E": 4, **pins})
    program = compile_netlist(netlist_of({name.lower(): net for name, net in pins.items()}, cell))
    assert (program.states, program.driven) == ((state,), (2, 3, 4, state))
    q = [0, 0, 1, 1]
    held = q if state == 5 else [1 - bit for bit in q]
    given = {2: [0] * 4, 3: [0, 1, 0, 1], 4: [1, 1, 0, 1], state: held}
    assert values_of(program, given, program.next_states) == [following]
    if len(pins) == 2:
        assert values_of(program, given, [6]) == [[1, 1, 0, 0]]


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        (
            [
                ("NAND2", {"A": 3, "B": 6, "Y": 5}),
                ("INV", {"A": 5, "Y": 6}),
                ("INV", {"A": 6, "Y": 7}),
                ("INV", {"A": 3, "Y": 8}),
            ],
            "gates of some must have no combinational loop; 3 of 4 are in one or depend on one",
        ),
        ([("LATCH", {"G": 2, "D": 3, "Q": 5})], "gates or flip-flops of small, not LATCH"),
        ([("ABSENT", {"A": 2})], "gates or flip-flops of small, not ABSENT"),
        ([("DFFR", {"C": 2, "D": 3, "R": 4, "Q": 5})], "no asynchronous reset, unlike u0"),
        ([("DFF", {"C": 2, "D": 3})], "DFF must have one output of its state"),
    ],
)
def test_refused_netlists(cells, sentence):
    with pytest.raises(UserError) as error:
        compile_netlist(netlist_of({}, *cells))
    assert sentence in str(error.value)


def test_a_reset_that_is_tied_off():
    netlist = netlist_of({"q": 5}, ("DFFR", {"C": 2, "D": 3, "R": "1", "Q": 5}))
    assert netlist.flip_flops[0].clock == 2
    assert compile_netlist(netlist).states == (5,)


def test_rows_of_a_wrong_shape():
    program = compile_netlist(netlist_of({"o": 5}, ("INV", {"A": 3, "Y": 5})))
    with pytest.raises(ValueError, match=r"values must be 3 x 2 words, not \(3, 1\)"):
        evaluate_program(program, np.zeros((3, 1), np.uint64), np.ones(65, bool))
    with pytest.raises(ValueError, match=r"weights must be \d+ numbers, not \(1,\)"):
        evaluate_program(
            program,
            np.zeros((len(program.driven), 1), np.uint64),
            np.ones(64, bool),
            weights=np.zeros(1),
        )
