"""Coalescer: splits a core's data request into groups of lanes that are served together."""

from collections.abc import Sequence

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...config import WORD_BYTES, MemoryUnitConfig
from ...emit.shared_block import SharedBlock
from ...isa.memory_map import (
    CLUSTER_WINDOW_BYTES,
    CLUSTER_WINDOWS,
    CONSOLE_BASE,
    CONSOLE_LANES,
    COUNTER_DUMP,
    COUNTER_DUMP_BYTES,
    MATRIX_STRIDE,
    PRINT_BYTES,
    SHARED_BASE,
    cluster_window,
    unit_bases,
)
from ...lib.address_range import is_dram, within
from ...lib.interfaces.core_memory import atomic_fields, data_request_layout
from ...lib.one_hot import lowest, select
from .layouts import Target, group_layout, place_width

__all__ = ["Coalescer"]


def is_register(config: MemoryUnitConfig, address: Value) -> Value:
    """Return whether a byte address is in the registers of a unit of the cluster."""
    window = SHARED_BASE + config.shared.size
    hits = [
        within(address, window + base, window + base + MATRIX_STRIDE)
        for base in unit_bases(config.matrices, has_dma=config.has_dma).values()
    ]
    return Cat(hits).any()


def is_remote(config: MemoryUnitConfig, address: Value) -> Value:
    """Return whether a byte address is in the window of a cluster, within shared memory."""
    behind = address[config.shared.address_width : exact_log2(CLUSTER_WINDOW_BYTES)]
    return within(address, CLUSTER_WINDOWS, cluster_window(config.clusters)) & ~behind.any()


def targets(config: MemoryUnitConfig, address: Value, request: data.View, strobes: Value) -> Value:
    """Return the target of a lane's access in a request."""
    is_store = request.is_store
    shared_end = SHARED_BASE + config.shared.size
    printed = within(address, shared_end, shared_end + config.cores * PRINT_BYTES)
    dumped = within(address, COUNTER_DUMP, COUNTER_DUMP + config.cores * COUNTER_DUMP_BYTES)
    # At most one of these is true.
    choices = {
        Target.DRAM: is_dram(address),
        Target.CONSOLE: within(address, CONSOLE_BASE, CONSOLE_BASE + CONSOLE_LANES) & is_store,
        Target.FORGOTTEN: (printed | dumped) & is_store,
        Target.SHARED: within(address, SHARED_BASE, shared_end),
        Target.DEVICE: is_register(config, address) & strobes.all(),
    }
    if config.clusters > 1:
        choices[Target.REMOTE] = is_remote(config, address)
    if config.core.atomics:  # in DRAM and shared memory only, and not through windows
        for target in (Target.DEVICE, Target.REMOTE):
            if target in choices:
                choices[target] = choices[target] & ~request.atomic
    value = C(0, 3)
    for target, chosen in choices.items():
        value = value | Mux(chosen, C(target.value, 3), 0)
    return value


class Coalescer(SharedBlock):
    """Coalescer: each group is the lowest remaining lane and all lanes that can join it.

    Lanes form a group if they access the same beat of DRAM, or all shared memory, or all no
    target. An access to the console, to a register or through a window is a group of its own; a
    register access that is not a whole word has no target. Lanes of shared memory in one aligned
    row are marked for the row port, unless they are atomic. An atomic access to DRAM is a group of
    its own too; atomics have no other target than DRAM and shared memory. A group leaves 1 cycle
    after its request was accepted, then one per cycle. The next request may be accepted in the
    cycle in which the last group of a request leaves, so a request of one group takes one cycle.
    `o` depends on registers only.

    Parameters
    ----------
    config : MemoryUnitConfig

    Members
    -------
    i : In(stream.Signature(data_request_layout(config.core)))
    o : Out(stream.Signature(group_layout(config)))
        Lanes outside the group have undefined data.
    busy : Out(1)
        A request is held.
    """

    def __init__(self, config: MemoryUnitConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(data_request_layout(config.core))),
            "o": Out(stream.Signature(group_layout(config))),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        lanes = config.core.request_lanes
        left = Signal(lanes)  # lanes of the held request whose group has not left yet
        first = Signal(lanes, reset_less=True)  # the lowest of them, one-hot
        held = Signal.like(self.i.payload, reset_less=True)
        served_by = Signal(data.ArrayLayout(Target, lanes), reset_less=True)
        rest = Signal(lanes)
        m.d.comb += [
            rest.eq(left & ~self.together(m, first, left, held, served_by)),
            self.o.valid.eq(left.any()),
            self.i.ready.eq(~left.any() | (self.o.ready & ~rest.any())),
            self.busy.eq(left.any()),
        ]
        with m.If(self.o.ready):
            m.d.sync += [left.eq(rest), first.eq(lowest(rest))]
        with m.If(self.i.ready):
            m.d.sync += [
                left.eq(Mux(self.i.valid, self.i.payload.mask, 0)),
                first.eq(lowest(self.i.payload.mask)),
                held.eq(self.i.payload),
            ]
            for lane in range(lanes):
                address = self.i.payload.address[lane]
                strobes = self.i.payload.strobes[lane]
                target = targets(config, address, self.i.payload, strobes)
                m.d.sync += Value.cast(served_by[lane]).eq(target)
        return m

    def together(
        self, m: Module, first: Signal, left: Signal, held: data.View, served_by: data.View
    ) -> Value:
        """Offer the group of the remaining lanes that `first` belongs to; return its lanes."""
        config = self.config
        lanes = range(config.core.request_lanes)
        low = exact_log2(config.axi.beat_bytes)
        word = exact_log2(WORD_BYTES)
        beat, target = Signal(32 - low), Signal(Target)
        m.d.comb += [
            beat.eq(select(first, [held.address[lane][low:] for lane in lanes])),
            Value.cast(target).eq(select(first, [Value.cast(served_by[lane]) for lane in lanes])),
        ]
        in_beat = [held.address[lane][low:] == beat for lane in lanes]
        like_first = [
            (served_by[lane] == target) & ((target != Target.DRAM) | in_beat[lane])
            for lane in lanes
        ]
        alone = (target == Target.CONSOLE) | (target == Target.DEVICE)
        if config.clusters > 1:
            alone = alone | (target == Target.REMOTE)
        if config.core.atomics:
            alone = alone | ((target == Target.DRAM) & held.atomic)
        group = Mux(alone, first, left & Cat(like_first))
        o = self.o.payload
        m.d.comb += [
            *(o[name].eq(held[name]) for name in ("tag", "is_store", "data", "strobes")),
            *(o[name].eq(held[name]) for name in atomic_fields(config.core)),
            o.target.eq(target),
            o.lanes.eq(group),
            o.beat.eq(beat),
            *self.row(left, held, served_by, first, in_beat, o),
            *(
                o.places[lane].eq(held.address[lane][word : word + place_width(config)])
                for lane in lanes
            ),
        ]
        return o.lanes

    def row(
        self,
        left: Signal,
        held: data.View,
        served_by: data.View,
        first: Signal,
        in_beat: Sequence[Value],
        o: data.View,
    ) -> list:
        """Return the assignment that marks lanes of shared memory in one row, with a row port."""
        size = self.config.row_bytes
        if size is None:
            return []
        if size == self.config.axi.beat_bytes:
            in_row = in_beat
        else:
            rows = [
                address[exact_log2(size) : self.config.shared.address_width]
                for address in held.address
            ]
            in_row = [row == select(first, rows) for row in rows]
        outside = [
            left[lane] & (served_by[lane] == Target.SHARED) & ~in_row[lane]
            for lane in range(len(left))
        ]
        if self.config.core.atomics:
            outside.append(held.atomic)
        return [o.is_row.eq(~Cat(outside).any())]
