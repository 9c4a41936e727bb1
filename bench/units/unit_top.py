"""UnitTop of all units in parallel, each with its own clock, between two buses."""

from collections.abc import Sequence
from dataclasses import dataclass

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from spica.hw.emit.emission import Emission
from spica.hw.emit.emitter import emit

from .lanes import Lanes, Port, ports_of
from .unit import Unit

__all__ = ["EmittedUnitTop", "UnitTop", "domain_of", "emit_unit_top"]


class UnitTop(wiring.Component):
    """Multiplexer of all units: connects the selected one to the input and output bus.

    Only a unit with a running clock is active. Its inputs are registered with that clock, so the
    latency from bus to bus is one cycle more than the unit's. A unit with a stopped clock costs
    the simulator nothing.

    Parameters
    ----------
    units : sequence of Unit

    Members
    -------
    select : In(range(len(units)))
        Unit that drives the output bus.
    i : In(32 * n)
        Inputs of the selected unit in their lanes.
    o : Out(32 * n)
        Outputs of the selected unit in their lanes.

    """

    select: Value
    i: Value
    o: Value

    def __init__(self, units: Sequence[Unit]):
        self.components = {unit.name: unit.component() for unit in units}
        self.inputs = {name: ports_of(c, In) for name, c in self.components.items()}
        self.outputs = {name: ports_of(c, Out) for name, c in self.components.items()}
        super().__init__({
            "select": In(range(max(2, len(units)))),
            "i": In(32 * max(lanes.words for lanes in self.inputs.values())),
            "o": Out(32 * max(lanes.words for lanes in self.outputs.values())),
        })

    def elaborate(self, platform):
        m = Module()
        for name, component in self.components.items():
            m.submodules[name] = DomainRenamer(domain_of(name))(component)
            values = port_values(component)
            for port in self.inputs[name].ports:
                registered = Signal(port.bits, name=f"{name}_{port.name}", reset_less=True)
                m.d[domain_of(name)] += registered.eq(Cat(elements_on(self.i, port)))
                m.d.comb += values[port.name].eq(registered)
        with m.Switch(self.select):
            for number, (name, component) in enumerate(self.components.items()):
                values = port_values(component)
                with m.Case(number):
                    for port in self.outputs[name].ports:
                        source = values[port.name]
                        for k, lane in enumerate(elements_on(self.o, port)):
                            m.d.comb += lane.eq(source.word_select(k, port.width))
        return m


@dataclass(frozen=True)
class EmittedUnitTop:
    """Verilog of a unit top, and the positions of each unit's ports on its buses."""

    emission: Emission
    inputs: dict[str, Lanes]
    outputs: dict[str, Lanes]


def emit_unit_top(units: Sequence[Unit]) -> EmittedUnitTop:
    """Emit the units as one Verilog design."""
    unit_top = UnitTop(units)
    return EmittedUnitTop(emit(unit_top, "units"), unit_top.inputs, unit_top.outputs)


def domain_of(name: str) -> str:
    """Return the clock domain of the unit `name`."""
    return f"unit_{name}"


def port_values(component: wiring.Component) -> dict[str, Value]:
    """Return the bits of each port, or member of a port, by its name."""
    return {
        str(path[-1]): Value.cast(value)
        for path, _, value in component.signature.flatten(component)
    }


def elements_on(bus: Value, port: Port) -> list[Value]:
    """Return the bits of `bus` for each element of `port`."""
    first = 32 * port.word
    starts = range(first, first + port.elements * port.lane, port.lane)
    return [bus[start : start + port.width] for start in starts]
