"""Tests of the table of kinds of matrix units: each kind is complete, and others are refused."""

from dataclasses import dataclass, replace

import pytest
from amaranth import Shape
from amaranth.hdl import Fragment
from amaranth.lib import wiring

from spica.hw.base.errors import UserError
from spica.hw.config import PRESETS, MatrixUnitConfig, SystolicConfig, UnitConfig
from spica.hw.isa.memory_map import UNIT_REGISTERS
from spica.hw.matrix.signature import unit_members
from spica.hw.styles.registry import KINDS, kind_of
from spica.hw.styles.style import UnitKind
from spica.kernels.gemm.target import systolic_unit
from spica.sim.iss.device.unit_models import UNIT_MODELS
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


@pytest.fixture(params=KINDS, ids=lambda config: config.__name__)
def sample(request) -> UnitConfig:
    return SAMPLES[request.param]


def unit_of(sample: UnitConfig):
    """Return the unit of a config, elaborated."""
    config = MatrixUnitConfig.of(replace(CLUSTER, units=(sample,)))
    unit = kind_of(sample).component(config)
    Fragment.get(unit, None)
    return unit


def ports_of(members: wiring.SignatureMembers) -> list[tuple]:
    """Return path, direction and width of every port."""
    return [
        (path, member.flow, Shape.cast(member.shape).width)
        for path, member in members.flatten()
        if member.is_port
    ]


def test_every_kind_has_models():
    assert UNIT_MODELS.keys() == KINDS.keys() == SAMPLES.keys()


def test_the_component_has_the_members_of_a_unit(sample):
    config = MatrixUnitConfig.of(replace(CLUSTER, units=(sample,)))
    unit = unit_of(sample)
    members = wiring.SignatureMembers(unit_members(config, unit.events.shape()))
    assert ports_of(unit.signature.members) == ports_of(members)
    assert set(sample.reads) <= {path[0] for path, *_ in ports_of(members)}


@pytest.mark.full
def test_counters_refer_to_events_and_colours(sample):
    kind, events = kind_of(sample), unit_of(sample).events
    for counter in kind.counters:
        found = events
        for name in counter.event.split("."):
            found = found[name]
        assert len(found) == 1
        assert counter.colour in COLOURS
    names = [counter.name_in(unit) for unit in ("matrix", "matrix1") for counter in kind.counters]
    assert len(set(names)) == len(names)
    assert kind.active is kind.counters[0]
    assert kind.active not in kind.losses


def test_registers_common_to_all_kinds_are_required():
    kind = KINDS[SystolicConfig]
    for name in UNIT_REGISTERS:
        registers = {key: value for key, value in kind.registers.items() if key != name}
        with pytest.raises(ValueError, match="registers must hold UNIT_REGISTERS"):
            replace(kind, registers=registers)
    assert isinstance(kind, UnitKind)


def test_products_need_a_systolic_array():
    assert systolic_unit(CLUSTER) == CLUSTER.units[0]
    with pytest.raises(UserError, match="gemm needs a matrix unit; this machine has none"):
        systolic_unit(replace(CLUSTER, units=()), "gemm")
    message = "gemm needs a systolic array as first matrix unit; this machine has Unknown"
    with pytest.raises(UserError, match=message):
        systolic_unit(replace(CLUSTER, units=(Unknown(),)), "gemm")
