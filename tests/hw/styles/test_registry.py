"""Tests of the tables of styles: each style is complete in all rooms, and others are refused."""

from dataclasses import dataclass, replace

import pytest
from amaranth import Shape, Value
from amaranth.hdl import Fragment
from amaranth.lib import wiring

from spica.base.errors import UserError
from spica.hw.config import (
    CoreConfig,
    MatrixUnitConfig,
    SharedPortConfig,
    SystolicConfig,
    TensorBlockConfig,
    UnitConfig,
)
from spica.hw.isa.memory_map import UNIT_REGISTERS
from spica.hw.isa.operations import Port, TensorOperation
from spica.hw.lib.interfaces.execution_unit import operation_layout, result_layout
from spica.hw.matrix.signature import unit_members
from spica.hw.presets import PRESETS
from spica.hw.styles.registry import MATRIX_STYLES, TENSOR_STYLES, matrix_style_of
from spica.hw.styles.style import MatrixStyle
from spica.kernels.attention import styles as attention
from spica.kernels.gemm import styles as gemm
from spica.kernels.gemm.target import style_in, systolic_unit
from spica.sim.analytic import styles as analytic
from spica.sim.analytic.attention.styles import TRAFFIC
from spica.sim.golden.styles.registry import GOLDEN_ATTENTION, GOLDEN_PRODUCTS
from spica.sim.iss.device.unit_models import UNIT_MODELS
from spica.sim.iss.styles import registry as native
from spica.sim.trace.palette import COLOURS

CLUSTER = PRESETS["tiny_matrix"]
#: A config of each kind that fits the cluster.
SAMPLES = {SystolicConfig: CLUSTER.units[0]}


@dataclass(frozen=True, kw_only=True)
class Unknown(UnitConfig):
    """A config that no table lists."""

    reads = {"a": 4}  # noqa: RUF012  # a constant of the class
    drain_bytes = 4
    macs = 1
    numerics = "unknown"
    summary = "unknown"


@pytest.fixture(params=MATRIX_STYLES, ids=lambda config: config.__name__)
def sample(request) -> UnitConfig:
    return SAMPLES[request.param]


def unit_of(sample: UnitConfig):
    """Return the unit of a config, elaborated."""
    config = MatrixUnitConfig.of(replace(CLUSTER, units=(sample,)))
    unit = matrix_style_of(sample).component(config)
    Fragment.get(unit, None)
    return unit


def ports_of(members: wiring.SignatureMembers) -> list[tuple]:
    """Return path, direction and width of every port."""
    return [
        (path, member.flow, Shape.cast(member.shape).width)
        for path, member in members.flatten()
        if member.is_port
    ]


def test_every_style_is_in_the_tables_of_all_rooms():
    assert UNIT_MODELS.keys() == MATRIX_STYLES.keys() == SAMPLES.keys()
    assert native.STYLES.keys() == TENSOR_STYLES.keys()
    every = {*MATRIX_STYLES, *TENSOR_STYLES}
    assert gemm.STYLES.keys() == analytic.STYLES.keys() == GOLDEN_PRODUCTS.keys() == every
    # A style may have no program for attention.
    assert attention.STYLES.keys() == GOLDEN_ATTENTION.keys() == TRAFFIC.keys() <= every
    for kind, style in TENSOR_STYLES.items():
        assert style.name == gemm.STYLES[kind].name
        assert kind not in attention.STYLES or attention.STYLES[kind].name == style.name
    names = [kind.name for kind in TENSOR_STYLES]
    assert len({*names}) == len(names)
    operations = [operation for kind in TENSOR_STYLES for operation in kind.operations]
    assert sorted(operations) == sorted(TensorOperation)


@pytest.mark.parametrize("kind", TENSOR_STYLES, ids=lambda kind: kind.__name__)
def test_a_tensor_unit_has_the_members_of_its_style(kind):
    core, style = CoreConfig(tensor=kind()), TENSOR_STYLES[kind]
    shared = SharedPortConfig(size=64 * 1024, read_latency=2) if core.tensor_reads else None
    unit = style.component(TensorBlockConfig(core=core, shared=shared))
    Fragment.get(unit, None)
    assert unit.i.payload.shape() == operation_layout(core)
    assert unit.o.payload.shape() == result_layout(core)
    assert unit.events.shape() == style.events and "active" in style.events.members
    assert len(unit.released) == 1
    for port, size in core.tensor_reads.items():
        assert len(Value.cast(getattr(unit, port).response.payload)) == 8 * size
    assert ("fault" in unit.signature.members) == bool(core.tensor_reads)
    for counter in style.counters:
        assert counter.event in style.events.members and counter.colour in COLOURS
    assert [counter.event for counter in style.counters[:1]] in ([], ["active"])
    assert core.credits(Port.TENSOR) == core.tensor.credits > 0


def test_the_component_has_the_members_of_a_unit(sample):
    config = MatrixUnitConfig.of(replace(CLUSTER, units=(sample,)))
    unit = unit_of(sample)
    members = wiring.SignatureMembers(unit_members(config, unit.events.shape()))
    assert ports_of(unit.signature.members) == ports_of(members)
    assert set(sample.reads) <= {path[0] for path, *_ in ports_of(members)}


@pytest.mark.full
def test_counters_refer_to_events_and_colours(sample):
    kind, events = matrix_style_of(sample), unit_of(sample).events
    for counter in kind.counters:
        member = events
        for name in counter.event.split("."):
            member = member[name]
        assert len(member) == 1
        assert counter.colour in COLOURS
    names = [counter.name_in(unit) for unit in ("matrix", "matrix1") for counter in kind.counters]
    assert len(set(names)) == len(names)
    assert kind.active is kind.counters[0]
    assert kind.active not in kind.losses


def test_registers_common_to_all_kinds_are_required():
    kind = MATRIX_STYLES[SystolicConfig]
    for name in UNIT_REGISTERS:
        registers = {key: value for key, value in kind.registers.items() if key != name}
        with pytest.raises(ValueError, match="registers must hold UNIT_REGISTERS"):
            replace(kind, registers=registers)
    assert isinstance(kind, MatrixStyle)


def test_a_style_without_a_program_is_refused():
    with pytest.raises(UserError, match="attention has no program for units of SystolicConfig"):
        style_in({}, CLUSTER, "attention")


def test_products_need_a_systolic_array():
    assert systolic_unit(CLUSTER) == CLUSTER.units[0]
    with pytest.raises(UserError, match="gemm needs a matrix unit; this machine has none"):
        systolic_unit(replace(CLUSTER, units=()), "gemm")
    message = "gemm needs a systolic array as first matrix unit; this machine has Unknown"
    with pytest.raises(UserError, match=message):
        systolic_unit(replace(CLUSTER, units=(Unknown(),)), "gemm")
