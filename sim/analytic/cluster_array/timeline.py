"""Timeline of ``gemm`` commanded by two warps of a core: loads, computes and stores by step."""

import math
from collections.abc import Sequence

from ....hw.config import MachineConfig
from ....hw.matrix.systolic.dataflows import dataflow_of
from ....kernels.gemm.cluster_array.tiles import program_tiles
from ....kernels.gemm.problem import GemmProblem
from ....kernels.gemm.target import systolic_unit
from ...harness.dram import DramConfig
from . import program as timing
from .drain import drain_profile
from .loads import LoadTimeline
from .program_steps import ProgramStep
from .tiles import blocks_of, step_loads, step_stores

__all__ = ["TERMS", "Timeline"]

#: Parts of the cycles in the order of time, each with its meaning.
TERMS = {
    "begin": "begin marker to the start of the first load",
    "first_load": "loads of the first step",
    "first_compute": "end of these loads to the first row: wake-up, command, first weights",
    "multiply": "rows of A enter the array, or it waits for weights of short passes",
    "wait_loads": "array waits for loads of a later step",
    "wait_commands": "array waits for a later command",
    "wait_drain": "array waits for the drain of the last tile of C",
    "store": "last row of A to the last write response",
    "end": "last write response to the end marker",
}


class Timeline:
    """Timeline of one product; all times are cycles after the begin marker.

    A step multiplies when its command has arrived and the array is free. Its command follows its
    loads and the compute two steps before it, which the commanding warp awaits, and the commands
    before it. The loading warp queues the loads of a step when slots are free. The store of a
    tile of C begins in its last column block and overlaps the next compute.

    Parameters
    ----------
    config : MachineConfig
    product : GemmProblem
    memory : DramConfig
    steps : sequence of ProgramStep

    """

    def __init__(
        self,
        config: MachineConfig,
        product: GemmProblem,
        memory: DramConfig,
        steps: Sequence[ProgramStep],
    ):
        self.config, self.product, self.memory, self.steps = config, product, memory, steps
        self.unit = systolic_unit(config)
        unit, flow = self.unit, dataflow_of(self.unit)
        #: From the last row of a compute to the write of its sums.
        self.write_latency = flow.write_latency(unit) + unit.add_latency
        #: Least cycles of a pass: the weights of the next one enter the array meanwhile.
        self.least_pass = max(unit.rows, 1 + (unit.rows - 1) * (unit.element_latency - 1))
        self.most_loads = program_tiles(config).loads
        self.loads = LoadTimeline(config, memory)
        self.needed: list[int] = []  # loads that each step and those before it need
        self.ends: list[int] = []  # of the last rows of computes
        self.begin = round(
            timing.BEGIN + memory.latency + timing.BEGIN_BYTES / memory.bytes_per_cycle
        )
        self.loader = 0  # when the loading warp is ready
        self.main = 0  # when the commanding warp waits for the next step
        self.stored = 0  # command of the last store
        self.response = 0  # last write response
        self.drained: list[float] = []  # when each column block of the last tile is read
        self.terms = dict.fromkeys(TERMS, 0)

    def run(self) -> dict[str, int]:
        """Return the cycles of the product by term."""
        self.queue_loads(self.steps[0], self.begin, timing.SECOND_LOAD)
        for number, step in enumerate(self.steps):
            first = self.first_command() if number == 0 else None
            if number + 1 < len(self.steps):
                self.load(self.steps[number + 1])
            command = self.command(number) if first is None else first
            self.multiply(step, command, number)
            self.complete(step, command, number)
        self.close()
        return self.terms

    def close(self):
        """Set the terms after the last row of A."""
        seen = max(self.stored + timing.FENCE, self.response + timing.WAKE)
        self.terms["store"] = self.response - self.ends[-1]
        self.terms["end"] = seen + timing.END - self.response

    def queue_loads(self, step: ProgramStep, issue: int, interval: int) -> int:
        """Queue the loads of a step, the first at `issue`; return their number."""
        loads = step_loads(self.config, self.product, step)
        for number, (load, bank) in enumerate(loads):
            self.loads.add(load, issue + number * interval, bank)
        self.needed.append((self.needed[-1] if self.needed else 0) + len(loads))
        return len(loads)

    def load(self, step: ProgramStep):
        """Queue the loads of a later step when its slots and the queue of the DMA are free."""
        count = step.loads_a + step.loads_b
        issue = self.loader
        if count and step.after:
            issue = max(issue, self.ends[step.after - 1] + self.write_latency + timing.WAKE)
        full = self.needed[-1] + count - self.most_loads
        if count and full > 0:
            issue = max(issue, self.loads.done(full - 1) + timing.WAKE)
        self.queue_loads(step, issue, timing.LOADER_LOAD)
        if count:
            turn = timing.LOADER_TURN if step.last else timing.LOADER_STEP
            self.loader = issue + count * timing.LOADER_LOAD + turn

    def first_command(self) -> int:
        """Return when the first compute is commanded."""
        loaded = self.loads.done(self.needed[0] - 1)
        first_wait = timing.FIRST_WAIT_ALONE if len(self.steps) == 1 else timing.FIRST_WAIT
        command = max(self.begin + first_wait, loaded + timing.WAKE)
        command += timing.FIRST_COMMAND
        self.loader = self.begin + timing.LOADER_BEGIN
        if self.steps[0].last:
            self.loader += timing.LOADER_TURN - timing.LOADER_STEP
        self.terms["begin"] = self.begin
        self.terms["first_load"] = loaded - self.begin
        self.terms["first_compute"] = command - loaded
        return command

    def command(self, number: int) -> int:
        """Return when the compute of a later step is commanded."""
        place = self.main + timing.NO_WAIT
        if number > 1:
            place = max(place, self.ends[number - 2] + self.write_latency + timing.WAKE)
        loaded = self.loads.done(self.needed[number] - 1) + timing.WAKE
        return max(place + timing.PLACE, loaded) + timing.COMMAND

    def multiply(self, step: ProgramStep, command: int, number: int):
        """Append the end of a compute; account for the cycles before it."""
        blocks, slabs = blocks_of(self.config, step)
        length = max(step.m, self.least_pass)
        start = command + self.unit.rows + timing.PRELOAD
        if number == 0:
            self.terms["first_compute"] += start - command
        else:
            free = self.ends[-1]
            start = max(free, start)
            loaded = self.loads.done(self.needed[number] - 1)
            waited = min(start - free, max(0, loaded - free))
            self.terms["wait_loads"] += waited
            self.terms["wait_commands"] += start - free - waited
        end = start
        for block in range(blocks):
            if not step.accumulates and self.drained:
                # The first pass overwrites rows only after they were read.
                read = math.ceil(self.drained[min(block, len(self.drained) - 1)])
                stall = max(0, read - end - length)
                self.terms["wait_drain"] += stall
                end += stall
            end += length * slabs
        self.terms["multiply"] += length * blocks * slabs
        self.ends.append(end)

    def complete(self, step: ProgramStep, command: int, number: int):
        """Command the store of a complete tile; set when the commanding warp is ready."""
        resize = 0
        if number + 1 < len(self.steps):
            following = self.steps[number + 1]
            is_same = (step.m, step.n, step.depth) == (following.m, following.n, following.depth)
            resize = 0 if is_same else timing.RESIZE
        plan = 0
        if number == 0:
            shared = max(0, timing.LOADER_PLAN - (command - self.begin))
            plan = timing.PLAN + timing.PLAN_SHARED * shared // 100
        if not step.last:
            self.main = command + (plan or timing.STEP) + resize
            return
        self.stored = command + (plan or timing.STORE)
        if len(self.steps) == 1:
            self.stored = command + timing.STORE_ALONE
        self.main = self.stored + timing.TURN + resize
        self.drain(step)

    def drain(self, step: ProgramStep):
        """Drain the tile of C of the last compute after the one before it is stored."""
        blocks, slabs = blocks_of(self.config, step)
        end, length = self.ends[-1], max(step.m, self.least_pass)
        profile = drain_profile(step_stores(self.config, self.product, step), self.memory.latency)
        # The sums of the last row are written `settle` cycles after it.
        settle = self.write_latency + 1
        ready = max(self.stored, self.response)
        begin = max(ready, end + 2 + max(0, settle - step.m * blocks))
        early = max(ready, self.loads.busy_until, end + 2 - min(slabs, blocks) * length)
        if blocks > 1 and early < end:
            begin = early
        self.drained = [begin + offset for offset in profile.read]
        if begin < end:
            # The last column block is complete later than the others are read.
            pause = max(0.0, end + 2 + max(0, settle - step.m) - self.drained[-2])
            rest = max(profile.read[-1] - profile.read[-2] - pause, profile.alone)
            self.drained[-1] = self.drained[-2] + pause + rest
        written = max(
            self.drained[-1] + profile.tail + timing.DRAIN_RESPONSE,
            self.stored + timing.STORE_LEAST,
        )
        self.response = round(written + self.memory.latency)
