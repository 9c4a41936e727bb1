"""Tests of SDC and XDC: evaluated by Tcl, compared with the ports that slang finds."""

import re
import shutil
import subprocess

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
    constraints = read(design, ending)
    ((_, sources),) = constraints.clocks.values()
    assert {*constraints.delays} == {*design[2]} - {*sources}
    assert {*constraints.delays.values()} == {3.0}
    assert [*constraints.uncertainty.values()] == ([] if ending == "sdc" else [0.0])


def test_a_flow_can_set_the_variables_of_the_sdc(design):
    constraints = read(
        design,
        "sdc",
        variables={
            "spica_period": "2.0",
            "spica_io_fraction": "0.25",
            "spica_busy_fraction": "0.1",
            "spica_uncertainty": "0.05",
        },
    )
    ((period, _),) = constraints.clocks.values()
    assert period == 2.0
    busy = {name for name in design[2] if name.endswith("_busy")}
    assert busy
    delays = constraints.delays
    assert {name for name, delay in delays.items() if delay == pytest.approx(0.2)} == busy
    assert {delays[name] for name in {*delays} - busy} == {0.5}
    assert [*constraints.uncertainty.values()] == [0.05]


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


#: Script for OpenSTA: constraints of a top level without contents.
ANALYSIS = """\
read_liberty empty.lib
read_verilog ports.v
link_design {top}
set spica_period 4.0
{read} {constraints}
write_sdc written.sdc
"""

#: Cell library without cells: only the thresholds that a library must state.
LIBRARY = """\
library (empty) { delay_model : table_lookup;
  input_threshold_pct_rise : 50; output_threshold_pct_rise : 50;
  input_threshold_pct_fall : 50; output_threshold_pct_fall : 50;
  slew_lower_threshold_pct_rise : 20; slew_upper_threshold_pct_rise : 80;
  slew_lower_threshold_pct_fall : 20; slew_upper_threshold_pct_fall : 80; }
"""


def ports_only(top, ports):
    """Return a module with the ports of a design, as a netlist without gates."""
    rows = [f"  {port.direction} [{port.width - 1}:0] {port.name};" for port in ports]
    rows = [row.replace("[0:0] ", "") for row in rows]
    return "\n".join([
        f"module {top}({', '.join(port.name for port in ports)});",
        *rows,
        "endmodule\n",
    ])


# Only Debian packages OpenSTA (apt-get install opensta): elsewhere there is no such test.
if shutil.which("sta"):

    @pytest.mark.full
    @pytest.mark.parametrize("ending", BUILTINS)
    def test_a_timing_analyser_reads_the_constraints(design, tmp_path, ending):
        name, folder, ports = design
        (tmp_path / "ports.v").write_text(ports_only(name, ports.values()))
        (tmp_path / "empty.lib").write_text(LIBRARY)
        read = {"sdc": "read_sdc", "xdc": "source"}[ending]
        script = ANALYSIS.format(top=name, read=read, constraints=folder / f"{name}.{ending}")
        (tmp_path / "run.tcl").write_text(script)
        run = subprocess.run(
            ["sta", "-no_splash", "-exit", "run.tcl"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert (run.stdout, run.stderr) == ("", "")
        written = (tmp_path / "written.sdc").read_text()
        bits = dict.fromkeys(("input", "output"), 0)
        for port in ports.values():
            bits[port.direction] += port.width
        clocks = len(re.findall(r"get_ports \{(?:\w+_)?clk\}", written))
        assert clocks == sum(port == "clk" or port.endswith("_clk") for port in ports)
        assert written.count("set_input_delay") == bits["input"] - clocks
        assert written.count("set_output_delay") == bits["output"]
        assert f"-period {4.0 if ending == 'sdc' else 10.0:.4f}" in written
