"""Replies to groups that need no memory: console, discarded stores, accesses without a target."""

from functools import reduce
from operator import and_
from typing import Any

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import connect

from ...config import WORD_BYTES, MemoryUnitConfig
from ...lib.one_hot import lowest, select
from ...lib.streams import Queue
from .layouts import Target

__all__ = ["answer_here"]


def answer_here(
    m: Module,
    config: MemoryUnitConfig,
    group: stream.Interface,
    console: Any,
    answer: stream.Interface,
) -> Value:
    """Reply to a group that needs no memory; return whether it is accepted.

    Bytes for the `console` wait in a queue; a group that prints waits for room.
    """
    access = group.payload
    elsewhere = [Target.DRAM, Target.SHARED, Target.DEVICE]
    elsewhere += [Target.REMOTE] if config.clusters > 1 else []
    numbers = range(config.core.request_lanes)
    m.submodules.printed = printed = Queue(8, 2)
    connect(m, printed.o, console)
    strobes, is_byte, is_here = Signal(WORD_BYTES), Signal(), Signal()
    prints = Signal()
    stored = [
        select(access.lanes, [access.data[n].word_select(byte, 8) for n in numbers])
        for byte in range(WORD_BYTES)
    ]
    m.d.comb += [
        # A group of the console is one lane.
        strobes.eq(select(access.lanes, [access.strobes[n] for n in numbers])),
        is_byte.eq(strobes == lowest(strobes)),
        is_here.eq(reduce(and_, [access.target != target for target in elsewhere])),
        prints.eq((access.target == Target.CONSOLE) & is_byte),
        answer.valid.eq(group.valid & is_here & (printed.i.ready | ~prints)),
        answer.payload.tag.eq(access.tag),
        answer.payload.lanes.eq(access.lanes),
        answer.payload.error.eq(~prints & (access.target != Target.FORGOTTEN)),
        printed.i.valid.eq(group.valid & prints & answer.ready),
        printed.i.payload.eq(select(strobes, stored)),
    ]
    return answer.valid & answer.ready
