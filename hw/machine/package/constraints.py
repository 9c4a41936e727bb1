"""Timing constraints of a design: SDC for chips and Quartus, XDC for Vivado."""

from ...emit.emission import Emission
from ..artifacts import generator
from .top_level import PortGroup, TopLevel, wrapped

__all__ = ["CLOCK", "sdc", "xdc"]

#: Name of the one clock from which all domains run.
CLOCK = "spica_clk"
#: Variables with their defaults and meanings.
VARIABLES = {
    "spica_period": ("10.0", "Period of all clocks, in ns."),
    "spica_io_fraction": ("0.3", "Part of the period spent outside, at each input and output."),
    "spica_busy_fraction": ("0.3", "The same behind the outputs for clock gates."),
    "spica_uncertainty": ("0.0", "Skew between the domains and jitter, in ns."),
}
HEAD = """\
# {generator}: timing constraints of the cluster {name}.
#
# All domains run from one clock: each clock port has that clock, gated or not, and signals cross
# between domains without synchronisers. All clock ports are therefore sources of one clock.
# Resets are synchronous, so their paths are real. No path is false, none takes several cycles.
# The constraints are of the cluster as the top level; within a chip they give way to its clocks.
#
# {override}

"""
SDC_OVERRIDE = "A variable that is set before this file is read keeps its value."
XDC_OVERRIDE = "XDC has no conditions: change the values here, or in a copy of this file."
CLOCKS = """
# Clocks.
create_clock -name {clock} -period $spica_period [get_ports {{
{ports}
}}]
{uncertainty}
set spica_io_delay [expr {{$spica_period * $spica_io_fraction}}]
set spica_busy_delay [expr {{$spica_period * $spica_busy_fraction}}]
"""
#: Quartus knows the form with two clocks only.
UNCERTAINTY = (
    f"set_clock_uncertainty -from [get_clocks {CLOCK}] -to [get_clocks {CLOCK}] $spica_uncertainty"
)
#: An uncertainty of 0 would replace the one that Quartus derives from the device.
UNCERTAINTY_IF_ANY = f"if {{$spica_uncertainty > 0}} {{\n    {UNCERTAINTY}\n}}"
DELAY = """\
set_{direction}_delay -clock {clock} ${delay} [get_ports {{
{ports}
}}]
"""


def sdc(emission: Emission) -> str:
    """Return the SDC file: clocks and delays of all ports, with variables that a flow may set."""
    variables = [
        f"# {meaning}\nif {{![info exists {name}]}} {{set {name} {value}}}\n"
        for name, (value, meaning) in VARIABLES.items()
    ]
    return constraints(emission, SDC_OVERRIDE, variables, UNCERTAINTY_IF_ANY)


def xdc(emission: Emission) -> str:
    """Return the XDC file: as `sdc`, by the few commands of Tcl that Vivado admits there."""
    variables = [
        f"# {meaning}\nset {name} {value}\n" for name, (value, meaning) in VARIABLES.items()
    ]
    return constraints(emission, XDC_OVERRIDE, variables, UNCERTAINTY)


def constraints(emission: Emission, override: str, variables: list[str], uncertainty: str) -> str:
    """Return a file of constraints, given the lines in which the formats differ."""
    top = TopLevel.of(emission)
    head = HEAD.format(generator=generator(), name=emission.name, override=override)
    clocks = CLOCKS.format(clock=CLOCK, ports=wrapped(list(top.clocks)), uncertainty=uncertainty)
    outside = (top.resets, *top.interfaces, top.interrupt)
    groups = [group_delays(group, "spica_io_delay") for group in outside]
    return "".join([head, *variables, clocks, *groups, group_delays(top.busy, "spica_busy_delay")])


def group_delays(group: PortGroup, delay: str) -> str:
    """Return the delays outside the ports of a group, by the variable of their value."""
    delays = [
        DELAY.format(direction=direction, clock=CLOCK, delay=delay, ports=wrapped(names))
        for direction in ("input", "output")
        if (names := group.names(direction))
    ]
    return "".join([f"\n# {group.title}.\n", *delays]) if delays else ""
