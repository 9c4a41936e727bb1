"""Runs of kernels on presets with each field at the ends of its range, alone and in random pairs.

``python bench/config_ends.py FILE`` continues the record in FILE, a line of JSON for each run, and
prints a table of its outcomes. Each run passes, or is refused in one sentence with exit code 2. It
returns 1 if any run of the record did neither: it failed, hung until its limit, or broke off.
"""

import argparse
import contextlib
import io
import itertools
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from spica.cli.main import main as spica
from spica.hw.presets import PRESETS
from spica.hw.presets.ends import changes_to_ends
from spica.sim.run.options import MODEL

__all__ = ["SIZES", "changes", "main", "outcome_of", "record"]

#: Sizes of each kernel: several tiles of the smallest machines, and ragged ones.
SIZES = {"gemm": "72x40x104", "sgemm": "17", "attention": "16x64"}
#: Most warp instructions on the model, ten times those of the longest run of a preset; cycles and
#: seconds on the RTL, where `tiny_matrix` with 64 bytes of shared memory takes 1.6 million cycles.
LIMITS = {"instructions": 3_000_000, "cycles": 3_000_000, "seconds": 1800}
#: Exit codes of a run that a signal ended; the record continues with it another time.
ENDED = (130, 143)
#: Marks of a message that is no sentence about the machine.
NO_SENTENCE = ("SPICA_DEBUG", "Traceback", "does not compile")


def changes(preset: str, prefixes: list[str], pairs: int, seed: int) -> Iterator[tuple[str, ...]]:
    """Yield the settings of each run of a preset: its own, each end alone, then random pairs."""
    ends = list(changes_to_ends(PRESETS[preset]))
    chosen = [end for end in ends if not prefixes or end[0].startswith(tuple(prefixes))]
    if not prefixes:
        yield ()
    yield from ((f"{name}={value}",) for name, value in chosen)
    rng = random.Random(f"{preset} {seed}")
    every = [(a, b) for a, b in itertools.combinations(ends, 2) if a[0] != b[0]]
    for pair in rng.sample(every, min(pairs, len(every))):
        yield tuple(f"{name}={value}" for name, value in pair)


def arguments_of(preset: str, settings: tuple[str, ...], kernel: str, engine: str) -> list[str]:
    """Return the command line of a run."""
    words = ["run", kernel, "--preset", preset, "--size", SIZES[kernel], "--engine", engine]
    limit = "instructions" if engine == MODEL else "cycles"
    words += [f"--max-{limit}", str(LIMITS[limit])]
    return words + [part for setting in settings for part in ("--set", setting)]


def run(arguments: list[str], engine: str) -> tuple[int, str]:
    """Run a command line; return its exit code and its messages."""
    if engine == MODEL:  # in this process: a run takes less time than a start of Python
        messages = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(messages):
            code = spica(arguments)
        if code in ENDED:
            raise SystemExit(code)
        return code, messages.getvalue()
    command = [sys.executable, "-m", "spica.cli", *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=LIMITS["seconds"]
        )
    except subprocess.TimeoutExpired:
        return 1, f"spica: no end after {LIMITS['seconds']} seconds"
    return done.returncode, done.stderr


def outcome_of(code: int, messages: str) -> tuple[str, str]:
    """Return the outcome of a run and its message.

    ``pass``; ``refused`` in one sentence; ``unclear``, a refusal in other words; ``fail``, a wrong
    value or no end; ``broken``, an error of Spica itself.
    """
    if code == 0:
        return "pass", ""
    _, _, message = messages.rpartition("spica: ")
    message = message.strip()
    if code not in (1, 2) or any(mark in message for mark in NO_SENTENCE[:2]):
        return "broken", message
    if code == 1:
        return "fail", message
    is_sentence = "\n" not in message and NO_SENTENCE[2] not in message
    return "refused" if is_sentence else "unclear", message


def record(file: Path, given: argparse.Namespace) -> list[dict]:
    """Carry out every run that `file` does not hold yet; return all its records."""
    lines = file.read_text().splitlines() if file.exists() else []
    records = [json.loads(line) for line in lines]
    known = {key(entry) for entry in records}
    with file.open("a") as log:
        for preset in given.presets:
            for settings in changes(preset, given.fields, given.pairs, given.seed):
                for kernel in given.kernels:
                    engine = given.engine
                    if engine == MODEL and not PRESETS[preset].cores:
                        continue
                    one = {"preset": preset, "set": list(settings), "kernel": kernel}
                    one["engine"] = engine
                    if key(one) in known:
                        continue
                    began = time.perf_counter()
                    result = run(arguments_of(preset, settings, kernel, engine), engine)
                    one["outcome"], one["message"] = outcome_of(*result)
                    one["seconds"] = round(time.perf_counter() - began, 1)
                    print(one["outcome"], preset, *settings, kernel, one["message"][:200])
                    log.write(json.dumps(one) + "\n")
                    log.flush()
                    records.append(one)
    return records


def key(one: dict) -> tuple:
    """Return what identifies a run."""
    return one["preset"], tuple(one["set"]), one["kernel"], one["engine"]


def table(records: list[dict]) -> list[str]:
    """Return the outcomes by engine, preset and kernel as a table in Markdown."""
    outcomes = ("pass", "refused", "unclear", "fail", "broken")
    rows = [f"| engine | preset | kernel | {' | '.join(outcomes)} |", "|---" * 8 + "|"]
    groups = dict.fromkeys((entry["engine"], entry["preset"], entry["kernel"]) for entry in records)
    for group in groups:
        count = Counter(
            entry["outcome"]
            for entry in records
            if (entry["engine"], entry["preset"], entry["kernel"]) == group
        )
        cells = (*group, *(str(count[outcome]) for outcome in outcomes))
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def main() -> int:
    """Carry out the command line; return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="record of the runs")
    parser.add_argument("--presets", nargs="+", default=list(PRESETS), choices=PRESETS)
    parser.add_argument("--kernels", nargs="+", default=list(SIZES), choices=SIZES)
    parser.add_argument("--engine", default=MODEL, choices=(MODEL, "verilator", "amaranth"))
    parser.add_argument("--fields", nargs="+", default=[], help="beginnings of names of fields")
    parser.add_argument("--pairs", type=int, default=0, help="random pairs for each preset")
    parser.add_argument("--seed", type=int, default=1, help="seed of the pairs")
    given = parser.parse_args()
    records = record(given.file, given)
    print("\n".join(table(records)))
    return 0 if {entry["outcome"] for entry in records} <= {"pass", "refused"} else 1


if __name__ == "__main__":
    sys.exit(main())
