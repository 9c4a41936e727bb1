"""Base class of units with lanes: lane dispatch, lane gather and the ports of the unit."""

from amaranth import *
from amaranth.hdl import ShapeLike
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect

from ...arith.float.rounding import FLAGS_LAYOUT, Rounding
from ...config import PipelineConfig
from ...emit.shared_block import SharedBlock
from ...isa.operations import OPERATION_WIDTH, PORTS, Port
from ...lib.interfaces.execution_unit import operation_layout, result_layout
from .lane_dispatch import BeatsConfig, LaneDispatch, LaneGather

__all__ = ["LaneUnit", "hold"]

#: Fields that a result takes from its operation.
RESULT_FIELDS = ("warp", "mask", "pc", "rd", "writes")


def hold(
    m: Module, source: stream.Interface, shape: ShapeLike, name: str = "held"
) -> stream.Interface:
    """Return the stream `source` behind a register that holds one payload."""
    held = stream.Signature(shape).create(path=(name,))
    payload = Signal(shape, name=f"{name}_payload", reset_less=True)
    valid = Signal(name=f"{name}_valid")
    m.d.comb += [
        held.payload.eq(payload),
        held.valid.eq(valid),
        source.ready.eq(~valid | held.ready),
    ]
    with m.If(source.ready):
        m.d.sync += [valid.eq(source.valid), payload.eq(source.payload)]
    return held


class LaneUnit(SharedBlock):
    """Base class of units with lanes: everything except the lanes themselves.

    Subclasses set `port`, and connect their lanes to two streams in `connect_lanes`. Beats of a
    warp arrive back to back and must leave the lanes in order.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    i : In(stream.Signature(operation_layout(config)))
        `rounding` is final: a dynamic mode is already replaced by the warp's.
    o : Out(stream.Signature(result_layout(config)))
        `flags` are those of the active threads; values of inactive threads are undefined.

    """

    port: Port
    #: True if lanes raise flags.
    has_flags = True
    #: True if operations wait for the lanes in a register instead of an operand collector.
    holds = False

    def __init__(self, config: PipelineConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(operation_layout(config))),
            "o": Out(stream.Signature(result_layout(config))),
        })

    def connect_lanes(self, m: Module, beats: stream.Interface, parts: stream.Interface):
        """Connect the lanes: input `beats`, output `parts`."""
        raise NotImplementedError

    @property
    def operands(self) -> str:
        """Names of the operands of the lanes."""
        return "abc"[: PORTS[self.port].operands]

    @property
    def lanes(self) -> int:
        """Number of threads in a beat."""
        return self.config.lanes(self.port)

    @property
    def result_fields(self) -> data.StructLayout:
        """Layout of the fields that a result takes from its operation."""
        layout = result_layout(self.config)
        return data.StructLayout({name: layout[name].shape for name in RESULT_FIELDS})

    @property
    def beats(self) -> BeatsConfig:
        """Configuration of the lane dispatch."""
        return BeatsConfig(
            threads=self.config.threads,
            lanes=self.lanes,
            common=data.StructLayout({
                "operation": OPERATION_WIDTH,
                "rounding": Rounding,
                "result_fields": self.result_fields,
            }),
            per_thread={"operands": data.StructLayout({name: 32 for name in self.operands})},
        )

    @property
    def parts(self) -> BeatsConfig:
        """Configuration of the lane gather."""
        flags = {"flags": FLAGS_LAYOUT} if self.has_flags else {}
        return BeatsConfig(
            threads=self.config.threads,
            lanes=self.lanes,
            common=self.result_fields,
            per_thread={"result": data.StructLayout({"value": 32} | flags)},
        )

    def build(self, platform):
        m = Module()
        m.submodules.lane_dispatch = lane_dispatch = LaneDispatch(self.beats)
        m.submodules.lane_gather = lane_gather = LaneGather(self.parts)
        source = self.operation_stream(m)
        if self.holds:
            source = hold(m, source, self.beats.warp_layout)
        connect(m, source, lane_dispatch.i)
        self.connect_lanes(m, lane_dispatch.o, lane_gather.i)
        self.connect_results(m, lane_gather.o)
        return m

    def results_pending(self, m: Module, beats: stream.Interface) -> stream.Interface:
        """Return the stream of the fields that results take from `beats`, which it accepts."""
        pending = stream.Signature(self.result_fields).create(path=("pending",))
        m.d.comb += [
            pending.valid.eq(beats.valid),
            pending.payload.eq(beats.payload.common.result_fields),
            beats.ready.eq(pending.ready),
        ]
        return pending

    def operation_stream(self, m: Module) -> stream.Interface:
        """Return the stream of operations in the layout of `LaneDispatch`."""
        source = stream.Signature(self.beats.warp_layout).create(path=("source",))
        i, o = self.i.payload, source.payload
        m.d.comb += [
            source.valid.eq(self.i.valid),
            self.i.ready.eq(source.ready),
            o.common.operation.eq(i.operation),
            o.common.rounding.eq(i.rounding),
            *(o.common.result_fields[name].eq(i[name]) for name in RESULT_FIELDS),
            *(
                o.operands[thread][name].eq(i.operands[k][thread])
                for k, name in enumerate(self.operands)
                for thread in range(self.config.threads)
            ),
        ]
        return source

    def connect_results(self, m: Module, results: stream.Interface):
        """Connect results of whole warps to the output."""
        i, o = results.payload, self.o.payload
        threads = [i.result[thread] for thread in range(self.config.threads)]
        m.d.comb += [
            self.o.valid.eq(results.valid),
            results.ready.eq(self.o.ready),
            *(o[name].eq(i.common[name]) for name in RESULT_FIELDS),
            o.values.eq(Cat(thread.value for thread in threads)),
        ]
        if self.has_flags:
            words = [Value.cast(thread.flags) for thread in threads]
            raised = [Cat(word[flag] for word in words) for flag in range(len(o.flags))]
            m.d.comb += o.flags.eq(Cat((bits & i.common.mask).any() for bits in raised))
