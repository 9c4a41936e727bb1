"""Tests of clusters with several matrix units of different size and format."""

import dataclasses

import pytest

from spica.hw.config import DmaBlockConfig
from spica.hw.isa.memory_map import DMA, DMA_BASE, MATRIX, MATRIX_BASE, MATRIX_STRIDE, numbered
from spica.hw.machine.artifacts import sizes
from spica.hw.machine.counters import counter_table
from spica.hw.machine.machine import gated_domains
from spica.hw.memory.shared.shared_memory import cluster_ports, port_names
from spica.hw.presets import PRESETS
from spica.sim.harness.error_registers import describe_faults, fault_registers
from spica.sim.iss.cluster_model import ClusterModel
from spica.sim.iss.devices import Devices
from spica.sim.machine.command_machine import CommandMachine
from support.cluster.matrix_unit_products import together, unit_products

HETERO = PRESETS["tiny_hetero"]
#: About equally long on either unit.
SIZES = [(70, 40, 64), (30, 21, 45)]


def test_names_of_everything():
    assert gated_domains(HETERO) == ["matrix", "matrix1", "dma", "shared"]
    assert port_names(HETERO)[0] == ["a", "b", "a1", "b1", "dma0", "dma1"]
    assert cluster_ports(HETERO).read_sizes == (8, 8, 4, 4, 16, 16)
    counters = [counter.name for counter in counter_table(HETERO)]
    assert {"matrix_active", "matrix1_active", "overwrite_rows", "matrix1_overwrite_rows"} < set(
        counters
    )
    assert "shared_read_words_a1" in counters
    named = dict(sizes(HETERO))
    assert (named["config_matrix_rows"], named["config_matrix1_rows"]) == (4, 2)


def test_a_unit_sees_itself_alone():
    assert HETERO.unit(0) == PRESETS["tiny_matrix"]
    assert HETERO.unit(1).units == HETERO.units[1:]
    ports = [DmaBlockConfig.of(config).ports for config in (HETERO.unit(1), HETERO)]
    assert ports == [1, 2]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.quick(1)
def test_products_at_once_on_the_model(seed):
    products = unit_products(HETERO, SIZES, seed)
    model = ClusterModel(HETERO, [piece for p in products for piece in p.image], seed)
    model.run(together(products))
    for product in products:
        assert product.verdict(model.read).passed


class Bytes:
    """Memory of zero size."""

    def read(self, address, nbytes):
        raise AssertionError

    write = read


def test_command_words_name_the_unit():
    """Bits 6:5; the first unit refuses words for absent units."""
    devices = Devices(HETERO, Bytes())
    error = {n: MATRIX_BASE + n * MATRIX_STRIDE + MATRIX["error"].offset for n in (0, 1)}
    for unit, refusing in ((1, 1), (2, 0)):
        devices.cisc(31 | unit << 5)  # no operation has this code
        assert [devices.read(error[n]) for n in (0, 1)] == [int(n == refusing) for n in (0, 1)]
        words = {0: 31 | 2 << 5, 1: 31}
        word = devices.read(error[refusing] + 4)
        assert word == words[refusing]
        devices.write(error[refusing], 0)
    devices.cisc(16 | 1 << 5)
    assert not devices.error


def test_errors_are_reported_for_each_unit():
    registers = fault_registers(HETERO)
    assert registers["matrix1_error"] == MATRIX_BASE + MATRIX_STRIDE + MATRIX["error"].offset
    assert registers["dma1_error"] == DMA_BASE + MATRIX_STRIDE + DMA["error"].offset
    values = dict.fromkeys(registers, 0) | {"dma1_error": 2, "matrix1_error": 1}
    values["matrix1_error_word"] = 31
    assert describe_faults(values) == (
        "port 1 of the DMA reported a descriptor out of range and matrix unit 1 reported an "
        "illegal command (first rejected command: 0x0000001F)"
    )


def counted(machine) -> dict[str, int]:
    """Return the counters of a machine."""
    rows = [(3, counter.address, 0, 0) for counter in counter_table(HETERO)]
    return dict(zip((c.name for c in counter_table(HETERO)), read(machine, rows), strict=True))


def read(machine, rows) -> list[int]:
    """Return the values read by commands."""
    import numpy as np

    return [int(word) for word in machine.execute(np.array(rows, np.uint32), 1_000_000).reads]


@pytest.mark.full
def test_products_at_once_and_alone():
    """Bit-exact; concurrently they take little longer than the longer one alone."""
    with CommandMachine(HETERO, name="tiny_hetero", optimize=1) as machine:
        elapsed = []
        for chosen in ([0], [1], [0, 1]):
            machine.reset()
            products = unit_products(HETERO, SIZES)
            for product in products:
                for address, data in product.image:
                    machine.write(address, data)
            selected = [products[number] for number in chosen]
            elapsed.append(machine.execute(together(selected), 1_000_000).elapsed)
            for product in selected:
                assert product.verdict(machine.read).passed
            counters = counted(machine)
            for number, product in enumerate(products):
                active = counters[f"{numbered('matrix', number)}_active"]
                least = product.problem.macs // product.config.units[0].macs
                assert (active >= least) == (number in chosen)
            registers = fault_registers(HETERO)
            errors = read(machine, [(3, address, 0, 0) for address in registers.values()])
            assert not describe_faults(dict(zip(registers, errors, strict=True)))
        assert elapsed[2] < 1.3 * max(elapsed[:2])


def test_bad_configs():
    with pytest.raises(ValueError, match="units must be at most 4, as many as a command word"):
        dataclasses.replace(HETERO, units=HETERO.units * 3)
