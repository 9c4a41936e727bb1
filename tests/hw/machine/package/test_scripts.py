"""Tests of the project scripts: run by Tcl with stubs that check options, files and order."""

import os

import pytest

from spica.hw.machine.package.scripts import QUARTUS_DEVICE, QUARTUS_FAMILY, VIVADO_PART
from support.package.tcl import Tcl
from support.verilog.slang import read_by_slang

NAME = "tiny_matrix"
#: Options of the commands of Vivado that the script uses; True: one with a value.
VIVADO = {
    "create_project": {"-in_memory": False, "-part": True},
    "read_verilog": {},
    "read_xdc": {"-mode": True},
    "synth_design": {"-top": True, "-part": True, "-mode": True},
    "report_utilization": {"-hierarchical": False, "-file": True},
    "report_timing_summary": {"-file": True},
    "write_checkpoint": {"-force": False},
}


def parsed(arguments, options):
    """Return options and operands of a call; an unknown option is an error."""
    options_given, operands, rest = {}, [], list(arguments)
    while rest:
        word = rest.pop(0)
        if word.startswith("-"):
            options_given[word] = rest.pop(0) if options[word] else True
        else:
            operands.append(word)
    return options_given, operands


@pytest.fixture
def vivado(generated):
    """Return a function that runs the script with arguments, and returns the parsed calls."""

    def run(*arguments):
        tcl = Tcl()
        for command in VIVADO:
            tcl.stub(command)
        tcl.stub("current_project", lambda option: "")
        tcl.set("argv", " ".join(arguments))
        tcl.source(generated(NAME) / f"{NAME}_vivado.tcl")
        calls = [call for call in tcl.calls if call[0] in VIVADO]
        return [(name, *parsed(rest, VIVADO[name])) for name, *rest in calls]

    return run


def test_vivado_synthesises_out_of_context(vivado, generated):
    folder = generated(NAME)
    assert vivado() == [
        ("create_project", {"-in_memory": True, "-part": VIVADO_PART}, []),
        ("read_verilog", {}, [str(folder / f"{NAME}.v")]),
        ("read_xdc", {"-mode": "out_of_context"}, [str(folder / f"{NAME}.xdc")]),
        ("synth_design", {"-top": NAME, "-part": VIVADO_PART, "-mode": "out_of_context"}, []),
        ("report_utilization", {"-hierarchical": True, "-file": f"{NAME}_utilization.rpt"}, []),
        ("report_timing_summary", {"-file": f"{NAME}_timing.rpt"}, []),
        ("write_checkpoint", {"-force": True}, [f"{NAME}.dcp"]),
    ]


def test_vivado_takes_a_part_and_sources(vivado):
    calls = vivado("xcvu9p-flga2104-2L-e", "wrappers.v")
    parts = {options["-part"] for _, options, _ in calls if "-part" in options}
    assert parts == {"xcvu9p-flga2104-2L-e"}
    assert [operands for name, _, operands in calls if name == "read_verilog"][1:] == [
        ["wrappers.v"]
    ]


VERSIONS = {
    "map": "Version 22.1std.0 Build 915 10/25/2022 SC Lite Edition",
    "syn": "Version 23.4.0 Build 79 11/22/2023 SC Pro Edition",
}


@pytest.fixture
def quartus(generated):
    """Return a function that runs the script with arguments, and returns its interpreter."""

    def run(*arguments, version=VERSIONS["map"]):
        tcl = Tcl()
        for command in ("project_new", "set_global_assignment", "set_instance_assignment"):
            tcl.stub(command)
        for command in ("execute_module", "project_close"):
            tcl.stub(command)
        tcl.stub("is_project_open", lambda: 0)
        for package in ("project", "flow"):
            tcl.interpreter.eval(f"package provide ::quartus::{package} 1.0")
        tcl.set("quartus(args)", " ".join(arguments))
        tcl.set("quartus(version)", version)
        tcl.source(generated(NAME) / f"{NAME}_quartus.tcl")
        return tcl

    return run


def assignments(tcl):
    """Return the values of each global assignment."""
    values = {}
    for option, name, *value in tcl.called("set_global_assignment"):
        assert option == "-name"
        values.setdefault(name, []).append(" ".join(value))
    return values


def test_quartus_has_a_project_of_the_design(quartus, generated):
    folder, tcl = generated(NAME), quartus()
    assert assignments(tcl) == {
        "FAMILY": [QUARTUS_FAMILY],
        "DEVICE": [QUARTUS_DEVICE],
        "TOP_LEVEL_ENTITY": [NAME],
        "VERILOG_FILE": [str(folder / f"{NAME}.v")],
        "SDC_FILE": [str(folder / f"{NAME}.sdc")],
    }
    order = [call[0] for call in tcl.calls]
    assert order.index("project_new") < order.index("set_global_assignment")
    assert order[-2:] == ["execute_module", "project_close"]
    assert tcl.called("project_new") == [(NAME, "-overwrite")]
    assert all(os.path.isfile(assignments(tcl)[kind][0]) for kind in ("VERILOG_FILE", "SDC_FILE"))


def test_quartus_has_virtual_pins_for_all_ports_but_the_clocks(quartus, generated):
    ports = read_by_slang("-f", f"{NAME}.f", folder=generated(NAME)).ports
    expected = {name for name in ports if name != "clk" and not name.endswith("_clk")}
    calls = quartus().called("set_instance_assignment")
    assert {call[:-1] for call in calls} == {("-name", "VIRTUAL_PIN", "ON", "-to")}
    assert {call[-1] for call in calls} == expected
    assert len(calls) == len(expected)


def test_quartus_takes_a_device_its_family_and_sources(quartus):
    values = assignments(quartus("10CX220YF780I5G", "{Cyclone 10 GX}", "wrappers.v"))
    assert values["DEVICE"] == ["10CX220YF780I5G"]
    assert values["FAMILY"] == ["Cyclone 10 GX"]
    assert values["VERILOG_FILE"][1:] == [os.path.abspath("wrappers.v")]


@pytest.mark.parametrize("tool", VERSIONS)
def test_synthesis_is_that_of_the_edition(quartus, tool):
    tcl = quartus(version=VERSIONS[tool])
    assert tcl.called("execute_module") == [("-tool", tool)]
