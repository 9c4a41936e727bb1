"""The registers of the matrix unit, for the host and for the command words of cores."""

from typing import Any

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .address_map import MATRIX
from .memory.merge import Merge
from .registers import RegisterSignature

__all__ = ["CommandPort"]


class CommandPort(wiring.Component):
    """Let the host and the cores use the matrix unit's registers in turns.

    A command word is a write of the register ``cisc``: it waits while the unit cannot take it,
    and errors are in the unit's registers. It is offered the cycle after it came; the host's
    accesses pass in their cycle.

    Parameters
    ----------
    cores : int

    Members
    -------
    host : In(RegisterSignature(8))
    command : In(stream.Signature(32)).array(cores)
    registers : Out(RegisterSignature(8))
    """

    host: Any
    command: list
    registers: Any

    def __init__(self, cores: int):
        self.cores = cores
        super().__init__({
            "host": In(RegisterSignature(8)),
            "command": In(stream.Signature(32)).array(cores),
            "registers": Out(RegisterSignature(8)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.merge = merge = Merge(32, self.cores)
        for number, command in enumerate(self.command):
            i = getattr(merge, f"i_{number}")
            m.d.comb += [
                i.valid.eq(command.valid),
                i.payload.eq(command.payload),
                command.ready.eq(i.ready),
            ]
        host, word, request = self.host.request, merge.o, self.registers.request
        waits, last_was_host, serves_host = Signal(), Signal(), Signal()
        served_host = Signal()  # the response of this cycle is the host's
        was_host = Signal()
        m.d.comb += [
            # What was offered and not taken stays.
            serves_host.eq(
                Mux(waits, was_host, host.valid & ~(word.valid & last_was_host)),
            ),
            request.valid.eq(host.valid | word.valid),
            request.payload.address.eq(MATRIX["cisc"].offset),
            request.payload.write.eq(1),
            request.payload.data.eq(word.payload.payload),
            self.host.response.payload.eq(self.registers.response.payload),
            self.host.response.valid.eq(self.registers.response.valid & served_host),
        ]
        with m.If(serves_host):
            m.d.comb += [request.payload.eq(host.payload), host.ready.eq(request.ready)]
        with m.Else():
            m.d.comb += word.ready.eq(request.ready)
        m.d.sync += [
            waits.eq(request.valid & ~request.ready),
            was_host.eq(serves_host),
            served_host.eq(request.valid & request.ready & serves_host),
        ]
        with m.If(request.valid & request.ready):
            m.d.sync += last_was_host.eq(serves_host)
        return m
