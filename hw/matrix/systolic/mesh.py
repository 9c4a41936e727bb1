"""Frame of a systolic mesh: operands enter at two edges, sums leave with their target."""

from typing import Any

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect

from ...arith.float.unpack import Unpack, UnpackConfig, UnpackSignature, operand_layout
from ...config import SystolicConfig
from ...emit.component import Component
from ...lib.streams import ResponseSignature
from ..accumulator.accumulator import accumulator_target, addend_latency
from .dataflows import dataflow_of
from .skew import SkewConfig, skewed

__all__ = ["Mesh"]


class Mesh(Component):
    """Frame of the meshes of both dataflows.

    One offer of each operand per cycle, no back-pressure. The target of a row of sums precedes it
    by `addend_latency` cycles.

    Parameters
    ----------
    config : SystolicConfig

    Members
    -------
    row, weights, or step
        `Dataflow.operand_members`.
    target : Out(ResponseSignature(accumulator_target(config)))
        Destination of the sums that follow in `addend_latency` cycles.
    sums : Out(columns * accumulator width)
    in_flight : Out(1)
        A row of sums has not reached `target`. From registers. It rises only in the cycle after the
        offer of a row, or of a step: weights alone are not in flight.
    busy : Out(1)
        A row is in flight, or an offered operand has not reached its element. From registers.

    """

    def __init__(self, config: SystolicConfig):
        self.config = config
        super().__init__({
            **dataflow_of(config).operand_members(config, In),
            "target": Out(ResponseSignature(accumulator_target(config))),
            "sums": Out(config.columns * config.accumulator_format.width),
            "in_flight": Out(1),
            "busy": Out(1),
        })

    def deskew(self, m: Module, sums: Value):
        """Align the sums that leave the columns one cycle after another."""
        lanes, width = self.config.columns, self.config.accumulator_format.width
        aligned = skewed(m, sums, SkewConfig(lanes=lanes, width=width, falling=True), "deskew")
        m.d.comb += self.sums.eq(aligned)

    def delayed_target(
        self, m: Module, operand: data.View, valid: Value, latency: int
    ) -> tuple[Signal, Value]:
        """Delay the target of an operand until it precedes sums of `latency` cycles.

        Return the valid bits of all stages, the oldest last, and the target of the last stage.
        """
        cycles = latency - addend_latency(self.config)
        layout = accumulator_target(self.config)
        width = Shape.cast(layout).width
        offered = Signal(layout)
        valid_line = Signal(cycles)
        target_line = Signal(cycles * width, reset_less=True)
        m.d.comb += [
            offered.address.eq(operand.address),
            offered.accumulate.eq(operand.accumulate),
        ]
        if self.config.scales_rows:
            m.d.comb += [offered.scaled.eq(operand.scaled), offered.starts.eq(operand.swap)]
        m.d.sync += [
            valid_line.eq(Cat(valid, valid_line)),
            target_line.eq(Cat(offered, target_line)),
        ]
        return valid_line, target_line[-width:]

    def unpacked(self, m: Module, name: str, elements: Value) -> list[data.View]:
        """Return the elements of an operand, unpacked."""
        form, lanes = self.config.operand_format, []
        for lane in range(len(elements) // form.width):
            config = UnpackConfig(form=form)
            m.submodules[f"unpack_{name}_{lane}"] = unpack = Unpack(config)
            element: Any = UnpackSignature(config).create(path=(f"{name}_element_{lane}",))
            connect(m, element, unpack)
            m.d.comb += element.i.eq(elements.word_select(lane, form.width))
            lanes.append(element.o)
        return lanes

    def registered(self, m: Module, name: str, elements: list[data.View]) -> list[data.View]:
        """Return the elements one cycle later."""
        layout, registers = operand_layout(self.config.operand_format), []
        for lane, element in enumerate(elements):
            register = Signal(layout, reset_less=True, name=f"{name}_{lane}")
            m.d.sync += register.eq(element)
            registers.append(register)
        return registers
