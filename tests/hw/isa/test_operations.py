"""Tests of the table of ports: complete, consistent, and with a place in every register."""

from dataclasses import fields

import pytest

from spica.hw.config import CoreConfig
from spica.hw.core.units.execution_units import UNITS
from spica.hw.isa.instructions import INSTRUCTIONS
from spica.hw.isa.operations import (
    OPERATION_WIDTH,
    PORTS,
    ControlOperation,
    Latency,
    Port,
    TensorOperation,
    ports_with,
)
from spica.hw.styles.register_fed.config import RegisterFedConfig
from spica.hw.styles.shared_fed.config import SharedFedConfig


def test_every_port_is_in_the_table_and_has_a_unit():
    assert list(PORTS) == list(Port)
    assert {*UNITS, Port.CONTROL, Port.TENSOR} == set(Port)


def test_each_unit_of_instructions_has_one_port():
    units = [unit for info in PORTS.values() for unit in info.units]
    assert len(units) == len(set(units))
    assert {*units} == {one.unit for one in INSTRUCTIONS.values()}


@pytest.mark.parametrize("port", Port)
def test_operations_fit_their_field(port):
    assert all(0 <= operation < 1 << OPERATION_WIDTH for operation in PORTS[port].operations)


@pytest.mark.parametrize("port", Port)
def test_lanes_and_latency_name_fields_of_the_core(port):
    info, names = PORTS[port], {field.name for field in fields(CoreConfig)}
    assert info.lanes is None or info.lanes in names
    assert not isinstance(info.cycles, str) or info.cycles in names
    if info.latency is Latency.FIXED:
        assert CoreConfig().latency(port) >= 1


def test_ports_by_latency():
    assert {Port.INT, Port.FP32} <= {*ports_with(Latency.FIXED)}
    assert ports_with(Latency.WRITTEN) == (Port.CONTROL, Port.TENSOR)
    assert sum(len(ports_with(latency)) for latency in Latency) == len(Port)


def test_only_cores_with_tensor_instructions_have_their_port():
    plain, tensor = CoreConfig(), CoreConfig(tensor=RegisterFedConfig())
    assert set(tensor.ports) - set(plain.ports) == {Port.TENSOR}
    assert tensor.ports == tuple(Port)  # arrays are indexed by port
    assert (plain.group_sizes, tensor.group_sizes) == ([], [8])
    assert CoreConfig(tensor=RegisterFedConfig(), threads=32).group_sizes == [4]
    assert (plain.credit_ports, tensor.credit_ports) == ((), (Port.TENSOR,))
    assert tensor.credits(Port.TENSOR) == 2


def test_a_core_has_one_kind_of_tensor_instruction():
    units = (RegisterFedConfig(), SharedFedConfig(queue=3))
    for unit, groups, credits in zip(units, ([8], [32]), (2, 3), strict=True):
        core, kind = CoreConfig(tensor=unit), unit.name
        own = {operation for operation in TensorOperation if core.executes(Port.TENSOR, operation)}
        assert own == {*unit.operations} == {TensorOperation[kind.upper()]}
        assert (core.group_sizes, core.credits(Port.TENSOR)) == (groups, credits)
        waits = core.executes(Port.CONTROL, ControlOperation.HGMMA_WAIT)
        assert waits == (kind == "hgmma") and core.executes(Port.CONTROL, ControlOperation.BAR)


@pytest.mark.parametrize("threads", [1, 2, 3, 8, 32])
def test_default_lanes_divide_the_threads(threads):
    core = CoreConfig(threads=threads)
    lanes = {port: core.lanes(port) for port in Port}
    assert lanes[Port.INT] == lanes[Port.FP32] == lanes[Port.MEMORY] == threads
    assert lanes[Port.SPECIAL] == (1 if threads % 2 else 2)
    assert lanes[Port.DIVIDE] == 1
