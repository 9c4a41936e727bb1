"""Divergent splits that are open: which threads run second, and where they begin."""

from amaranth import *
from amaranth.lib import data, enum
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ..config import CoreConfig
from ..lib.interfaces.core_memory import warp_shape
from ..memory.arbiter import select
from ..shared_block import SharedBlock
from ..sram import Sram
from ..sram_macros import ONE_PORT

__all__ = ["DivergenceStack", "StackChange", "divergence_layout"]


class StackChange(enum.Enum, shape=2):
    """What becomes of the stack of the warp that was looked at."""

    NONE = 0
    PUSH = 1
    SECOND = 2  #: the threads that run second begin
    POP = 3


def divergence_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of an open split.

    ``both`` are the threads of both sides; ``rest`` those that run second and have not begun,
    none once they have; ``pc`` where they begin, in words.
    """
    return data.StructLayout({"both": config.threads, "rest": config.threads, "pc": 30})


class DivergenceStack(SharedBlock):
    """A stack of open splits for each warp, `stack_depth` deep.

    A look at a warp's stack is answered from the next cycle on, until there is another look. What
    changes is the stack of the warp that was looked at last, once for each look, and not in the
    cycle of the next look.

    | cycle | look | answers of | change of |
    |-------|------|------------|-----------|
    | 0     | A    |            |           |
    | 1     |      | A          | A         |
    | 2     | B    | A          |           |

    With one thread nothing ever diverges: the stack is always both empty and full.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    look : In(1)
    look_warp : In(warp_shape(config))
    top : Out(divergence_layout(config))
        The innermost split, if the stack is not empty.
    is_empty, is_full : Out(1)
    change : In(StackChange)
        A push to a full stack, and the others of an empty one, are not allowed.
    push : In(divergence_layout(config))
    """

    look: Signal
    look_warp: Signal
    top: data.View
    is_empty: Signal
    is_full: Signal
    change: Signal
    push: data.View

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__({
            "look": In(1),
            "look_warp": In(warp_shape(config)),
            "top": Out(divergence_layout(config)),
            "is_empty": Out(1),
            "is_full": Out(1),
            "change": In(StackChange),
            "push": In(divergence_layout(config)),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        if config.stack_depth == 0:
            m.d.comb += [self.is_empty.eq(1), self.is_full.eq(1)]
            return m
        # The place of the innermost split; all ones, one below 0, while there is none.
        width = ceil_log2(config.stack_depth + 1)
        empty = (1 << width) - 1
        levels = [Signal(width, init=empty, name=f"level_{w}") for w in range(config.warps)]
        looked = select((1 << self.look_warp)[: config.warps], levels)
        warp = Signal(warp_shape(config), reset_less=True)
        level = Signal(width, reset_less=True)
        with m.If(self.look):
            m.d.sync += [warp.eq(self.look_warp), level.eq(looked)]

        is_push = self.change == StackChange.PUSH
        above, below = (level + 1)[:width], (level - 1)[:width]
        with m.If(is_push | (self.change == StackChange.POP)):
            for number, kept in enumerate(levels):
                with m.If(warp == number):
                    m.d.sync += kept.eq(Mux(is_push, above, below))

        m.submodules.splits = splits = Sram(
            depth=config.warps << width, width=divergence_layout(config).size, ports=ONE_PORT
        )
        top = data.View(divergence_layout(config), splits.read_data)
        changed = Signal(divergence_layout(config))
        m.d.comb += [
            splits.read_enable.eq(self.look),
            splits.read_address.eq(Cat(looked, self.look_warp)),
            splits.write_mask.eq(is_push | (self.change == StackChange.SECOND)),
            splits.write_address.eq(Cat(Mux(is_push, above, level), warp)),
            changed.eq(Mux(is_push, self.push, top)),
            splits.write_data.eq(changed),
            self.top.eq(top),
            self.is_empty.eq(level == empty),
            self.is_full.eq(level == config.stack_depth - 1),
        ]
        # What is left to begin begins now.
        with m.If(~is_push):
            m.d.comb += changed.rest.eq(0)
        return m
