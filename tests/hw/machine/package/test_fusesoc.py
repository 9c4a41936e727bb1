"""Tests of the core file: FuseSoC finds it, sets up each target, and runs lint and simulation."""

import importlib.metadata
import shutil

import pytest
import yaml

from spica.hw.machine.package.fusesoc import core_name
from support.need_tools import need_icarus
from support.package.fusesoc import run_fusesoc
from support.package.tcl import Tcl

NAME = "tiny_matrix"
CORE = f"spica:clusters:{NAME}:{importlib.metadata.version('spica')}"
#: Files of each target, by their types for tools.
FILES = {
    "lint": {"vlt": {"vlt"}, "v": {"verilogSource-2005"}},
    "sim": {"v": {"verilogSource-2005"}, "_tb.v": {"verilogSource-2005"}},
    "vivado": {"v": {"verilogSource-2005"}, "xdc": {"xdc"}, "_vivado.tcl": {"tclSource"}},
    "quartus": {"v": {"verilogSource-2005"}, "sdc": {"SDC"}, "_quartus.tcl": {"tclSource"}},
}
#: A system that contains the design, with its own wrappers of SRAM macros.
SYSTEM = """\
CAPI=2:
name: example:systems:soc:1.0.0
filesets:
  rtl:
    files: [soc.v]
    file_type: verilogSource-2005
    depend: ["spica:clusters:tiny_matrix"]
targets:
  default:
    filesets: [rtl]
    toplevel: soc
  lint:
    filesets: [rtl]
    toplevel: soc
    flow: lint
    flow_options: {tool: verilator}
"""


def set_up(folder, library, *options, core=CORE):
    """Set a target up; return its description for tools, and its folder."""
    run = run_fusesoc(f"--cores-root={library}", "run", "--setup", *options, core, folder=folder)
    assert run.returncode == 0, run.stderr
    assert "WARNING: Parse error" not in run.stderr + run.stdout
    (path,) = (folder / "build").glob("*/*/*.eda.yml")
    return yaml.safe_load(path.read_text()), path.parent


def names(described):
    return {file["name"].rpartition("/")[2]: file["file_type"] for file in described["files"]}


@pytest.mark.parametrize("target", FILES)
@pytest.mark.quick("lint")
def test_a_target_has_its_files(generated, tmp_path, target):
    described, folder = set_up(tmp_path, generated(NAME), f"--target={target}")
    expected = {
        NAME + (ending if ending.startswith("_") else f".{ending}"): kind
        for ending, (kind,) in FILES[target].items()
    }
    assert names(described) == expected
    assert described["toplevel"] == f"{NAME}_tb" if target == "sim" else NAME
    assert all((folder / file["name"]).is_file() for file in described["files"])


@pytest.mark.full
def test_a_library_of_generated_designs_lists_them(generated, tmp_path):
    shutil.copytree(generated(NAME), tmp_path / "designs")
    added = run_fusesoc("library", "add", "designs", "designs", folder=tmp_path)
    assert added.returncode == 0, added.stderr
    listed = run_fusesoc("core", "list", folder=tmp_path)
    assert f"{CORE} " in listed.stdout
    assert core_name(NAME) == CORE


def test_own_wrappers_replace_the_models_of_macros(generated, tmp_path):
    library = tmp_path / "library"
    shutil.copytree(generated(NAME, macros=True), library / NAME)
    (library / "soc.core").write_text(SYSTEM)
    (library / "soc.v").write_text("module soc; endmodule\n")
    for flags, has_models in ((), True), (("--flag=own_srams",), False):
        shutil.rmtree(tmp_path / "build", ignore_errors=True)
        options = (*flags, "--target=lint")
        described, _ = set_up(tmp_path, library, *options, core="example:systems:soc")
        expected = {"soc.v", f"{NAME}.v"} | ({f"{NAME}_sram.v"} if has_models else set())
        assert {*names(described)} == expected


@pytest.mark.full
@pytest.mark.parametrize("macros", [False, True], ids=["memories", "macros"])
def test_lint_finds_nothing(generated, tmp_path, macros):
    library = generated(NAME, macros=macros)
    run = run_fusesoc(f"--cores-root={library}", "run", "--target=lint", CORE, folder=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "%Warning" not in run.stdout + run.stderr
    assert "V e r i l a t i o n" in run.stdout


@pytest.mark.full
def test_lint_would_find_a_fault(generated, tmp_path):
    library = tmp_path / "library"
    shutil.copytree(generated(NAME), library)
    file = library / f"{NAME}.v"
    text = file.read_text()
    end = text.index("endmodule", text.index(f"module {NAME} ("))
    file.write_text(f"{text[:end]}  wire [3:0] planted = 8'd5;\n{text[end:]}")
    run = run_fusesoc(f"--cores-root={library}", "run", "--target=lint", CORE, folder=tmp_path)
    assert run.returncode != 0
    assert "%Warning-WIDTHTRUNC" in run.stdout + run.stderr


@pytest.mark.full
@pytest.mark.parametrize(
    ("preset", "macros"),
    [(NAME, False), (NAME, True), ("tiny", False)],
    ids=["memories", "macros", "cores"],
)
def test_simulation_passes(generated, tmp_path, preset, macros):
    need_icarus()
    library = generated(preset, macros=macros)
    core = f"spica:clusters:{preset}"
    run = run_fusesoc(f"--cores-root={library}", "run", "--target=sim", core, folder=tmp_path)
    assert run.returncode == 0, run.stderr
    passed = f"PASS: {preset} has identity 53504943 and counts cycles"
    assert passed in run.stdout
    assert "FAIL" not in run.stdout


#: Commands of the project scripts of Edalize, beside those that it writes for each file.
STUBS = {
    "vivado": (
        "create_project",
        "set_property",
        "read_verilog",
        "read_xdc",
        "current_fileset",
        "get_filesets",
    ),
    "quartus": ("project_new", "set_global_assignment", "set_instance_assignment"),
}


@pytest.mark.parametrize("target", STUBS)
@pytest.mark.quick("vivado")
def test_projects_select_synthesis_without_pins(generated, tmp_path, monkeypatch, target):
    """The scripts of the design are sourced into the project that Edalize opens."""
    _, folder = set_up(tmp_path, generated(NAME), f"--target={target}")
    tcl = Tcl()
    for command in STUBS[target]:
        tcl.stub(command)
    tcl.stub("current_project", lambda *_: "project")
    tcl.stub("get_runs", lambda name: name)
    tcl.stub("is_project_open", lambda: 1)
    tcl.interpreter.eval("package provide ::quartus::project 1.0")
    project = CORE.replace(":", "_").replace(".", "_" if target == "quartus" else ".")
    monkeypatch.chdir(folder)
    tcl.source(folder / f"{project}.tcl")
    if target == "vivado":
        more = "STEPS.SYNTH_DESIGN.ARGS.MORE OPTIONS"
        expected = ("-name", more, "-value", "-mode out_of_context", "-objects", "synth_1")
        assert expected in tcl.called("set_property")
        assert len(tcl.called("create_project")) == 1
    else:
        pins = {call[-1] for call in tcl.called("set_instance_assignment")}
        assert {"rst", "s_axil_awaddr", "m_axi1_rdata", "dma_busy"} <= pins
        assert not {"clk", "dma_clk"} & pins
        assert len(tcl.called("project_new")) == 1
