"""Integer unit: sums, comparisons, shifts, products, branches and jumps of whole warps."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ....config import PipelineConfig
from ....emit.shared_block import SharedBlock
from ....isa.operations import Port
from ....lib.carry_select import CarrySelectAdd, CarrySelectAddConfig
from ....lib.interfaces.execution_unit import operation_layout, result_layout
from ....lib.register_slices import SkidBuffer
from ....lib.streams import ResponseSignature
from ...layouts import branch_layout
from ..lane_dispatch import BeatsConfig, LaneDispatch, LaneGather
from ..writeback_slots import WritebackSlots, WritebackSlotsConfig
from .branch import Branch
from .integer_lanes import IntegerLanes, properties
from .multiply_lane import MultiplyLane, MultiplyLaneConfig

__all__ = ["IntegerUnit"]

#: Fields copied from an operation to its result.
PASSED = ("warp", "mask", "pc", "rd", "writes")


class IntegerUnit(SharedBlock):
    """Integer unit: executes `IntegerOperation`.

    A warp takes ``threads / lanes`` beats and is accepted from `i` with the last. Its result is
    offered one cycle later, a product `config.multiply_latency` cycles later. On a conflict the
    later instruction waits; other results can overtake products. One beat is accepted per cycle,
    until `o` stalls two results. `i.ready` does not depend on `o.ready` combinationally.

    The outcome of a branch or jump is valid on `branch` one cycle after the instruction is
    accepted, independent of `o`. Branches and jumps also have a result; that of a jump is the
    return address.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    i : In(stream.Signature(operation_layout(config)))
    o : Out(stream.Signature(result_layout(config)))
    branch : Out(ResponseSignature(branch_layout(config)))

    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        self.lanes = config.lanes(Port.INT)
        super().__init__({
            "i": In(stream.Signature(operation_layout(config))),
            "o": Out(stream.Signature(result_layout(config))),
            "branch": Out(ResponseSignature(branch_layout(config))),
        })

    def build(self, platform):
        m = Module()
        beats = self.operands(m)
        beat, common = beats.payload, beats.payload.common
        m.submodules.lanes = lanes = IntegerLanes(self.config)
        m.submodules.slots = slots = WritebackSlots(
            WritebackSlotsConfig(
                latency=self.config.multiply_latency,
                common=data.StructLayout({**self.shapes(PASSED), "is_high": 1}),
                value=data.ArrayLayout(32, self.lanes),
            )
        )
        is_product, is_high = properties(m, common.operation, "is_product", "is_high")
        m.d.comb += [
            lanes.operation.eq(common.operation),
            lanes.a.eq(beat.a),
            lanes.b.eq(beat.b),
            lanes.link.eq(common.next),
            slots.i.valid.eq(beats.valid),
            beats.ready.eq(slots.i.ready),
            slots.i.payload.is_late.eq(is_product),
            slots.i.payload.value.eq(lanes.value),
            slots.i.payload.common.is_high.eq(is_high),
            *(slots.i.payload.common[name].eq(common[name]) for name in PASSED),
        ]
        self.multiply(m, beat, slots)
        self.decide(m, beats, lanes)
        self.offer(m, slots.o)
        return m

    def shapes(self, names) -> dict:
        """Return the shapes of the named members of an operation."""
        members = operation_layout(self.config).members
        return {name: members[name] for name in names}

    def operands(self, m) -> stream.Interface:
        """Return the stream of beats, with pc and immediate multiplexed into the operands."""
        i, threads = self.i.payload, self.config.threads
        (by_register,) = properties(m, i.operation, "by_register")
        passed = (*PASSED, "operation")
        m.submodules.lane_dispatch = lane_dispatch = LaneDispatch(
            BeatsConfig(
                threads=threads,
                lanes=self.lanes,
                common=data.StructLayout({**self.shapes(passed), "relative": 32, "next": 32}),
                each={"a": 32, "b": 32},
            )
        )
        m.submodules.relative = relative = CarrySelectAdd(
            CarrySelectAddConfig(width=32, blocks=(10, 21))
        )
        whole = lane_dispatch.i.payload
        takes_immediate = i.b_is_immediate | by_register
        m.d.comb += [
            relative.a.eq(i.pc),
            relative.b.eq(i.immediate),
            lane_dispatch.i.valid.eq(self.i.valid),
            self.i.ready.eq(lane_dispatch.i.ready),
            whole.a.eq(Mux(i.a_is_pc, i.pc.replicate(threads), i.operands[0])),
            whole.b.eq(Mux(takes_immediate, i.immediate.replicate(threads), i.operands[1])),
            whole.common.relative.eq(relative.o),
            whole.common.next.eq(i.pc + 4),
            *(whole.common[name].eq(i[name]) for name in passed),
        ]
        return lane_dispatch.o

    def multiply(self, m, beat, slots):
        """Compute the products."""
        a_signed, b_signed = properties(m, beat.common.operation, "a_signed", "b_signed")
        config = MultiplyLaneConfig(registers=self.config.multiply_latency - 1)
        for k in range(self.lanes):
            m.submodules[f"multiply_{k}"] = lane = MultiplyLane(config)
            m.d.comb += [
                lane.enable.eq(slots.enable),
                lane.a.eq(beat.a[k]),
                lane.b.eq(beat.b[k]),
                lane.a_signed.eq(a_signed),
                lane.b_signed.eq(b_signed),
                lane.high.eq(slots.next_common.is_high),
                slots.late_value[k].eq(lane.o),
            ]

    def decide(self, m, beats, lanes):
        """Resolve branches and jumps."""
        beat, common = beats.payload, beats.payload.common
        m.submodules.branch = branch = Branch(self.config)
        is_branch, is_jump, by_register = properties(
            m, common.operation, "is_branch", "is_jump", "by_register"
        )
        decision = branch.i.payload
        m.d.comb += [
            branch.i.valid.eq(beats.valid & beats.ready & (is_branch | is_jump)),
            decision.place.eq(beat.place),
            decision.by_register.eq(by_register),
            decision.is_taken.eq(lanes.is_taken | is_jump.replicate(self.lanes)),
            decision.targets.eq(Mux(by_register, lanes.sums, 0)),
            *(decision[name].eq(common[name]) for name in ("warp", "mask", "pc")),
            *(decision[name].eq(common[name]) for name in ("relative", "next")),
        ]
        connect(m, branch.o, flipped(self.branch))

    def offer(self, m, slot):
        """Offer whole warps; one lane gather for products and one for other results."""
        config = BeatsConfig(
            threads=self.config.threads,
            lanes=self.lanes,
            common=slot.payload.common.shape(),
            each={"values": 32},
        )
        is_late = slot.payload.is_late
        kinds = {"early": ~is_late, "late": is_late} if config.beats > 1 else {"all": Const(1)}
        m.submodules.refused = refused = SkidBuffer(self.o.payload.shape())
        warps = []
        for kind, belongs in kinds.items():
            m.submodules[f"lane_gather_{kind}"] = warp = LaneGather(config)
            m.d.comb += [
                warp.i.valid.eq(slot.valid & belongs),
                warp.i.payload.common.eq(slot.payload.common),
                warp.i.payload["values"].eq(slot.payload.value),
                warp.o.ready.eq(refused.i.ready),
            ]
            warps.append(warp)
        values = [Value.cast(warp.o.payload["values"]) for warp in warps]
        readies = [warp.i.ready for warp in warps]
        connect(m, refused.o, flipped(self.o))
        o = refused.i.payload
        m.d.comb += [
            slot.ready.eq(Mux(is_late, readies[-1], readies[0])),
            refused.i.valid.eq(Cat(warp.o.valid for warp in warps).any()),
            Value.cast(o["values"]).eq(Mux(is_late, values[-1], values[0])),
            *(o[name].eq(slot.payload.common[name]) for name in PASSED),
        ]
