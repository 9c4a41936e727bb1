"""Analytic model of ``attention`` on a matrix unit: steps of the unit and of the cores."""

from ....hw.config import ClusterConfig
from ....kernels.attention.problem import AttentionProblem
from ..work import Traffic
from .levels import CachedWork
from .matrix_fed_program import COMMAND, PROGRAMS, SCORES, ProgramCycles
from .matrix_fed_steps import AttentionStep, attention_steps
from .matrix_fed_traffic import traffic_of

__all__ = ["PROGRAMS", "TERMS", "described"]

#: Parts of the cycles, each with its meaning.
TERMS = {
    "begin": "begin marker to the first row of the first scores",
    "multiply": "rows of K, of P and of zeros enter the array",
    "wait_operands": "array waits for rows, scales of rows or weights within products",
    "wait_cores": "no product is commanded: the cores compute a softmax, mask or change the block",
    "end": "last row to the end marker",
}


def described(
    config: ClusterConfig, program: ProgramCycles, problem: AttentionProblem
) -> tuple[dict[str, int], Traffic, CachedWork]:
    """Return the cycles by term, the exact work, and that of the cores through their caches."""
    steps = list(attention_steps(config, problem))
    return terms_of(program, steps), traffic_of(config, problem, steps), CachedWork()


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
