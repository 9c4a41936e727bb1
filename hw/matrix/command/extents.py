"""Products of a command's bounds by shift and add, as commands are rare and multipliers large."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from ...config import MatrixUnitConfig
from ...emit.component import Component
from ..operation import OperationLimits

__all__ = ["Extents", "ExtentsSignature"]


class ExtentsSignature(wiring.Signature):
    """Bounds of a command and their products, seen from the checker of the command.

    Parameters
    ----------
    config : MatrixUnitConfig

    Members
    -------
    start : Out(1)
    i, j, k : Out
        Blocks.
    ij, ik, kj : In
    done : In(1)
    """

    def __init__(self, config: MatrixUnitConfig):
        limits = OperationLimits(config=config)
        i, j, k = limits.i_blocks, limits.j_blocks, limits.k_blocks
        super().__init__({
            "start": Out(1),
            "i": Out(bits_for(i)),
            "j": Out(bits_for(j)),
            "k": Out(bits_for(k)),
            "ij": In(bits_for(i * j)),
            "ik": In(bits_for(i * k)),
            "kj": In(bits_for(k * j)),
            "done": In(1),
        })


class Extents(Component):
    """Products of bounds in blocks: ``ij = i * j``, ``ik = i * k``, ``kj = k * j``.

    `start` samples the bounds, each from 1 up to its limit. `done` rises 1 to
    ``1 + max(bits of i, bits of j)`` cycles later; the products hold until the next `start`.

    Parameters
    ----------
    config : MatrixUnitConfig

    Members are those of `ExtentsSignature`, seen from the other side.
    """

    def __init__(self, config: MatrixUnitConfig):
        self.config = config
        super().__init__(ExtentsSignature(config).flip())

    def elaborate(self, platform):
        m = Module()
        i_left = Signal.like(self.i)
        j_left = Signal.like(self.j)
        i_shifted = Signal.like(self.ij, reset_less=True)
        k_shifted = Signal(max(len(self.ik), len(self.kj)), reset_less=True)

        with m.If(self.start):
            m.d.sync += [
                i_left.eq(self.i),
                j_left.eq(self.j),
                i_shifted.eq(self.i),
                k_shifted.eq(self.k),
                self.ij.eq(0),
                self.ik.eq(0),
                self.kj.eq(0),
            ]
        with m.Else():
            m.d.sync += [
                i_left.eq(i_left >> 1),
                j_left.eq(j_left >> 1),
                i_shifted.eq(i_shifted << 1),
                k_shifted.eq(k_shifted << 1),
                self.ij.eq(self.ij + (i_shifted & j_left[0].replicate(len(i_shifted)))),
                self.ik.eq(self.ik + (k_shifted & i_left[0].replicate(len(k_shifted)))),
                self.kj.eq(self.kj + (k_shifted & j_left[0].replicate(len(k_shifted)))),
            ]
        m.d.comb += self.done.eq(~(i_left.any() | j_left.any()))
        return m
