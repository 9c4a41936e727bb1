"""Evaluation of timing constraints: clocks, and the delays outside each port."""

from collections.abc import Collection, Mapping
from pathlib import Path

from support.package.tcl import Tcl
from support.verilog.slang import SlangPort

__all__ = ["Constraints"]

COMMANDS = (
    *("create_clock", "set_clock_uncertainty", "set_input_delay", "set_output_delay"),
    *("get_ports", "get_clocks"),
)


class Constraints:
    """Clocks and delays of a file of constraints; an unknown port or option is an error.

    Parameters
    ----------
    path : Path
        File in SDC or XDC.
    ports : mapping of str to SlangPort
        Ports of the design, by name.
    builtins : collection of str or None
        Commands of Tcl that the reader of the file admits; None: all.
    variables : mapping of str to str
        Variables that are set before the file is read.

    Attributes
    ----------
    clocks : dict of str to tuple
        Period in ns and source ports of each clock.
    uncertainty : dict of str to float
        By clock, in ns.
    delays : dict of str to float
        Delay outside each port, in ns.

    """

    def __init__(
        self,
        path: Path,
        ports: Mapping[str, SlangPort],
        *,
        builtins: Collection[str] | None = None,
        variables: Mapping[str, str] | None = None,
    ):
        self.ports = ports
        self.clocks: dict[str, tuple[float, list[str]]] = {}
        self.uncertainty: dict[str, float] = {}
        self.delays: dict[str, float] = {}
        self.tcl = Tcl()
        for command in COMMANDS:
            self.tcl.stub(command, getattr(self, command))
        for name, value in (variables or {}).items():
            self.tcl.set(name, value)
        if builtins is not None:
            self.tcl.keep_only({*builtins, *COMMANDS})
        self.tcl.source(path)

    def get_ports(self, patterns: str) -> str:
        """Return the ports of patterns; one of several bits has ``[*]``, as Vivado requires."""
        names = {
            port.name + ("[*]" if port.width > 1 else ""): port.name for port in self.ports.values()
        }
        return " ".join(names[pattern] for pattern in self.tcl.words(patterns))

    def get_clocks(self, name: str) -> str:
        """Return a clock that exists."""
        assert name in self.clocks
        return name

    def create_clock(self, *arguments: str) -> None:
        """Create a clock at ports."""
        name_option, name, period_option, period, ports = arguments
        assert (name_option, period_option) == ("-name", "-period")
        assert name not in self.clocks
        self.clocks[name] = (float(period), self.tcl.words(ports))

    def set_clock_uncertainty(self, *arguments: str) -> None:
        """Set the uncertainty of paths within a clock."""
        first_option, first, second_option, second, value = arguments
        assert (first_option, second_option) == ("-from", "-to")
        assert first == second
        self.uncertainty[first] = float(value)

    def set_input_delay(self, *arguments: str) -> None:
        """Set the delay before inputs."""
        self.delay("input", *arguments)

    def set_output_delay(self, *arguments: str) -> None:
        """Set the delay behind outputs."""
        self.delay("output", *arguments)

    def delay(self, direction: str, option: str, clock: str, value: str, ports: str) -> None:
        """Set the delay of ports, once each."""
        assert option == "-clock"
        assert clock in self.clocks
        for name in self.tcl.words(ports):
            assert self.ports[name].direction == direction
            assert name not in self.delays
            self.delays[name] = float(value)
