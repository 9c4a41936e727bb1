"""Tests of partitions: which blocks are parts, what is left of the top, in which order they run."""

from dataclasses import replace

import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from spica.hw.emit.emission import REST, TOP
from spica.hw.emit.emitter import emit
from spica.hw.emit.shared_block import SharedBlock
from spica.hw.emit.sram_macros import MacroLimits
from spica.hw.presets import PRESETS
from spica.sim.engine.blocks.partition import partition
from spica.sim.engine.blocks.schedule import Step, schedule
from spica.sim.engine.emission_cache import emit_cached
from spica.sim.harness.cluster_harness import observed_cluster


class Adder(SharedBlock):
    """A register, and the sum of it and an input."""

    def __init__(self, config):
        self.config = config
        super().__init__({"a": In(config), "stored": Out(config), "sum": Out(config)})

    def build(self, platform):
        m = Module()
        m.d.sync += self.stored.eq(self.a)
        m.d.comb += self.sum.eq(self.a + self.stored)
        return m


class Ring(wiring.Component):
    """Adders in clock domains ``one`` and ``two`` and one in ``sync``, in a chain.

    Parameters
    ----------
    closed : bool
        Whether the sum of the last is the input of the first: a combinational cycle.

    """

    def __init__(self, closed: bool = False):
        self.closed = closed
        super().__init__({"x": In(8), "o": Out(8), "stored": Out(8), "unrelated": Out(8)})

    def elaborate(self, platform):
        m = Module()
        one, two, here = (Adder(8) for _ in range(3))
        m.submodules.one = DomainRenamer("one")(one)
        m.submodules.two = DomainRenamer("two")(two)
        m.submodules.here = here
        m.d.sync += self.unrelated.eq(self.unrelated + 1)
        m.d.comb += [
            one.a.eq((two.sum if self.closed else two.stored) ^ self.x),
            here.a.eq(one.sum),
            two.a.eq(here.sum),
            self.o.eq(two.sum),
            self.stored.eq(one.stored),
        ]
        return m


def test_blocks_outside_of_sync_are_parts():
    parts = partition(emit(Ring(), "ring", simulated=True))
    one, two, rest = parts.parts
    assert [part.name for part in parts.parts] == ["one", "two", REST]
    assert one.design == two.design
    assert (one.clocks, two.clocks, rest.clocks) == (
        {"clk": "one"},
        {"clk": "two"},
        {"clk": "sync"},
    )
    assert [(piece.instance, piece.port) for piece in one.inputs["a"]] == [(REST, "one$a")]
    assert [(piece.instance, piece.port) for piece in two.inputs["a"]] == [(REST, "two$a")]
    assert [(piece.instance, piece.port) for piece in one.inputs["rst"]] == [(TOP, "one_rst")]
    # Logic takes the stored value of `two` and the sum of `one`, and no other output of a part.
    assert set(rest.inputs) == {"two$stored", "one$sum", "x", "rst"}
    assert rest.paths == {
        "one$a": {"two$stored", "x"},
        "two$a": {"one$sum"},
        "unrelated": set(),
    }
    assert [(piece.instance, piece.port) for piece in parts.outputs["o"]] == [("two", "sum")]
    assert [(piece.instance, piece.port) for piece in parts.outputs["stored"]] == [
        ("one", "stored")
    ]


def test_a_part_is_evaluated_again_for_later_inputs_only():
    assert schedule(partition(emit(Ring(), "ring", simulated=True))) == (
        Step(REST, ("rst", "two$stored", "x")),
        Step("one", ("a", "rst")),
        Step(REST, ("one$sum",)),
        Step("two", ("a", "rst")),
    )


def test_a_combinational_cycle_is_refused():
    with pytest.raises(ValueError, match=r"must not depend on each other in a cycle.*one\.sum"):
        schedule(partition(emit(Ring(closed=True), "ring", simulated=True)))


#: Cores with tensor units take long to emit.
SLOW = ("ampere", "ampere_fp32", "volta")


@pytest.mark.parametrize(
    "preset",
    [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in PRESETS],
)
@pytest.mark.quick("tiny_matrix")
def test_no_preset_has_a_cycle_between_its_blocks(preset):
    kind, config = observed_cluster, PRESETS[preset]
    parts = partition(emit_cached(config, preset, None, kind, simulated=True))
    steps = schedule(parts)
    for part in parts.parts:
        ports = [port for step in steps if step.part == part.name for port in step.inputs]
        assert sorted(ports) == sorted(part.inputs)
    # Equal blocks share a design, so that each is built once.
    assert len({part.design.name for part in parts.parts}) == len({p.design for p in parts.parts})


def test_macros_need_one_model():
    limits = MacroLimits(words=16, bits=1)
    with pytest.raises(ValueError, match="not SRAM macros"):
        partition(emit(Ring(), "ring", simulated=True, limits=limits))


def test_other_emissions_than_for_simulators_are_refused():
    with pytest.raises(ValueError, match="need an emission for a simulator"):
        partition(emit(Ring(), "ring"))


@pytest.mark.full
def test_an_edit_of_one_block_leaves_the_other_parts():
    config = PRESETS["tiny_matrix"]
    other = replace(config, dma=replace(config.dma, queue=config.dma.queue + 1))
    designs = []
    for variant in (config, other):
        parts = partition(emit_cached(variant, "tiny_matrix", simulated=True)).parts
        designs.append({part.name: part.design for part in parts})
    changed = {name for name in designs[0] if designs[0][name] != designs[1][name]}
    assert "dma" in changed
    assert not changed & {"matrix", "shared"}
