"""Benchmark of ways to rescale O in attention on a matrix unit.

Each step multiplies rows of O by their factors and adds P V: in the accumulator, or by the cores in
shared memory, from where O returns as D. Every run is checked bit by bit.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from spica import Machine
from spica.cli.options import new_table
from spica.hw.base.progress import Progress
from spica.sim.golden.matrix.systolic.systolic import systolic_ws

__all__ = ["measure", "tables"]

PRESET = "virgo"
PROGRAM = Path(__file__).with_suffix(".c")
#: Ways of the program, by the value of its macro `WAY`.
WAYS = {"scaled rows": 0, "D": 1}
OPTIONS = {"matrix.load_d": True}
#: Shape of P, V and O, and steps of a run; the first has no O yet.
SIZE, STEPS = 64, 8
#: Whether the unit also computes scores in each step.
SCORES = {False: "P V alone", True: "with scores"}


def measure(quick: bool, tell: Progress) -> Iterator[dict]:
    """Yield the result after every run."""
    rng = np.random.default_rng(1)
    p, v = (rng.normal(size=(SIZE, SIZE)).astype(np.float16) for _ in range(2))
    scales = rng.uniform(0.5, 1, size=(STEPS, SIZE)).astype(np.float32)
    machine = Machine(PRESET, set=OPTIONS, progress=False)
    rows = machine.config.units[0].rows
    expected = systolic_ws(p, v, rows)
    for step in range(1, STEPS):
        expected = systolic_ws(p, v, rows, expected * scales[step][:, None])
    result: dict = {"preset": PRESET, "settings": OPTIONS, "steps": STEPS, "runs": []}
    cases = [(way, scores) for scores in SCORES for way in WAYS]
    for done, (way, scores) in enumerate(cases):
        tell(f"running {way}", done, len(cases))
        run = machine.run(
            PROGRAM,
            args={"p": p, "v": v, "scales": scales, "o": np.zeros((SIZE, SIZE), np.float32)},
            expect={"o": expected},
            defines=(f"WAY={WAYS[way]}", f"SCORES={int(scores)}"),
            lockstep=not quick,
        )
        whole = run.to_dict()
        result["runs"].append({
            "way": way,
            "scores": scores,
            "cycles": run.cycles,
            "instructions": whole["instructions"],
            "counters": {
                name: run.counters[name]
                for name in ("matrix_active", "matrix_wait_a", "matrix_idle")
                if name in run.counters
            },
            "check": whole["check"],
        })
        yield result


def tables(result: dict) -> Iterator:
    """Yield the cycles and instructions of each way."""
    table = new_table(
        f"{result['steps']} steps of O = scaled O + P V, {SIZE} x {SIZE} x {SIZE}, "
        f"on {result['preset']}",
        "way",
        "beside",
        numbers=["cycles", "per step", "instructions", "cycles beyond scaled rows per step"],
    )
    least = {run["scores"]: run for run in result["runs"] if run["way"] == "scaled rows"}
    for run in result["runs"]:
        beyond = run["cycles"] - least[run["scores"]]["cycles"]
        table.add_row(
            run["way"],
            SCORES[run["scores"]],
            f"{run['cycles']:,}",
            f"{run['cycles'] / result['steps']:,.0f}",
            f"{run['instructions']['warp']:,}",
            f"{beyond / (result['steps'] - 1):,.0f}",
        )
    yield table
