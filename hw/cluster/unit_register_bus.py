"""Unit register bus: registers of the DMA and the matrix units, for the host and the cores."""

from typing import Any

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect

from ..config import UnitRegisterBusConfig
from ..emit.shared_block import SharedBlock
from ..isa.memory_map import MATRIX_STRIDE, UNIT_REGISTERS, WINDOW_BYTES, unit_bases
from ..lib.arbiter import Arbiter, ArbitrationSignature
from ..lib.one_hot import select
from ..lib.register_bus import RegisterSignature, register_request

__all__ = ["UnitRegisterBus"]

#: Bits of a byte address in the window, and in the registers of one unit.
WINDOW_WIDTH = (WINDOW_BYTES - 1).bit_length()
UNIT_WIDTH = (MATRIX_STRIDE - 1).bit_length()
#: Bits of a command word that select the matrix unit.
UNIT_OF_WORD = slice(5, 7)


class UnitRegisterBus(SharedBlock):
    """Arbiter of the unit registers between the host and the cores.

    A core's command word is a write to register ``cisc`` of the unit selected by bits 6:5 of the
    word. The bits are cleared on the way. A word for an absent unit goes unchanged to the first
    unit, which refuses it. A core's accesses and command words take effect in order of arrival,
    an access before a word of the same cycle. Accesses of different requesters have no order.

    | cycle | an access (a command word is accepted here in cycle -1) |
    |-------|---------------------------------------------------------|
    | 0     | a core or the host requests                             |
    | 1     | the request is driven to the unit, if it is free        |
    | n     | the unit accepts; the requester's `ready` is high       |
    | n + 1 | response; the requester's next access may be accepted   |

    Each unit serves its requesters round-robin: an access waits for at most one access of each
    other requester. While a unit holds an access, its other accesses wait, and so do further
    accesses of the core that made it. The other units stay available. An address without a unit
    is refused, with the response 1 cycle after the request.

    Parameters
    ----------
    config : UnitRegisterBusConfig

    Members
    -------
    host : In(RegisterSignature(8)).array(units)
        Host accesses to each unit, in the order of `unit_bases`.
    core : In(RegisterSignature(14)).array(cores)
        Byte addresses in the register window.
    command : In(stream.Signature(32)).array(cores)
        Command words, only if the cluster has matrix units.
    unit : Out(RegisterSignature(8)).array(units)
    """

    def __init__(self, config: UnitRegisterBusConfig):
        self.config = config
        self.bases = unit_bases(config.matrices)
        units = len(self.bases)
        members: dict[str, Any] = {
            "host": In(RegisterSignature(UNIT_WIDTH)).array(units),
            "unit": Out(RegisterSignature(UNIT_WIDTH)).array(units),
            "core": In(RegisterSignature(WINDOW_WIDTH)).array(config.cores),
        }
        if config.matrices:
            members["command"] = In(stream.Signature(32)).array(config.cores)
        super().__init__(members)

    def build(self, platform):
        m = Module()
        cores = range(self.config.cores)
        requests = [self.select_request(m, core) for core in cores]
        # Per unit, one bit for the host and one for each core.
        served = [self.serve(m, number, requests) for number, _ in enumerate(self.bases)]
        for core in cores:
            is_accepted = Cat(accepted[1 + core] for accepted, _ in served).any()
            answered = [answered[1 + core] for _, answered in served]
            self.answer(m, core, requests[core], is_accepted, answered)
        return m

    def select_request(self, m: Module, core: int) -> "CoreRequest":
        """Select between a core's access and its command word; return the selected request."""
        request = CoreRequest(core, list(self.bases))
        access = self.core[core].request
        m.d.comb += [
            request.valid.eq(access.valid | request.is_word),
            request.payload.eq(access.payload),
        ]
        if self.config.matrices:
            self.keep_word(m, core, request)
        high = request.payload.address[UNIT_WIDTH:]
        m.d.comb += [
            hit.eq(request.valid & (high == base >> UNIT_WIDTH))
            for hit, base in zip(request.units, self.bases.values(), strict=True)
        ]
        return request

    def keep_word(self, m: Module, core: int, request: "CoreRequest"):
        """Hold a command word until its unit accepts it; request when it is next in order."""
        command, access = self.command[core], self.core[core].request
        units = self.config.matrices
        word = Signal(32, name=f"word_{core}", reset_less=True)
        unit = Signal(range(units), name=f"word_unit_{core}", reset_less=True)
        waits, is_first = Signal(name=f"word_waits_{core}"), Signal(name=f"word_is_first_{core}")
        named = command.payload[UNIT_OF_WORD]
        is_there = named < units
        m.d.comb += [
            command.ready.eq(~waits),
            # Earlier accesses go before the word, later ones after it.
            request.is_word.eq(waits & is_first),
        ]
        with m.If(request.is_word):
            cisc = self.bases["matrix"] + UNIT_REGISTERS["cisc"].offset
            m.d.comb += [
                request.payload.address.eq(cisc + (unit << UNIT_WIDTH)),
                request.payload.write.eq(1),
                request.payload.data.eq(word),
            ]
        with m.If(~waits):
            m.d.sync += [
                waits.eq(command.valid),
                is_first.eq(~access.valid | access.ready),
                unit.eq(Mux(is_there, named, 0)),
                word.eq(command.payload),
            ]
            with m.If(is_there):
                m.d.sync += word[UNIT_OF_WORD].eq(0)
        with m.Elif(access.ready):
            m.d.sync += is_first.eq(1)
        with m.If(request.is_word & request.accepted):
            m.d.sync += waits.eq(0)

    def serve(self, m: Module, number: int, requests: "list[CoreRequest]") -> tuple[Signal, Signal]:
        """Serve a unit's requesters round-robin; return one-hot `accepted` and `answered`."""
        host, bus, unit = self.host[number], self.unit[number], list(self.bases)[number]
        m.submodules[f"arbiter_{unit}"] = arbiter = Arbiter(1 + len(requests))
        requesters: Any = ArbitrationSignature(1 + len(requests)).create(
            path=(f"requesters_{unit}",)
        )
        connect(m, requesters, arbiter)
        layout = register_request(UNIT_WIDTH)
        payloads: list[Value] = [Value.cast(host.request.payload)]
        for source in requests:
            payload = Signal(layout, name=f"request_of_{source.core}_to_{unit}")
            m.d.comb += [
                payload.address.eq(source.payload.address[:UNIT_WIDTH]),
                payload.write.eq(source.payload.write),
                payload.data.eq(source.payload.data),
            ]
            payloads.append(Value.cast(payload))
        valid = Cat(host.request.valid, *(source.units[number] for source in requests))
        owner = Signal(1 + len(requests), name=f"owner_of_{unit}")
        accepted = Signal.like(owner, name=f"accepted_by_{unit}")
        answered = Signal.like(owner, name=f"answered_by_{unit}")
        offered = Signal(name=f"offered_to_{unit}")
        offer = Signal(layout, name=f"offer_to_{unit}", reset_less=True)
        moves = ~offered | bus.request.ready
        m.d.comb += [
            # A requester accepted in this cycle still drives the same request.
            requesters.requests.eq(valid & ~owner),
            requesters.accept.eq(moves),
            bus.request.valid.eq(offered),
            bus.request.payload.eq(offer),
            accepted.eq(Mux(bus.request.ready, owner, 0)),
            host.request.ready.eq(accepted[0]),
            host.response.valid.eq(answered[0]),
            host.response.payload.eq(bus.response.payload),
        ]
        m.d.sync += answered.eq(accepted)
        with m.If(moves):
            m.d.sync += [offered.eq(requesters.grant.any()), owner.eq(requesters.grant)]
            m.d.sync += Value.cast(offer).eq(select(requesters.grant, payloads))
        return accepted, answered

    def answer(
        self,
        m: Module,
        core: int,
        request: "CoreRequest",
        is_accepted: Value,
        answered: list[Value],
    ):
        """Drive a core's response from the unit that answers it."""
        port = self.core[core]
        was_access, was_refused = Signal(name=f"was_access_{core}"), Signal(name=f"refused_{core}")
        refuses = request.valid & ~request.units.any()
        m.d.comb += [
            request.accepted.eq(is_accepted | refuses),
            port.request.ready.eq(request.accepted & ~request.is_word),
            port.response.valid.eq(was_access),
            port.response.payload.error.eq(was_refused),
        ]
        for unit, answers in zip(self.unit, answered, strict=True):
            with m.If(answers):
                m.d.comb += port.response.payload.eq(unit.response.payload)
        m.d.sync += [was_access.eq(port.request.ready), was_refused.eq(refuses)]


class CoreRequest:
    """Signals of a core's current request."""

    def __init__(self, core: int, units: list[str]):
        self.core = core
        self.valid = Signal(name=f"request_valid_{core}")
        self.payload: data.View = Signal(register_request(WINDOW_WIDTH), name=f"request_{core}")
        self.units = Signal(len(units), name=f"request_units_{core}")  #: one-hot; 0 selects no unit
        self.is_word = Signal(name=f"request_is_word_{core}")
        self.accepted = Signal(name=f"request_accepted_{core}")
