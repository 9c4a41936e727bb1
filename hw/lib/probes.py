"""Flattened streams and responses: one port per field, for the top of a design."""

from typing import Any

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

__all__ = [
    "FlattenedResponseSignature",
    "FlattenedStreamSignature",
    "MonitorSignature",
    "flatten",
    "probe_stream",
    "relay",
    "unflatten",
]


def field_ports(layout: data.StructLayout) -> dict[str, wiring.Member]:
    """Return a member of plain bits for each field of a layout that is not empty."""
    return {name: Out(field.width) for name, field in layout if field.width}


class FlattenedStreamSignature(wiring.Signature):
    """A stream of a struct whose fields are members next to `valid` and `ready`."""

    def __init__(self, layout: data.StructLayout):
        self.layout = layout
        super().__init__({"valid": Out(1), "ready": wiring.In(1), **field_ports(layout)})


class FlattenedResponseSignature(wiring.Signature):
    """A response that cannot be refused, of a struct whose fields are members next to `valid`."""

    def __init__(self, layout: data.StructLayout):
        self.layout = layout
        super().__init__({"valid": Out(1), **field_ports(layout)})


class MonitorSignature(wiring.Signature):
    """A probe of a stream between two blocks: `ready` is an output too."""

    def __init__(self, layout: data.StructLayout):
        self.layout = layout
        super().__init__({"valid": Out(1), "ready": Out(1), **field_ports(layout)})


def probe_stream(m: Module, source: Any, port: Any) -> None:
    """Connect a stream to a probe port of `MonitorSignature`."""
    m.d.comb += [port.valid.eq(source.valid), port.ready.eq(source.ready)]
    for name in field_ports(port.signature.layout):
        m.d.comb += getattr(port, name).eq(Value.cast(getattr(source.payload, name)))


def flatten(m: Module, source: Any, port: Any) -> None:
    """Connect a stream or response to a port with one member per field."""
    m.d.comb += port.valid.eq(source.valid)
    if "ready" in port.signature.members:
        m.d.comb += source.ready.eq(port.ready)
    for name in field_ports(port.signature.layout):
        m.d.comb += getattr(port, name).eq(Value.cast(getattr(source.payload, name)))


def unflatten(m: Module, port: Any, sink: Any) -> None:
    """Connect a port with one member per field to a stream or response of their struct."""
    m.d.comb += sink.valid.eq(port.valid)
    if "ready" in port.signature.members:
        m.d.comb += port.ready.eq(sink.ready)
    for name in field_ports(port.signature.layout):
        m.d.comb += Value.cast(getattr(sink.payload, name)).eq(getattr(port, name))


def relay(m: Module, inner: Any, outer: Any) -> None:
    """Drive a port whose members are all outputs from one of the same signature inside."""
    values, ports = (interface.signature.flatten(interface) for interface in (inner, outer))
    m.d.comb += [port.eq(value) for (*_, value), (*_, port) in zip(values, ports, strict=True)]
