"""All files of a design: those that describe it, and those for the flows of other tools."""

from ...emit.emission import Emission
from ..artifacts import artifacts
from .constraints import sdc, xdc
from .file_list import file_list, verilog_files
from .fusesoc import core_file
from .lint_waivers import waiver_file
from .scripts import quartus_script, vivado_script
from .system_rdl import system_rdl
from .testbench import testbench

__all__ = ["PACKAGE_ENDINGS", "package"]

#: Generators of the files beside `artifacts`, by the ends of their names.
GENERATORS = {
    ".core": core_file,
    ".f": file_list,
    ".sdc": sdc,
    ".xdc": xdc,
    "_vivado.tcl": vivado_script,
    "_quartus.tcl": quartus_script,
    ".rdl": system_rdl,
    "_tb.v": testbench,
}
WAIVERS_ENDING = ".vlt"
#: Ends of the names of these files.
PACKAGE_ENDINGS = (*GENERATORS, WAIVERS_ENDING)


def package(emission: Emission) -> dict[str, str]:
    """Return the text of every file of a design, by file name."""
    name, files = emission.name, artifacts(emission)
    verilog = {file: files[file] for file in verilog_files(emission)}
    return {
        **files,
        **{name + ending: generate(emission) for ending, generate in GENERATORS.items()},
        name + WAIVERS_ENDING: waiver_file(name, verilog),
    }
