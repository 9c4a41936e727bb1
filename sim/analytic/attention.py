"""Analytic model of ``attention`` on a matrix unit: cycles from config and schedule."""

from dataclasses import dataclass, replace

from ...hw.base.errors import UserError
from ...hw.config import PRESETS, ClusterConfig
from ...kernels.attention.problem import AttentionProblem
from ..harness.dram import DramConfig
from .attention_program import COMMAND, PROGRAMS, SCORES, ProgramCycles
from .attention_steps import AttentionStep, attention_steps

__all__ = ["DEPTH", "LEAST", "TERMS", "WHAT", "AttentionPrediction", "predict_attention"]

#: The model in messages.
WHAT = "the analytic model of attention"
#: Head dimension whose cycles of the program were measured.
DEPTH = 64
#: Least sizes; smaller loads shorten the begin.
LEAST = {"queries": 16, "keys": 64}
#: Parts of the cycles, each with its meaning.
TERMS = {
    "begin": "begin marker to the first row of the first scores",
    "multiply": "rows of K, of P and of zeros enter the array",
    "wait_operands": "array waits for rows, scales of rows or weights within products",
    "wait_cores": "no product is commanded: the cores compute a softmax, mask or change the block",
    "end": "last row to the end marker",
}


@dataclass(frozen=True, kw_only=True)
class AttentionPrediction:
    """Predicted cycles from the begin marker to the end marker, and the exact rows of products.

    Parameters
    ----------
    cycles : int
        Sum of `terms`.
    terms : dict
        Cycles by cause, by the names of `TERMS`.
    active : int
        Cycles in which a row enters the array.

    """

    cycles: int
    terms: dict[str, int]
    active: int


def predict_attention(
    config: ClusterConfig, problem: AttentionProblem, memory: DramConfig | None = None
) -> AttentionPrediction:
    """Return the predicted cycles of attention on a preset.

    Parameters
    ----------
    config : ClusterConfig
        The machine, one of the presets in `attention_program.PROGRAMS`.
    problem : AttentionProblem
        Sizes, heads and mask.
    memory : DramConfig or None
        Timing of DRAM; None for the default, which is the measured one.

    Raises
    ------
    UserError
        If the cycles of the program were not measured.

    """
    program = program_of(config)
    if problem.depth != DEPTH:
        raise UserError(f"{WHAT} needs depth {DEPTH}, not {problem.depth}")
    for name, least in LEAST.items():
        if getattr(problem, name) < least:
            raise UserError(f"{WHAT} needs {least} {name} or more, not {getattr(problem, name)}")
    if problem.overwrites:
        raise UserError(f"{WHAT} needs an O that accumulates, not overwrites=True")
    usual = DramConfig()
    if replace(memory or usual, seed=usual.seed) != usual:
        raise UserError(f"{WHAT} needs the default timing of DRAM, not {memory}")
    steps = list(attention_steps(config, problem))
    terms = terms_of(program, steps)
    return AttentionPrediction(cycles=sum(terms.values()), terms=terms, active=terms["multiply"])


def program_of(config: ClusterConfig) -> ProgramCycles:
    """Return the cycles of the program of a preset; raise `UserError` for other machines."""
    for name, program in PROGRAMS.items():
        if PRESETS[name] == config:
            return program
    raise UserError(f"{WHAT} needs a preset without changes, {' or '.join(PROGRAMS)}")


def terms_of(program: ProgramCycles, steps: list[AttentionStep]) -> dict[str, int]:
    """Return cycles by term: the unit and the cores alternate as in the program.

    After the meeting of a step the unit divides O of the block before, if a block begins, computes
    the scores of the step after the next, then P V of the step. The next meeting is when the cores
    have the next powers and those scores are in shared memory.
    """
    free = float(program.begin)  # when the array has no more rows
    waited, stalled, multiplied = 0.0, 0.0, 0

    def multiply(rows: int, ready: float) -> float:
        nonlocal free, waited, stalled, multiplied
        start = max(free, ready)
        waited += start - free
        stalled += rows * program.stall
        multiplied += rows
        free = start + rows * (1 + program.stall)
        return free + SCORES

    meeting = multiply(steps[0].scores, free)
    seen = multiply(steps[1].scores, free) if len(steps) > 1 else meeting
    division = 0  # rows of the product that divides O of the block before
    for number, step in enumerate(steps):
        meeting = max(meeting + cores_cycles(program, step, number), seen)
        ready = meeting + COMMAND
        if division and step.is_first:
            multiply(division, ready)
        if number + 2 < len(steps):
            seen = multiply(steps[number + 2].scores, ready)
        multiply(step.output, ready)
        division = step.division
    multiply(division, meeting + 2 * COMMAND)
    return {
        "begin": program.begin,
        "multiply": multiplied,
        "wait_operands": round(stalled),
        "wait_cores": round(waited),
        "end": program.end,
    }


def cores_cycles(program: ProgramCycles, step: AttentionStep, number: int) -> int:
    """Return the cycles of the cores from one meeting to the next, which ends step `number`."""
    return (
        program.softmax
        + program.first * step.is_first
        + program.turn * (step.is_first and number > 0)
        + program.mask * step.is_masked
    )
