"""Tests of the register description: compiled, and compared with the JSON description."""

import dataclasses
from xml.etree import ElementTree

import pytest
from peakrdl_ipxact import IPXACTExporter
from systemrdl import RDLCompiler
from systemrdl.node import RegNode
from systemrdl.rdltypes import OnReadType, OnWriteType

from spica.hw.emit.emission import Emission
from spica.hw.machine.artifacts import description
from spica.hw.machine.package.system_rdl import system_rdl
from spica.hw.presets import PRESETS
from spica.hw.presets.override import override

CONFIGS = PRESETS | {
    "clusters": override(PRESETS["tiny"], ["clusters=2"]),
    "none": dataclasses.replace(PRESETS["tiny"], units=(), dma=None),
}
ACCESSES = {"r": (True, False), "w": (False, True), "rw": (True, True)}
IPXACT = "{http://www.accellera.org/XMLSchema/IPXACT/1685-2014}"
IPXACT_ACCESSES = {"r": "read-only", "w": "write-only", "rw": "read-write"}


def emission(name):
    """Return what a description needs of an emission."""
    return Emission(
        name=name,
        config=CONFIGS[name],
        verilog="",
        ports=(),
        domains=("sync",),
        modules=(),
    )


def compiled(name, tmp_path):
    path = tmp_path / f"{name}.rdl"
    path.write_text(system_rdl(emission(name)))
    compiler = RDLCompiler()
    compiler.compile_file(str(path))
    return compiler.elaborate()


def described(name):
    """Return address, access and meaning of each register, by block and name, as in the JSON."""
    facts = description(emission(name))
    rows = {
        (block, register): (row["address"], row["access"], row["meaning"])
        for block, registers in facts["registers"].items()
        for register, row in registers.items()
    }
    return rows | {
        ("counters", counter): (row["address"], "r", row["meaning"])
        for counter, row in facts["counters"].items()
    }


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.quick("tiny_matrix", "clusters", "none")
def test_registers_are_those_of_the_json(name, tmp_path):
    root = compiled(name, tmp_path)
    registers = [node for node in root.descendants() if isinstance(node, RegNode)]
    registers = {
        (register.parent.inst_name, register.inst_name): (
            register.absolute_address,
            register.has_sw_readable,
            register.has_sw_writable,
            register.get_property("desc"),
        )
        for register in registers
    }
    expected = {
        place: (address, *ACCESSES[access], meaning)
        for place, (address, access, meaning) in described(name).items()
    }
    assert registers == expected


def test_widths_are_those_of_the_bus_and_of_counters(tmp_path):
    root = compiled("tiny_matrix", tmp_path)
    for register in (node for node in root.descendants() if isinstance(node, RegNode)):
        is_counter = register.parent.inst_name == "counters"
        assert register.get_property("regwidth") == (64 if is_counter else 32)
        assert register.get_property("accesswidth") == 32
        (field,) = register.fields()
        assert field.width == register.get_property("regwidth")


def test_effects_of_accesses_are_described(tmp_path):
    root = compiled("tiny", tmp_path)
    effects = {
        field.parent.get_path(): (field.get_property("onread"), field.get_property("onwrite"))
        for register in root.descendants()
        if isinstance(register, RegNode)
        for field in register.fields()
    }
    assert effects["tiny.cores.console"] == (OnReadType.ruser, None)
    assert effects["tiny.dma.error"] == (None, OnWriteType.wclr)
    assert effects["tiny.control.interrupt_pending"] == (None, OnWriteType.woclr)
    assert effects["tiny.cores.state"] == (None, None)
    for place, (on_read, on_write) in effects.items():
        meaning = root.find_by_path(place).get_property("desc")
        assert (on_write is not None) == ("clears" in meaning)
        assert (on_read is not None) == ("popped" in meaning)


@pytest.mark.parametrize("name", ["tiny_matrix", pytest.param("virgo", marks=pytest.mark.full)])
def test_ip_xact_has_the_same_registers(name, tmp_path):
    path = tmp_path / "registers.xml"
    IPXACTExporter().export(compiled(name, tmp_path), str(path))

    def text(element, tag):
        return element.find(IPXACT + tag).text

    def number(element, tag):
        return int(text(element, tag).removeprefix("'h"), 16)

    registers = {
        (text(block, "name"), text(register, "name")): (
            number(block, "addressOffset") + number(register, "addressOffset"),
            text(register.find(f"{IPXACT}field"), "access"),
        )
        for block in ElementTree.parse(path).iter(f"{IPXACT}registerFile")
        for register in block.iter(f"{IPXACT}register")
    }
    assert registers == {
        place: (address, IPXACT_ACCESSES[access])
        for place, (address, access, _) in described(name).items()
    }
