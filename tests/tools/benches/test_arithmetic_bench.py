"""Tests of the bench of arithmetic units: packing, latency, interval, selection, faults."""

import dataclasses
import json
from contextlib import nullcontext
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bench.units.bench import UnitBench
from bench.units.check import Comparison
from bench.units.unit import Unit
from support.alike import require_alike
from support.vectors import require_equal

ROOT = Path(__file__).parents[3]
COUNT = 70_000  # more than two chunks
INTERVAL = 5


class Weigh(wiring.Component):
    """Sum of weighted elements of odd widths and number, and their concatenation; combinational."""

    a: In(data.ArrayLayout(5, 7))
    b: In(data.ArrayLayout(19, 3))
    c: In(data.ArrayLayout(11, 5))
    wide: In(45)
    total: Out(32)
    joined: Out(data.ArrayLayout(11, 5))
    turned: Out(45)

    def elaborate(self, platform):
        m = Module()
        elements = [*(self.a[k] for k in range(7)), *(self.b[k] for k in range(3))]
        total = Const(0)
        for weight, element in enumerate(elements, 1):
            total = total + weight * element
        m.d.comb += [
            self.total.eq(total),
            self.turned.eq(self.wide.rotate_left(7)),
        ]
        m.d.comb += [self.joined[k].eq(~self.c[k]) for k in range(5)]
        return m


def weigh(a, b, c, wide):
    elements = np.concatenate([a, b], axis=1).astype(np.int64)
    return {
        "total": elements @ np.arange(1, 11),
        "joined": ~c & 0x7FF,
        "turned": (wide << np.uint64(7) | wide >> np.uint64(38)) & np.uint64((1 << 45) - 1),
    }


def weigh_operands(rng, count):
    return {
        "a": rng.integers(0, 1 << 5, (count, 7)),
        "b": rng.integers(0, 1 << 19, (count, 3)),
        "c": rng.integers(0, 1 << 11, (count, 5), np.uint32),
        "wide": rng.integers(0, 1 << 45, count, np.uint64),
    }


class Add(wiring.Component):
    """Sum with a latency of three cycles; if `flawed`, one in 256 is wrong."""

    def __init__(self, flawed: bool = False):
        self.flawed = flawed
        super().__init__({"a": In(32), "b": In(32), "o": Out(32)})

    def elaborate(self, platform):
        m = Module()
        first, second = Signal(32), Signal(32)
        wrong = self.flawed & (self.a[4:12] == 0xA5)
        m.d.sync += [first.eq(self.a + self.b + wrong), second.eq(first), self.o.eq(second)]
        return m


def add(a, b):
    return {"o": a + b & 0xFFFF_FFFF}


def add_operands(rng, count):
    return {name: rng.integers(0, 1 << 32, count) for name in "ab"}


class Count(wiring.Component):
    """Input of `valid` plus one per cycle since, and whether the input was held meanwhile."""

    valid: In(1)
    a: In(16)
    o: Out(16)
    held: Out(1)

    def elaborate(self, platform):
        m = Module()
        started = Signal(16)
        m.d.sync += self.o.eq(Mux(self.valid, self.a, self.o + 1))
        m.d.sync += self.held.eq(self.valid | (self.held & (self.a == started)))
        with m.If(self.valid):
            m.d.sync += started.eq(self.a)
        return m


unit = partial(Unit, group="Test", oracle="itself")
add_unit = partial(unit, latency=3, operands=add_operands, golden=add)
UNITS = [
    unit(name="weigh", component=Weigh, latency=0, operands=weigh_operands, golden=weigh),
    add_unit(name="add", component=Add),
    add_unit(name="flawed", component=partial(Add, flawed=True)),
    unit(
        name="count",
        component=Count,
        latency=INTERVAL,
        interval=INTERVAL,
        operands=lambda rng, count: {"a": rng.integers(0, 1 << 16, count)},
        golden=lambda a: {"o": a + INTERVAL - 1 & 0xFFFF, "held": np.ones(len(a), bool)},
    ),
]


@pytest.fixture(scope="module")
def bench():
    with UnitBench(UNITS) as bench:
        yield bench


def compared(bench, unit, count=COUNT, golden=None):
    inputs = unit.operands(np.random.default_rng(1), count)
    expected = (golden or unit.golden)(**inputs)
    return Comparison(unit, inputs, bench.run(unit.name, inputs), expected)


@pytest.mark.parametrize("name", ["weigh", "add", "count"])
@pytest.mark.full
def test_results_are_those_of_the_vector(bench, name):
    unit = bench.units[name]
    for _ in range(2):  # the second time starts from the state after the first
        comparison = compared(bench, unit)
        assert not comparison.mismatches, str(comparison)
        assert len(comparison.wrong) == COUNT


@pytest.mark.full
def test_a_planted_fault_is_found(bench):
    comparison = compared(bench, bench.units["flawed"])
    expected = comparison.inputs["a"] >> 4 & 0xFF == 0xA5
    assert 200 < comparison.mismatches < 350
    assert np.array_equal(comparison.wrong, expected)
    first = np.nonzero(expected)[0][0]
    a, b = (int(comparison.inputs[name][first]) for name in "ab")
    total = a + b & 0xFFFF_FFFF
    head, line, *rest = str(comparison).splitlines()
    assert head == f"flawed: {comparison.mismatches} of {COUNT} vectors are wrong"
    assert line == f"  {first}: a={a:#x}, b={b:#x}: o is {total + 1:#x} of the RTL, " + (
        f"{total:#x} of the golden model"
    )
    assert len(rest) == 4


@pytest.mark.full
def test_one_wrong_prediction_in_many_is_found(bench):
    def off_by_one(a, b):
        o = add(a, b)["o"]
        o[-1] ^= 1
        return {"o": o}

    comparison = compared(bench, bench.units["add"], golden=off_by_one)
    assert np.nonzero(comparison.wrong)[0].tolist() == [COUNT - 1]


@pytest.mark.full
def test_what_an_oracle_masks_is_not_compared(bench):
    def masked(a, b):
        odd = a & 1 == 1
        return {"o": np.ma.masked_array(add(a, b)["o"] + odd, odd)}

    comparison = compared(bench, bench.units["add"], golden=masked)
    assert comparison.mismatches == 0
    assert comparison.compared == (comparison.inputs["a"] & 1 == 0).sum()


@pytest.mark.parametrize("wrong", [1, 2, 4])
@pytest.mark.full
def test_a_wrong_latency_is_found(bench, monkeypatch, wrong):
    unit = dataclasses.replace(bench.units["add"], latency=wrong)
    monkeypatch.setitem(bench.units, "add", unit)
    assert compared(bench, unit).mismatches > COUNT * 0.99


@pytest.mark.full
def test_other_units_stand_still(bench):
    inputs = UNITS[1].operands(np.random.default_rng(3), 100)
    first = bench.run("add", inputs)["o"]
    bench.run("weigh", UNITS[0].operands(np.random.default_rng(3), 100))
    # The registers still hold the last vector of `add`.
    words = np.full((1, 1), bench.numbers["add"], np.uint32)
    held = bench.engine.vectors(words, domains=[], latency=7, output_words=1)
    assert held[0, 0] == first[-1]


@pytest.mark.parametrize(
    ("name", "inputs", "message"),
    [
        ("add", {"a": np.zeros(3, int)}, "inputs must be a, b, not a"),
        (
            "add",
            {"a": np.zeros(3, int), "b": np.zeros(2, int)},
            r"must all have one length, not \[2, 3\]",
        ),
        (
            "add",
            {"a": np.zeros(3, int), "b": np.zeros((3, 2), int)},
            r"b must have shape \(3,\), not \(3, 2\)",
        ),
        ("sub", {}, "unit must be among weigh, add, flawed, count, not 'sub'"),
    ],
)
@pytest.mark.full
def test_wrong_inputs_are_refused(bench, name, inputs, message):
    with pytest.raises(ValueError, match=message):
        bench.run(name, inputs)


@pytest.mark.full
def test_unpredicted_outputs_are_refused(bench):
    with pytest.raises(ValueError, match="outputs of count must all be predicted: o, held, not o"):
        compared(bench, bench.units["count"], golden=lambda a: {"o": a})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "fp32-add"}, "name must be an identifier, not 'fp32-add'"),
        ({"latency": -1}, "latency must be at least 0, not -1"),
        ({"interval": 0}, "interval must be at least 1, not 0"),
    ],
)
def test_bad_units_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(UNITS[0], **change)


@pytest.mark.full
def test_table_of_units(bench, monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    arithmetic = import_module("bench.arithmetic")
    monkeypatch.setattr(arithmetic, "every_unit", lambda: UNITS)
    monkeypatch.setattr(arithmetic.UnitBench, "of_every_unit", lambda progress: nullcontext(bench))
    steps = []
    parts = arithmetic.measure(True, lambda *progress: steps.append(progress))
    result = [json.loads(json.dumps(part)) for part in parts][-1]
    units = result["units"]
    assert [(u["latency"], u["interval"]) for u in units.values()] == [
        (0, 1),
        (3, 1),
        (3, 1),
        (5, 5),
    ]
    assert units["weigh"]["arrays"] and not units["add"]["arrays"]
    assert units["add"]["flip_flops"] == 96 and units["weigh"]["flip_flops"] == 0
    assert units["add"]["vectors"] == 20_000 and units["weigh"]["vectors"] == 4_000
    assert [u["mismatches"] > 0 for u in units.values()] == [False, False, True, False]
    assert ("checking", 3, 4) in steps

    targets = {target.name: target for target in import_module("bench.target").targets_of(result)}
    (agreement,) = (t for name, t in targets.items() if "disagree" in name)
    assert not agreement.met and agreement.value == units["flawed"]["mismatches"]
    too_deep = {name for name, unit in units.items() if unit["depth"] > 60}
    assert too_deep and {name[9:] for name in targets if name.startswith("depth of ")} == too_deep
    for unit in units.values():
        unit["depth"] = 59
    units["weigh"]["depth"] = 60
    (depth,) = (t for t in arithmetic.targets(result) if t["name"].startswith("depth of "))
    assert (depth["name"], depth["value"], depth["met"]) == ("depth of weigh", 60, True)
    units["count"]["depth"] = units["add"]["depth"] = 61
    names = [target["name"] for target in arithmetic.targets(result) if not target["met"]]
    assert {"depth of add", "depth of count"} <= set(names)
    table, remark, wrong = arithmetic.tables(result)
    assert table.row_count == 4
    (column,) = (column for column in table.columns if column.header == "depth")
    assert list(column.cells)[1] == "61 !"
    assert remark.startswith("4 units, 64,000 vectors")
    assert wrong.startswith("flawed: ")


def test_a_comparison_says_which_is_which():
    require_alike(3, 3, "cycle", 9)
    require_alike({"a": 1}, {"a": 1})
    for rtl, model, text in (
        (255, 16, "busy in cycle 9: 0xff of the RTL, 0x10 of the model"),
        (True, False, "busy in cycle 9: True of the RTL, False of the model"),
        (["row_0"], [], "busy in cycle 9: ['row_0'] of the RTL, [] of the model"),
    ):
        with pytest.raises(AssertionError) as caught:
            require_alike(rtl, model, "busy in cycle", 9)
        assert str(caught.value) == text
    with pytest.raises(AssertionError, match="1 of 2 wrong: a 0x5: found 0x1, expected 0x2"):
        require_equal([0, 1], [0, 2], a=[4, 5])
