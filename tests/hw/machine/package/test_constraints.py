"""Tests of SDC and XDC: evaluated by Tcl, compared with the ports that slang finds."""

import pytest

from support.package.constraints import Constraints
from support.verilog.slang import SlangPort, read_by_slang

PRESETS = ["tiny_matrix", pytest.param("tiny", marks=pytest.mark.full)]
#: Commands of Tcl that an XDC file may use (Vivado Design Suite User Guide: Using Constraints).
XDC_BUILTINS = ("set", "list", "expr")
BUILTINS = {"sdc": None, "xdc": XDC_BUILTINS}


@pytest.fixture(scope="module", params=PRESETS)
def design(request, generated):
    """Return the name of a design, its folder, and its ports."""
    folder = generated(request.param)
    ports = read_by_slang("-f", f"{request.param}.f", folder=folder).ports
    return request.param, folder, ports


def read(design, ending, **options):
    name, folder, ports = design
    return Constraints(folder / f"{name}.{ending}", ports, builtins=BUILTINS[ending], **options)


@pytest.mark.parametrize("ending", BUILTINS)
def test_all_clock_ports_have_one_clock(design, ending):
    ports = design[2]
    clocks = {name for name in ports if name == "clk" or name.endswith("_clk")}
    ((period, sources),) = read(design, ending).clocks.values()
    assert set(sources) == clocks
    assert period == 10.0


@pytest.mark.parametrize("ending", BUILTINS)
def test_every_other_port_has_a_delay_in_its_direction(design, ending):
    found = read(design, ending)
    ((_, sources),) = found.clocks.values()
    assert {*found.delays} == {*design[2]} - {*sources}
    assert {*found.delays.values()} == {3.0}
    assert [*found.uncertainty.values()] == [0.0]


def test_a_flow_can_set_the_variables_of_the_sdc(design):
    found = read(
        design,
        "sdc",
        variables={
            "spica_period": "2.0",
            "spica_io_fraction": "0.25",
            "spica_busy_fraction": "0.1",
            "spica_uncertainty": "0.05",
        },
    )
    ((period, _),) = found.clocks.values()
    assert period == 2.0
    busy = {name for name in design[2] if name.endswith("_busy")}
    assert busy
    assert {name for name, delay in found.delays.items() if delay == pytest.approx(0.2)} == busy
    assert {found.delays[name] for name in {*found.delays} - busy} == {0.5}
    assert [*found.uncertainty.values()] == [0.05]


@pytest.mark.parametrize("ending", BUILTINS)
def test_a_renamed_port_would_be_found(design, ending):
    name, folder, ports = design
    renamed = {port: ports[port] for port in ports if port != "m_axi0_rdata"}
    renamed["m_axi0_rdatum"] = SlangPort("m_axi0_rdatum", "input", ports["m_axi0_rdata"].width)
    with pytest.raises(KeyError, match="m_axi0_rdata"):
        read((name, folder, renamed), ending)


@pytest.mark.parametrize("line", ["if {1} {set a 1}", "foreach a {1 2} {}", "proc a {} {}"])
def test_a_command_that_vivado_refuses_would_be_found(design, tmp_path, line):
    (tmp_path / "more.xdc").write_text(f"{line}\n")
    with pytest.raises(Exception, match="invalid command name"):
        Constraints(tmp_path / "more.xdc", design[2], builtins=XDC_BUILTINS)
