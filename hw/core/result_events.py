"""Events of results for the scoreboard: operations dispatched, results arriving and written."""

from typing import Any

from amaranth import *

from ..isa.operations import PORTS, Port
from .issue.warp_scoreboard import FIXED_PORTS, VARIABLE_PORTS
from .operands.collector_pool import Collectors
from .operands.writeback import Writeback

__all__ = ["connect_results"]


def connect_results(
    m: Module,
    results: Any,
    collectors: Collectors,
    writeback: Writeback,
    units: dict[Port, Any],
):
    """Connect dispatched operations and arriving results to `ScoreboardEventsSignature`."""
    for event, port in zip(results.dispatched, FIXED_PORTS, strict=True):
        operation = collectors.operation[port]
        m.d.comb += [
            event.valid.eq(operation.valid & operation.ready & operation.payload.writes),
            event.warp.eq(operation.payload.warp),
            event.rd.eq(operation.payload.rd),
        ]
    for event, port in zip(results.arriving, VARIABLE_PORTS, strict=True):
        result = writeback.result[port]
        valid = result.valid & result.payload.writes
        if PORTS[port].announces:
            result = units[port].arriving
            valid = result.valid
        m.d.comb += [
            event.valid.eq(valid),
            event.warp.eq(result.payload.warp),
            event.rd.eq(result.payload.rd),
        ]
    for done, bus in zip(results.written, writeback.bus, strict=True):
        m.d.comb += [
            done.valid.eq(bus.valid),
            done.warp.eq(bus.payload.warp),
            done.rd.eq(bus.payload.rd),
            done.writes.eq(bus.payload.writes),
        ]
