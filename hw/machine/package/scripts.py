"""Project scripts of a design for the tools of FPGA vendors: out-of-context synthesis.

The scripts are vivado.tcl and quartus.tcl beside this file, with names between at signs.
"""

from ...emit.emission import Emission
from .templates import filled
from .top_level import TopLevel, wrapped

__all__ = [
    "QUARTUS_DEVICE",
    "QUARTUS_FAMILY",
    "VIVADO_PART",
    "quartus_script",
    "vivado_script",
]

#: Defaults: large devices that the editions without a licence fee support.
VIVADO_PART = "xcku5p-ffvb676-2-e"
QUARTUS_FAMILY, QUARTUS_DEVICE = "Cyclone V", "5CGXFC9E7F35C8"


def vivado_script(emission: Emission) -> str:
    """Return the script for Vivado: reads the Verilog and the XDC file beside it."""
    return filled("vivado.tcl", name=emission.name, part=VIVADO_PART)


def quartus_script(emission: Emission) -> str:
    """Return the script for Quartus: reads the Verilog and the SDC file beside it.

    All ports except the clocks become virtual pins. They are named one by one: a wildcard would be
    compared with all nodes of the design.
    """
    return filled(
        "quartus.tcl",
        name=emission.name,
        family=QUARTUS_FAMILY,
        device=QUARTUS_DEVICE,
        pins=wrapped([port.name for port in TopLevel.of(emission).pins]),
    )
