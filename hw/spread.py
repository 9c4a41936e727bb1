"""Streams and responses with a port of its own for every field, as the top of a design has them."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

__all__ = [
    "ShownSignature",
    "SpreadResponseSignature",
    "SpreadSignature",
    "gather",
    "show_stream",
    "spread",
]


def field_ports(layout: data.StructLayout) -> dict[str, wiring.Member]:
    """Return a member of plain bits for each field of a layout that has any."""
    return {name: Out(field.width) for name, field in layout if field.width}


class SpreadSignature(wiring.Signature):
    """A stream of a struct whose fields are members beside `valid` and `ready`."""

    def __init__(self, layout: data.StructLayout):
        self.layout = layout
        super().__init__({"valid": Out(1), "ready": wiring.In(1), **field_ports(layout)})


class SpreadResponseSignature(wiring.Signature):
    """A response that cannot be refused, of a struct whose fields are members beside `valid`."""

    def __init__(self, layout: data.StructLayout):
        self.layout = layout
        super().__init__({"valid": Out(1), **field_ports(layout)})


class ShownSignature(wiring.Signature):
    """A stream between others, as who only looks at it sees it: `ready` leads out too."""

    def __init__(self, layout: data.StructLayout):
        self.layout = layout
        super().__init__({"valid": Out(1), "ready": Out(1), **field_ports(layout)})


def show_stream(m: Module, source, port) -> None:
    """Show a stream on a port of `ShownSignature`."""
    m.d.comb += [port.valid.eq(source.valid), port.ready.eq(source.ready)]
    for name in field_ports(port.signature.layout):
        m.d.comb += getattr(port, name).eq(Value.cast(getattr(source.payload, name)))


def spread(m: Module, source, port) -> None:
    """Connect a stream or a response to the port that shows its fields one by one."""
    m.d.comb += port.valid.eq(source.valid)
    if "ready" in port.signature.members:
        m.d.comb += source.ready.eq(port.ready)
    for name in field_ports(port.signature.layout):
        m.d.comb += getattr(port, name).eq(Value.cast(getattr(source.payload, name)))


def gather(m: Module, port, sink) -> None:
    """Connect a port that has fields one by one to the stream or the response of their struct."""
    m.d.comb += sink.valid.eq(port.valid)
    if "ready" in port.signature.members:
        m.d.comb += port.ready.eq(sink.ready)
    for name in field_ports(port.signature.layout):
        m.d.comb += Value.cast(getattr(sink.payload, name)).eq(getattr(port, name))
