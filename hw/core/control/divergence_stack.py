"""Divergence stack: open splits of each warp, with the second side's threads and start."""

from amaranth import *
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out, connect
from amaranth.utils import ceil_log2

from ...config import PipelineConfig
from ...emit.shared_block import SharedBlock
from ...emit.sram_macros import ONE_PORT
from ...lib.interfaces.core_memory import warp_shape
from ...lib.one_hot import select
from ...lib.sram import MemoryPorts, Sram
from ...lib.streams import ResponseSignature

__all__ = [
    "DivergenceStack",
    "StackChange",
    "StackSignature",
    "divergence_layout",
    "stack_answer_layout",
]


class StackChange(enum.Enum, shape=2):
    """Change of the stack selected by the last look-up."""

    NONE = 0
    PUSH = 1
    SECOND = 2  #: the second side starts
    POP = 3


def divergence_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of an open split.

    ``both`` is the thread mask of both sides. ``rest`` is the mask of the second side until it
    starts, then 0. ``pc`` is the start of the second side, in words.
    """
    return data.StructLayout({"both": config.threads, "rest": config.threads, "pc": 30})


def stack_answer_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of the state of a stack; ``top`` is valid if the stack is not empty."""
    return data.StructLayout({"top": divergence_layout(config), "is_empty": 1, "is_full": 1})


class StackSignature(wiring.Signature):
    """Access to the divergence stacks by the instruction in execution.

    Members
    -------
    lookup : Out(ResponseSignature(warp_shape(config)))
        Reads the stack of a warp.
    answer : In(stack_answer_layout(config))
        The innermost split, and whether the stack is empty or full.
    change : Out(StackChange)
        Illegal: a push to a full stack, `SECOND` or `POP` on an empty one.
    push : Out(divergence_layout(config))
    """

    def __init__(self, config: PipelineConfig):
        super().__init__({
            "lookup": Out(ResponseSignature(warp_shape(config))),
            "answer": In(stack_answer_layout(config)),
            "change": Out(StackChange),
            "push": Out(divergence_layout(config)),
        })


class DivergenceStack(SharedBlock):
    """Divergence stack: a stack of open splits for each warp, `stack_depth` deep.

    A look-up reads a warp's stack; its answer is valid from the next cycle until the next look-up.
    A change applies to the stack of the last look-up, at most once per look-up, and not in the
    cycle of the next one.

    | cycle | lookup | answer of  | change of |
    |-------|--------|------------|-----------|
    | 0     | A      |            |           |
    | 1     |        | A          | A         |
    | 2     | B      | A          |           |

    With one thread no split diverges: the stack reports both empty and full.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    access : In(StackSignature(config))
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        super().__init__({"access": In(StackSignature(config))})

    def build(self, platform):
        m = Module()
        config, access, lookup = self.config, self.access, self.access.lookup
        if config.stack_depth == 0:
            m.d.comb += [access.answer.is_empty.eq(1), access.answer.is_full.eq(1)]
            return m
        # Index of the innermost split; all ones (0 - 1) if the stack is empty.
        width = ceil_log2(config.stack_depth + 1)
        empty = (1 << width) - 1
        levels = [Signal(width, init=empty, name=f"level_{w}") for w in range(config.warps)]
        lookup_level = select((1 << lookup.payload)[: config.warps], levels)
        warp = Signal(warp_shape(config), reset_less=True)
        level = Signal(width, reset_less=True)
        with m.If(lookup.valid):
            m.d.sync += [warp.eq(lookup.payload), level.eq(lookup_level)]

        is_push = access.change == StackChange.PUSH
        above, below = (level + 1)[:width], (level - 1)[:width]
        with m.If(is_push | (access.change == StackChange.POP)):
            for number, warp_level in enumerate(levels):
                with m.If(warp == number):
                    m.d.sync += warp_level.eq(Mux(is_push, above, below))

        m.submodules.splits = splits = Sram(
            depth=config.warps << width, width=divergence_layout(config).size, ports=ONE_PORT
        )
        memory = MemoryPorts(splits, "splits")
        connect(m, memory, splits)
        top = data.View(divergence_layout(config), memory.data)
        changed = Signal(divergence_layout(config))
        m.d.comb += [
            memory.read.valid.eq(lookup.valid),
            memory.read.payload.eq(Cat(lookup_level, lookup.payload)),
            memory.write.mask.eq(is_push | (access.change == StackChange.SECOND)),
            memory.write.address.eq(Cat(Mux(is_push, above, level), warp)),
            changed.eq(Mux(is_push, access.push, top)),
            memory.write.data.eq(changed),
            access.answer.top.eq(top),
            access.answer.is_empty.eq(level == empty),
            access.answer.is_full.eq(level == config.stack_depth - 1),
        ]
        # `SECOND` starts the remaining threads.
        with m.If(~is_push):
            m.d.comb += changed.rest.eq(0)
        return m
