"""Ports of an emitted top level by their function: clocks, resets, interfaces, busy outputs."""

import textwrap
from dataclasses import dataclass

from ...emit.emission import Emission, EmittedPort
from ...emit.module_ports import domain_ports

__all__ = ["PortGroup", "TopLevel", "wrapped"]


@dataclass(frozen=True)
class PortGroup:
    """Ports of one function, with the title of their section in a file."""

    title: str
    ports: tuple[EmittedPort, ...]

    def names(self, direction: str) -> list[str]:
        """Return patterns of the inputs or of the outputs, as tools for Tcl select ports.

        That of a port of several bits ends in ``[*]``, without which some tools do not find it.
        """
        return [
            port.name + ("[*]" if port.width > 1 else "")
            for port in self.ports
            if port.direction == direction
        ]


@dataclass(frozen=True)
class TopLevel:
    """Ports of a top level, each in one group.

    Parameters
    ----------
    clocks : tuple of str
        Clock inputs, all of them copies of one clock.
    resets, busy : PortGroup
        Synchronous resets; outputs that hold a domain's clock gate open.
    interrupt : PortGroup
    interfaces : tuple of PortGroup
        All other ports, by the part of their names before the last underscore.

    """

    clocks: tuple[str, ...]
    resets: PortGroup
    busy: PortGroup
    interrupt: PortGroup
    interfaces: tuple[PortGroup, ...]

    @classmethod
    def of(cls, emission: Emission) -> "TopLevel":
        """Return the top level of an emission."""
        pairs = [domain_ports(domain) for domain in emission.domains]
        clocks, resets = {clock for clock, _ in pairs}, {reset for _, reset in pairs}
        busy = {f"{domain}_busy" for domain in emission.domains}
        interfaces: dict[str, list[EmittedPort]] = {}
        for port in emission.ports:
            if port.name not in clocks | resets | busy | {"irq"}:
                interfaces.setdefault(port.name.rpartition("_")[0], []).append(port)

        def group(title: str, names: set[str]) -> PortGroup:
            return PortGroup(title, tuple(port for port in emission.ports if port.name in names))

        return cls(
            clocks=tuple(port.name for port in emission.ports if port.name in clocks),
            resets=group("Resets", resets),
            busy=group("Outputs for clock gates", busy),
            interrupt=group("Interrupt", {"irq"}),
            interfaces=tuple(
                PortGroup(f"Interface {name}", tuple(ports)) for name, ports in interfaces.items()
            ),
        )

    @property
    def pins(self) -> list[EmittedPort]:
        """All ports except the clocks."""
        groups = (self.resets, *self.interfaces, self.interrupt, self.busy)
        return [port for group in groups for port in group.ports]


def wrapped(names: list[str], width: int = 96, indent: str = "    ") -> str:
    """Return names in indented lines, separated by spaces."""
    return textwrap.fill(
        " ".join(names),
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
