"""Test bench of a design in Verilog: a host reads its identity.

The bench is testbench.v beside this file, with names between at signs.
"""

from ...emit.emission import Emission, EmittedPort
from ...isa.memory_map import CONTROL, CONTROL_BASE, IDENTITY, SLAVE_ADDRESS_WIDTH
from .templates import filled
from .top_level import TopLevel

__all__ = ["testbench"]

SLAVE = "s_axil_"
#: Signals of the bench at ports of the slave.
HOST = ("araddr", "arvalid", "arready", "rdata", "rresp", "rvalid")


def testbench(emission: Emission) -> str:
    """Return the test bench, which simulates with the design in any simulator."""
    top = TopLevel.of(emission)
    signals = dict.fromkeys(top.clocks, "clk") | {port.name: "rst" for port in top.resets.ports}
    signals |= {SLAVE + name: name for name in HOST} | {f"{SLAVE}rready": "1'b1"}
    connections = [
        f"    .{port.name}({signals.get(port.name, idle(port))})" for port in emission.ports
    ]
    return filled(
        "testbench.v",
        name=emission.name,
        connections=",\n".join(connections),
        identity=f"32'h{IDENTITY:08x}",
        identity_address=slave_address("identity"),
        cycles_address=slave_address("cycle_low"),
    )


def slave_address(register: str) -> str:
    """Return the address of a register of the control block, as a number in Verilog."""
    return f"{SLAVE_ADDRESS_WIDTH}'h{CONTROL_BASE + CONTROL[register].offset:04x}"


def idle(port: EmittedPort) -> str:
    """Return the connection of a port that the bench does not use."""
    return f"{port.width}'d0" if port.direction == "input" else ""
