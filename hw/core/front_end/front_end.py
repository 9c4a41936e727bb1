"""Front end: from each warp's pc to its next decoded instructions."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...config import PipelineConfig
from ...emit.shared_block import SharedBlock
from ...lib.interfaces.core_memory import fetch_request_layout, fetch_response_layout
from ...lib.streams import ResponseSignature
from ..front_end_layouts import entry_layout, redirect_layout
from .decode import Decode
from .fetch import Fetch
from .instruction_buffer import InstructionBuffer
from .warp_buffer import WarpInstructionsSignature

__all__ = ["FrontEnd"]


class FrontEnd(SharedBlock):
    """Front end: fetches, decodes and buffers the instructions of all warps.

    An instruction is valid in the cycle after its word arrives, and requested in the cycle after
    its redirect. With a memory latency of n cycles it is valid n + 2 cycles after the redirect. If
    its buffer slot still awaits an older request, it is requested after that response: up to
    2n + 2 cycles. Up to two instructions per cycle for all warps together; a single warp gets one
    full buffer in n + 3 cycles. Each warp receives its instructions in order.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    request : Out(stream.Signature(fetch_request_layout(config)))
        To instruction memory: pairs of words.
    response : In(ResponseSignature(fetch_response_layout(config)))
        From instruction memory, in any order, from the cycle after the request on.
    redirect : In(ResponseSignature(redirect_layout(config)))
        Redirects the warp to this pc: from the next cycle on its head is the instruction at pc,
        or not valid yet. Bits 1:0 are ignored. Everything fetched for the warp is dropped,
        including requests in flight.
    active : In(warps)
        Running warps. Others have no valid head and are not fetched for.
    warps : Out(WarpInstructionsSignature(config)).array(warps)
    busy : Out(1)
        A request is offered or outstanding.
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        super().__init__({
            "request": Out(stream.Signature(fetch_request_layout(config))),
            "response": In(ResponseSignature(fetch_response_layout(config))),
            "redirect": In(ResponseSignature(redirect_layout(config))),
            "active": In(config.warps),
            "warps": Out(WarpInstructionsSignature(config)).array(config.warps),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        m.submodules.fetch = fetch = Fetch(config)
        m.submodules.buffer = buffer = InstructionBuffer(config)
        connect(m, fetch.request, flipped(self.request))
        connect(m, flipped(self.response), fetch.response)
        for box in (fetch, buffer):
            connect(m, flipped(self.redirect), box.redirect)
            m.d.comb += box.active.eq(self.active)
        response = self.response.payload
        m.d.comb += [
            buffer.push.valid.eq(fetch.fresh),
            buffer.push.payload.tag.eq(response.tag),
            self.busy.eq(fetch.busy),
        ]
        for half in range(2):
            m.submodules[f"decode_{half}"] = decode = Decode(config)
            entry = buffer.push.payload.entries[half]
            m.d.comb += [
                decode.word.eq(response.data.word_select(half, 32)),
                decode.failed.eq(response.error),
                # The pc follows from the position in the buffer.
                *(
                    getattr(entry, name).eq(getattr(decode.o, name))
                    for name, _ in entry_layout(config)
                ),
            ]
        for number, warp in enumerate(self.warps):
            connect(m, buffer.warps[number], flipped(warp))
            m.d.comb += fetch.positions[number].eq(buffer.positions[number])
        return m
