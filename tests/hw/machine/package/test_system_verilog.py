"""Tests of the top level with packed structs: tools accept it, and each port has its member."""

import re

import pytest

from spica.hw.machine.package.package import package
from spica.hw.presets import PRESETS
from spica.sim.engine.emission_cache import emit_cached
from support.verilog.slang import read_by_slang
from support.verilog.verilator import verilator_complaints


@pytest.fixture(
    scope="module",
    params=["tiny_matrix", *(pytest.param(n, marks=pytest.mark.full) for n in ("tiny", "virgo"))],
)
def design(request, tmp_path_factory):
    """Return folder, name and emission of a design."""
    name = request.param
    emission = emit_cached(PRESETS[name], name)
    folder = tmp_path_factory.mktemp(name)
    for file, text in package(emission, has_structs=True).items():
        (folder / file).write_text(text)
    return folder, name, emission


def test_verilator_finds_nothing_to_warn_of(design):
    folder, name, _ = design
    files = (f"{name}.vlt", "-f", f"{name}.f", f"{name}_sv.sv")
    options = ("-Wall", "-Wno-DECLFILENAME", "--top-module", f"{name}_sv")
    assert verilator_complaints(*options, *files, folder=folder) == ""


def test_slang_finds_nothing_to_warn_of(design):
    folder, name, emission = design
    options = ("-Weverything", "--top", f"{name}_sv", "-f", f"{name}.f", f"{name}_sv.sv")
    wrapper = read_by_slang(*options, folder=folder)
    assert wrapper.messages == 0
    buses = {port.name.rpartition("_")[0] for port in emission.ports if "axi" in port.name}
    structs = {f"{bus}_{part}" for bus in buses for part in ("request", "response")}
    others = {port.name for port in emission.ports if "axi" not in port.name}
    assert wrapper.ports.keys() == structs | others
    # The structs have as many bits as the ports.
    for bus in buses:
        for part, side in (("request", "output"), ("response", "input")):
            struct = wrapper.ports[f"{bus}_{part}"]
            assert struct.direction == (side if bus != "s_axil" else opposite(side))
            widths = [
                port.width
                for port in emission.ports
                if port.name.startswith(f"{bus}_") and port.direction == struct.direction
            ]
            assert struct.width == sum(widths)


def opposite(direction):
    return {"input": "output", "output": "input"}[direction]


def test_each_port_is_the_member_of_its_name(design):
    folder, name, emission = design
    text = (folder / f"{name}_sv.sv").read_text()
    connections = dict(re.findall(r"^    \.(\w+)\(([\w.]+)\)", text, re.M))
    assert connections.keys() == {port.name for port in emission.ports}
    for port, path in connections.items():
        struct, _, member = path.partition(".")
        bus = re.sub(r"_(request|response)$", "", struct)
        flat = f"{bus}_{re.sub(r'[._]', '', member)}" if member else struct
        assert flat == port
    assert connections["m_axi0_awid"] == "m_axi0_request.aw.id"
    assert connections["m_axi0_rvalid"] == "m_axi0_response.r_valid"
    assert connections["s_axil_wstrb"] == "s_axil_request.w.strb"
    assert connections["clk"] == "clk"


def test_without_the_option_there_is_none(design):
    _, name, emission = design
    assert f"{name}_sv.sv" not in package(emission)
