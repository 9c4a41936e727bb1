"""Programs on the instruction-set model with checks, and such a run before one on the RTL."""

from typing import Any

from ...base.progress import Progress
from ...hw.config import MachineConfig
from ..harness.dram import DramConfig
from ..harness.stop_reason import StopReason
from ..iss.library import build_library
from ..iss.machine import Iss
from ..iss.outcome import Cause
from ..machine.stacks import core_of
from .iss_executor import IssExecutor
from .options import SimtOptions, with_memory

__all__ = ["MEMORY_CHECKS", "ModelCheck", "checked_model"]

#: Checks that include that of races, and that of memory.
RACE_CHECKS, MEMORY_CHECKS = ("all", "races"), ("all", "memory")

#: Limit of instructions, for which the RTL needs far longer.
LIMIT = 100_000_000
#: Faults that only the model reports, or reports in more words.
OF_MODEL = (Cause.RACE, Cause.DEVICE, Cause.STACK_EXCEEDED)


class ModelCheck(IssExecutor):
    """Executor of a program on the model that raises for findings of the checks only.

    The RTL reports all other faults itself.
    """

    @property
    def limit(self) -> int:
        """Limit of instructions: the RTL executes no more in its limit of cycles."""
        config = self.memory_layout.config
        width = config.cores * core_of(config).issue_width
        return min(LIMIT, self.options.max_cycles * width)

    def execute(
        self, sentence: str, progress: Progress | None, arguments: dict[str, Any], /
    ) -> bool:
        """Run; return whether the program ended. Raise `ProgramError` for findings."""
        outcome = self.advance(sentence.replace("running", "checking", 1), progress, self.limit)
        is_fault = outcome.fault is not None and outcome.fault.cause in OF_MODEL
        if is_fault or self.findings:
            raise self.error(outcome)
        is_whole = outcome.stop is not StopReason.LIMIT
        if not is_whole:
            self.notes = [
                f"the checks of accesses ended after {outcome.instructions:,} instructions"
            ]
        return is_whole


def checked_model(
    config: MachineConfig, options: SimtOptions, check: str, progress: Progress | None
) -> Iss:
    """Return the model of a machine with a check, one of `options.CHECKS`; build it."""
    build_library(progress=progress)
    return Iss(
        config,
        schedule=options.schedule,
        seed=options.seed,
        alone=not isinstance(with_memory(config, options).memory, DramConfig),
        checks_races=check in RACE_CHECKS,
        checks_memory=check in MEMORY_CHECKS,
    )
