"""Shared memory with registered ports, for drivers that ignore `ready`."""

from typing import Any

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect

from spica.hw.lib.interfaces.shared_memory import (
    NarrowSignature,
    RowSignature,
    WideReadSignature,
    WideWriteSignature,
    atomic_fields,
)
from spica.hw.memory.shared.shared_memory import SharedMemory, SharedMemoryPorts, shared_events
from spica.sim.golden.memory.shared.shared_memory import port_sizes

__all__ = ["HeldPorts"]


class HeldPorts(wiring.Component):
    """Shared memory with a register before each port, so that drivers can ignore `ready`.

    A request is accepted if its register is free or becomes free in this cycle, else dropped. An
    accepted request is offered from the next cycle on until it is served.

    Parameters
    ----------
    config : SharedMemoryPorts

    Members
    -------
    {port}_wish, {port}_address, {port}_write, {port}_data, {port}_mask : In
        For each port, the fields of its requests, with atomics also `atomic_fields`.
    done : Out(ports)
        A bit for each port: its request is served.
    {port}_answer, {port}_word : Out(1), Out(8 * size)
        Response of ports that have one.
    events : Out(shared_events(config))
        Packed as a number.
    busy : Out(1)
        Of the memory.
    """

    done: Signal
    events: Signal
    busy: Signal

    def __init__(self, config: SharedMemoryPorts):
        self.config = config
        memory = config.memory
        self.sizes = port_sizes(config)
        members: dict[str, Any] = {}
        for name, size in self.sizes.items():
            members |= {f"{name}_wish": In(1), f"{name}_address": In(memory.address_width)}
            if name.startswith(("narrow", "row")):
                members |= {f"{name}_write": In(1)}
            if not name.startswith("read"):
                members |= {f"{name}_data": In(8 * size), f"{name}_mask": In(size)}
            if not name.startswith("write"):
                members |= {f"{name}_answer": Out(1), f"{name}_word": Out(8 * size)}
            if name.startswith("narrow"):
                fields = atomic_fields(memory.port.owner_width)
                members |= {f"{name}_{key}": In(shape) for key, shape in fields.items()}
        events = shared_events(config).size
        members |= {"done": Out(len(self.sizes)), "events": Out(events), "busy": Out(1)}
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = SharedMemory(self.config)
        done = []
        for name, size in self.sizes.items():
            done.append(self.add_port(m, name, self.signature_of(name, size), memory))
        m.d.comb += [
            self.done.eq(Cat(done)),
            self.events.eq(memory.events.as_value()),
            self.busy.eq(memory.busy),
        ]
        return m

    def signature_of(self, name: str, size: int):
        """Return the signature of a port."""
        if name.startswith("narrow"):
            return NarrowSignature(self.config.memory.port)
        if name.startswith("row"):
            return RowSignature(self.config.memory.port, size)
        kind = WideReadSignature if name.startswith("read") else WideWriteSignature
        return kind(self.config.memory.port, size)

    def add_port(self, m: Module, name: str, signature, memory) -> Value:
        """Add the register of a port; return the bit of `done`."""
        port = signature.create(path=(f"{name}_port",))
        connect(m, port, getattr(memory, name))
        free = Signal(name=f"{name}_free")
        payload = port.request.payload
        fields = {"address": payload} if name.startswith("read") else payload
        names = ["address"] if name.startswith("read") else [key for key, _ in payload.shape()]
        m.d.comb += free.eq(~port.request.valid | port.request.ready)
        with m.If(free):
            m.d.sync += port.request.valid.eq(getattr(self, f"{name}_wish"))
            m.d.sync += [fields[key].eq(getattr(self, f"{name}_{key}")) for key in names]
        if not name.startswith("write"):
            m.d.comb += [
                getattr(self, f"{name}_answer").eq(port.response.valid),
                getattr(self, f"{name}_word").eq(port.response.payload),
            ]
        return port.request.valid & port.request.ready
