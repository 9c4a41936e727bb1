"""Engine on Amaranth's simulator: slow, cycle-exact, no C++ compilation of the design."""

from contextlib import ExitStack

import numpy as np
from amaranth import *
from amaranth.hdl import Fragment
from amaranth.lib import wiring

from ...hw.emit.emission import EmittedPort
from ...hw.emit.module_ports import signature_ports, used_domains
from ..harness.binding import Layout, PackedPort
from ..harness.harness import Harness
from .testbench import make_simulator

__all__ = ["AmaranthEngine"]


class AmaranthEngine:
    """A component in Amaranth's simulator with the harness around it.

    Parameters
    ----------
    component : Component
        Top component.
    vcd : str or None
        Waveform file (VCD) of all signals; None writes none.

    """

    def __init__(self, component: wiring.Component, vcd: str | None = None):
        fragment = Fragment.get(component, None)
        domains = tuple(used_domains(fragment))
        ports = {name: (flow, value) for name, flow, value in signature_ports(component, "_")}
        self.layout = Layout(
            (
                EmittedPort(name, "input" if flow == wiring.In else "output", len(value))
                for name, (flow, value) in ports.items()
            ),
            domains,
        )
        values = {name: value for name, (_, value) in ports.items()}
        self.input_value = packed(self.layout.inputs, values)
        self.output_value = packed(self.layout.outputs, values)
        self.input_words = np.zeros(self.layout.input_words, np.uint32)
        self.output_words = np.zeros(self.layout.output_words, np.uint32)
        self.harness: Harness | None = None
        self.running = True
        self.cycles = 0
        self.simulator = make_simulator(fragment, domains)
        self.simulator.add_testbench(self.drive)
        self.stack = ExitStack()
        if vcd is not None:
            self.stack.enter_context(self.simulator.write_vcd(vcd))

    async def drive(self, ctx):
        """Step the harness once per cycle, as the C++ cycle loop does."""
        while self.running:
            _, _, value = await ctx.tick().sample(self.output_value)
            assert self.harness is not None
            data = value.to_bytes(self.output_words.nbytes, "little")
            self.output_words[:] = np.frombuffer(data, "<u4")
            self.going = self.harness.step(self.harness.handle, self.output_words, self.input_words)
            self.cycles += 1
            ctx.set(self.input_value, int.from_bytes(self.input_words.tobytes(), "little"))

    def run(self, harness: Harness, cycles: int) -> None:
        """Run until the harness stops, or for `cycles`."""
        self.harness = harness
        self.going = True
        end = self.cycles + cycles
        while self.going and self.cycles < end:
            self.simulator.advance()

    def outputs(self) -> list[int]:
        """Return the last sampled output words."""
        return self.output_words.tolist()

    def clocked(self) -> dict[str, int]:
        """Return the clocked cycles of each domain: all cycles, since nothing is gated here."""
        return dict.fromkeys(self.layout.domains, self.cycles)

    def close(self) -> None:
        """End the simulation and close its waveform file."""
        self.stack.close()


def packed(ports: tuple[PackedPort, ...], values: dict[str, Value]) -> Value:
    """Return the concatenation of all ports, each aligned to a 32-bit word."""
    parts: list[Value] = []
    for port in ports:
        parts.append(values[port.name])
        if port.width % 32:
            parts.append(Signal(32 - port.width % 32, name=f"{port.name}_pad"))
    return Cat(parts)
