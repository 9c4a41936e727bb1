"""SystemVerilog top level: the AXI ports of a design as packed structs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...emit.emission import Emission, EmittedPort
from ..artifacts import generator
from .top_level import TopLevel

__all__ = ["SYSTEM_VERILOG_ENDING", "system_verilog"]

#: End of the name of the file.
SYSTEM_VERILOG_ENDING = "_sv.sv"
#: Channels of AXI, the address channels first: their letters begin the names of their signals.
CHANNELS = ("aw", "ar", "w", "b", "r")
HANDSHAKE = ("valid", "ready")


@dataclass(frozen=True)
class Bus:
    """AXI ports of one name, as two structs: what the master drives, and what the slave does.

    Parameters
    ----------
    name : str
        Common begin of the names of the ports, such as ``m_axi0``.
    ports : tuple of EmittedPort
    kind : str
        Begin of the names of its types, ``axi`` or ``axil``.
    is_slave : bool
        Whether the design is the slave.

    """

    name: str
    ports: tuple[EmittedPort, ...]
    kind: str
    is_slave: bool

    @property
    def requests(self) -> list[EmittedPort]:
        """Ports that the master drives."""
        return [port for port in self.ports if self.is_request(port)]

    @property
    def responses(self) -> list[EmittedPort]:
        """Ports that the slave drives."""
        return [port for port in self.ports if not self.is_request(port)]

    def is_request(self, port: EmittedPort) -> bool:
        """Return whether the master drives a port."""
        return (port.direction == "input") == self.is_slave

    def place(self, port: EmittedPort) -> tuple[str, str]:
        """Return the channel of a port, and its name in the channel."""
        member = port.name.removeprefix(f"{self.name}_")
        channel = next(letters for letters in CHANNELS if member.startswith(letters))
        return channel, member.removeprefix(channel)

    def payload(self, channel: str) -> list[tuple[str, int]]:
        """Return name and width of each field of a channel, without the handshake."""
        places = [(self.place(port), port.width) for port in self.ports]
        return [
            (field, width)
            for (own, field), width in places
            if own == channel and field not in HANDSHAKE
        ]

    def members(self, ports: list[EmittedPort]) -> dict[str, str]:
        """Return the type of each member of a struct of ports, by its name."""
        members = {}
        for port in ports:
            channel, field = self.place(port)
            if field in HANDSHAKE:
                members[f"{channel}_{field}"] = "logic"
            else:
                members[channel] = f"{self.kind}_{channel}_t"
        return members

    def path(self, port: EmittedPort) -> str:
        """Return the signal in a struct that is a port of the design."""
        channel, field = self.place(port)
        struct = f"{self.name}_{'request' if self.is_request(port) else 'response'}"
        return f"{struct}.{channel}{'_' if field in HANDSHAKE else '.'}{field}"


def system_verilog(emission: Emission) -> str:
    """Return a package with types, and a module around the design whose AXI ports have them."""
    buses = list(buses_of(emission))
    kinds = {bus.kind: bus for bus in buses}
    return "\n".join([
        f"// {generator()}: top level of the cluster {emission.name} with packed structs.",
        "",
        *package_of(emission.name, kinds),
        "",
        *wrapper_of(emission, buses),
        "",
    ])


def buses_of(emission: Emission) -> Iterator[Bus]:
    """Yield the AXI buses among the ports of a design."""
    for group in TopLevel.of(emission).interfaces:
        name = group.ports[0].name.rpartition("_")[0]
        yield Bus(name, group.ports, "axil" if name == "s_axil" else "axi", name == "s_axil")


def package_of(name: str, kinds: Mapping[str, Bus]) -> Iterator[str]:
    """Yield the lines of the package of types."""
    yield f"package {name}_pkg;"
    for kind, bus in kinds.items():
        for channel in CHANNELS:
            yield from struct(
                f"{kind}_{channel}_t",
                {
                    field: "logic" if width == 1 else f"logic [{width - 1}:0]"
                    for field, width in bus.payload(channel)
                },
            )
        yield from struct(f"{kind}_request_t", bus.members(bus.requests))
        yield from struct(f"{kind}_response_t", bus.members(bus.responses))
    yield "endpackage"


def struct(name: str, members: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of a packed struct; the first member has the highest bits."""
    yield "  typedef struct packed {"
    yield from (f"    {kind} {member};" for member, kind in members.items())
    yield f"  }} {name};"


def wrapper_of(emission: Emission, buses: list[Bus]) -> Iterator[str]:
    """Yield the lines of the module around the design."""
    name = emission.name
    paths = {port.name: bus.path(port) for bus in buses for port in bus.ports}
    ports = [
        f"{port.direction} logic {'' if port.width == 1 else f'[{port.width - 1}:0] '}{port.name}"
        for port in emission.ports
        if port.name not in paths
    ]
    for bus in buses:
        sides = ("input", "output") if bus.is_slave else ("output", "input")
        for side, part in zip(sides, ("request", "response"), strict=True):
            ports.append(f"{side} {name}_pkg::{bus.kind}_{part}_t {bus.name}_{part}")
    yield f"module {name}_sv ("
    yield ",\n".join(f"  {port}" for port in ports)
    yield ");"
    yield f"  {name} cluster ("
    yield ",\n".join(
        f"    .{port.name}({paths.get(port.name, port.name)})" for port in emission.ports
    )
    yield "  );"
    yield "endmodule"
