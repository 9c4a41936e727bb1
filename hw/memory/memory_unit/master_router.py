"""Router of requests of lines to the AXI masters."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...config import AxiConfig
from ...emit.component import Component
from ...lib.axi import master_of

__all__ = ["MasterRouter"]


class MasterRouter(Component):
    """Router: forwards each request to the master that serves the address of its beat.

    Combinational.

    Parameters
    ----------
    axi : AxiConfig
    source, sink : data.StructLayout
        Layouts of the request, and of it at a master: fields of `source`, maybe wider. `beat` is
        the number of a beat in memory.

    Members
    -------
    i : In(stream.Signature(source))
    o : Out(stream.Signature(sink)).array(axi.masters)
    """

    def __init__(self, axi: AxiConfig, source: data.StructLayout, sink: data.StructLayout):
        self.axi, self.sink = axi, sink
        super().__init__({
            "i": In(stream.Signature(source)),
            "o": Out(stream.Signature(sink)).array(axi.masters),
        })

    def elaborate(self, platform):
        m = Module()
        request = self.i.payload
        address = Cat(C(0, exact_log2(self.axi.beat_bytes)), request.beat)
        for c, port in enumerate(self.o):
            is_here = Signal(name=f"is_at_{c}")
            m.d.comb += [
                is_here.eq(master_of(self.axi, address) == c),
                port.valid.eq(self.i.valid & is_here),
                *(port.payload[name].eq(request[name]) for name in self.sink.members),
            ]
            with m.If(is_here):
                m.d.comb += self.i.ready.eq(port.ready)
        return m
