"""Choice of the Verilated model of a run: in one piece, or composed of block models."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...base.errors import UserError
from ...hw.config import MachineConfig
from .options import BUILDS, RunOptions

__all__ = ["LONG", "Work", "composed", "expected_cycles"]

#: Expected cycles from which the build of a faster model takes less time than it saves. A model in
#: one piece takes at least 20 s longer to build after a change, and saves 1.5 to 4 us per cycle.
LONG = 5_000_000
#: Cycles of a lane per arithmetic operation: 1 for `sgemm` on `core`, 5 for `vecadd`.
OPERATION = 4


@dataclass(frozen=True)
class Work:
    """Arithmetic of a run.

    Parameters
    ----------
    operations : int
        Arithmetic operations of the cores, if no matrix unit works.
    macs : sequence of int
        Multiply-adds of each matrix unit.

    """

    operations: int
    macs: Sequence[int] = ()


def expected_cycles(config: MachineConfig, work: Work) -> float:
    """Return a rough estimate of the length of a run, in cycles."""
    if any(work.macs):
        return max(macs / unit.macs for macs, unit in zip(work.macs, config.units, strict=False))
    assert config.core is not None, "a run without multiply-adds has cores"
    return OPERATION * work.operations / (config.cores * config.core.threads)


def composed(config: MachineConfig, options: RunOptions, work: Work | None) -> bool:
    """Return whether the model of a run is composed of block models.

    They are built faster than a model in one piece if any of them is in the cache, and run faster
    where several cores work: those execute the same code. Elsewhere the model in one piece is
    faster (`bench models`). A resumed run takes the model of its checkpoint.

    Parameters
    ----------
    config : MachineConfig
        Machine of the run.
    options : RunOptions
        Options of the run.
    work : Work or None
        Arithmetic of the run; None if it is not known.

    """
    if options.build not in (None, *BUILDS):
        raise UserError(f"build must be one of {', '.join(BUILDS)}, not {options.build!r}")
    if options.waveform is not None:
        return bool(options.trace_samples)
    if options.build is None and options.saving.restored is not None:
        return options.saving.restored.snapshot.machine.get("model") == "blocks"
    if options.build == "quick":
        return True
    faster = config.cores > 1 and (work is None or not any(work.macs))
    if options.build == "fast":
        return faster
    return faster or work is None or expected_cycles(config, work) < LONG
