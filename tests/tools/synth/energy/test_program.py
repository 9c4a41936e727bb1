"""Programs of mapped netlists: outputs of flip-flops, and netlists that are refused."""

import numpy as np
import pytest

from spica.hw.base.errors import UserError
from spica.synth.energy.evaluator import evaluate_program, pack_cycles
from spica.synth.energy.mapped_netlist import ONE, ZERO
from spica.synth.energy.power_library import library_of
from spica.synth.energy.program import compile_netlist
from support.synth import small_netlist
from support.synth.small_library import SMALL_LIBRARY

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
