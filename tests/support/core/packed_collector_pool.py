"""Wrapper of the operand collectors with few, wide ports."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from spica.hw.config import CoreConfig
from spica.hw.core.layouts import issue_layout, read_layout
from spica.hw.core.operands.collector_pool import Collectors, collector_events
from spica.hw.core.operands.register_map import request_layout
from spica.hw.lib.interfaces.execution_unit import operation_layout, result_layout

__all__ = ["PackedCollectors"]


def offer_layout(payload) -> data.StructLayout:
    """Return the layout of a payload with a valid bit."""
    return data.StructLayout({"valid": 1, "payload": payload})


class PackedCollectors(wiring.Component):
    """`Collectors` with few, wide ports, because the cost of a bench grows with its ports.

    Parameters
    ----------
    config : CoreConfig
        The core.

    Members
    -------
    answers : In
        Inputs that are independent of the collectors' outputs in the cycle.
    readies : In
        Inputs that may depend on their requests.
    o : Out
        All outputs except `operation`.
    operation : Out.array(len(config.ports))
        Offer to each port; valid bits are in `o`.

    Attributes
    ----------
    layouts : dict
        Layout of each member.

    """

    answers: Signal
    readies: Signal
    o: Signal
    operation: list

    def __init__(self, config: CoreConfig):
        self.config = config
        collectors, slots = config.collectors, config.issue_width
        answers = data.StructLayout({
            "i": data.ArrayLayout(offer_layout(issue_layout(config)), slots),
            "data": data.ArrayLayout(offer_layout(read_layout(config)), collectors),
            "bus": data.ArrayLayout(offer_layout(result_layout(config)), config.writeback_buses),
        })
        outputs = data.StructLayout({
            "request": data.ArrayLayout(offer_layout(request_layout(config)), collectors),
            "offered": len(config.ports),
            "i_ready": slots,
            "events": collector_events(config),
        })
        readies = data.StructLayout({"request": collectors, "operation": len(config.ports)})
        operation = operation_layout(config)
        self.layouts = {
            "answers": answers,
            "readies": readies,
            "o": outputs,
            "operation": operation,
        }
        super().__init__({
            "answers": In(answers.size),
            "readies": In(readies.size),
            "o": Out(outputs.size),
            "operation": Out(operation.size).array(len(config.ports)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.collectors = dut = Collectors(self.config)
        answers = data.View(self.layouts["answers"], self.answers)
        readies = data.View(self.layouts["readies"], self.readies)
        o = data.View(self.layouts["o"], self.o)
        for name in ("i", "data", "bus"):
            for offer, port in zip(answers[name], getattr(dut, name), strict=True):
                m.d.comb += [port.valid.eq(offer.valid), port.payload.eq(offer.payload)]
        for number, request in enumerate(dut.request):
            m.d.comb += [
                o.request[number].valid.eq(request.valid),
                o.request[number].payload.eq(request.payload),
                request.ready.eq(readies.request[number]),
            ]
        for number, operation in enumerate(dut.operation):
            m.d.comb += [
                o.offered[number].eq(operation.valid),
                self.operation[number].eq(operation.payload),
                operation.ready.eq(readies.operation[number]),
            ]
        m.d.comb += [
            o.i_ready.eq(Cat(i.ready for i in dut.i)),
            o.events.eq(dut.events),
        ]
        return m
