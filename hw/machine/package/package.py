"""All files of a design: those that describe it, and those for the flows of other tools."""

from ...emit.emission import Emission
from ..artifacts import artifacts
from .constraints import sdc, xdc
from .file_list import file_list, verilog_files
from .fusesoc import core_file
from .lint_waivers import waiver_file
from .scripts import quartus_script, vivado_script
from .system_rdl import system_rdl
from .system_verilog import SYSTEM_VERILOG_ENDING, system_verilog
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


def package(emission: Emission, *, has_structs: bool = False) -> dict[str, str]:
    """Return the text of every file of a design, by file name.

    ``has_structs`` adds the top level in SystemVerilog.
    """
    generators = GENERATORS | ({SYSTEM_VERILOG_ENDING: system_verilog} if has_structs else {})
    name = emission.name
    return {
        **artifacts(emission),
        **{name + ending: generate(emission) for ending, generate in generators.items()},
        name + WAIVERS_ENDING: waiver_file(name, verilog_files(emission)),
    }
