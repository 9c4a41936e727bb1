"""Timeline of a product whose cores finish C: they read each tile from shared memory."""

from collections.abc import Sequence

from ....hw.config import ClusterConfig
from ....kernels.gemm.problem import GemmProblem
from ...harness.dram import DramConfig
from ..program import STORE, TURN
from ..program_steps import ProgramStep
from ..tiles import blocks_of
from ..timeline import TERMS, Timeline
from . import program as timing
from .tiles import finish_cycles

__all__ = ["FINISHED_TERMS", "FinishedTimeline"]

#: Parts of the cycles after the last row of A, each with its meaning; those before it are as in
#: `timeline.TERMS`.
FINISHED_TERMS = {
    "store": "last row of A to the last row of the last tile of C in shared memory",
    "finish": "the cores finish the last tile",
    "end": "the last store of the cores to the end marker",
}


class FinishedTimeline(Timeline):
    """Timeline of one product whose tiles of C the cores finish; times are as in `Timeline`.

    The store of a tile to shared memory begins when the cores have read the tile before it and its
    computes are done, and takes a cycle per row of a column block. The commanding warp hands over
    a tile before it waits for the one after it, and until then it commands no compute.

    Parameters
    ----------
    kernel : str
        Name of the kernel.
    config, product, memory, steps
        As in `Timeline`.

    """

    def __init__(
        self,
        kernel: str,
        config: ClusterConfig,
        product: GemmProblem,
        memory: DramConfig,
        steps: Sequence[ProgramStep],
    ):
        super().__init__(config, product, memory, steps)
        self.kernel = kernel
        self.terms = dict.fromkeys(TERMS | FINISHED_TERMS, 0)
        self.finished = 0  # when the cores have finished the last tile handed over
        self.tile_ready = 0  # when its last row is in shared memory

    def close(self):
        """Set the terms after the last row of A."""
        self.terms["store"] = self.tile_ready - self.ends[-1]
        self.terms["finish"] = self.finished - self.tile_ready
        self.terms["end"] = timing.END

    def complete(self, step: ProgramStep, command: int, number: int):
        """Store a complete tile for the cores; set when the commanding warp is ready."""
        if not step.last:
            super().complete(step, command, number)
            return
        is_first = not self.finished
        spill = command + (timing.PLAN if number == 0 else STORE)
        if not is_first:
            spill = max(spill, self.finished + timing.RELEASE)
        blocks, _ = blocks_of(self.config, step)
        settle = self.write_latency + 1
        begin = max(spill, self.ends[-1] + settle)
        self.drained = [begin + step.m * (block + 1) for block in range(blocks)]
        self.tile_ready = begin + step.m * blocks
        self.main = spill + TURN
        seen = self.tile_ready + timing.HAND
        cycles = finish_cycles(self.kernel, self.config, self.product, step)
        if is_first:
            seen = max(seen + timing.FIRST, self.begin + timing.STARTED)
        self.finished = seen + cycles
