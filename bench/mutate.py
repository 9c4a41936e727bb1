"""Mutation test: each planted fault must fail a test.

Every mutant is one small edit of one file in a copy of the sources; the tests that guard it run
there. `make mutate` exits 1 if a mutant survives, or if its tests fail without it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from formal.sources import ROOT, copy_sources, misfits, plant

from .mutants import MUTANTS, Mutant


def run_tests(sources: Path, tests: tuple[str, ...]) -> subprocess.CompletedProcess:
    """Run `tests` against the sources below `sources`."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header"]
    command += ["-p", "no:cacheprovider", "-p", "no:randomly"]
    command += [str(ROOT / test) for test in tests]
    environment = dict(os.environ, PYTHONPATH=str(sources), PYTHONDONTWRITEBYTECODE="1")
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=1800
    )


def stale(mutants: list[Mutant]) -> list[str]:
    """Return a message for each mutant whose `old` text is not exactly once in its source."""
    return misfits((mutant.name, mutant.inside, mutant.old) for mutant in mutants)


@cache
def healthy(tests: tuple[str, ...]) -> bool:
    """Return whether `tests` pass without any mutant."""
    with tempfile.TemporaryDirectory() as directory:
        copy_sources(Path(directory))
        return run_tests(Path(directory), tests).returncode == 0


def verdict(mutant: Mutant) -> dict:
    """Run the mutant's tests with and without it."""
    with tempfile.TemporaryDirectory() as directory:
        sources = Path(directory)
        copy_sources(sources)
        plant(mutant.inside, mutant.old, mutant.new, sources)
        try:
            broken = run_tests(sources, mutant.tests)
            killed = broken.returncode == 1
            reason = next(
                (line for line in broken.stdout.splitlines() if line.startswith("FAILED")), ""
            )
        except subprocess.TimeoutExpired:
            killed, reason = True, "timed out"
    return {
        "mutant": mutant.name,
        "fault": mutant.fault,
        "healthy": healthy(mutant.tests),
        "killed": killed,
        "first_failure": reason,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="mutants to run; all by default")
    parser.add_argument("--json", type=Path, default=ROOT / "bench/results/mutation.json")
    arguments = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if not arguments.names or mutant.name in arguments.names]
    if problems := stale(chosen):
        print(*problems, sep="\n", file=sys.stderr)
        return 2
    results = []
    for mutant in chosen:
        result = verdict(mutant)
        results.append(result)
        state = "killed" if result["killed"] else "SURVIVED"
        if not result["healthy"]:
            state = "TESTS FAIL WITHOUT IT"
        print(f"{state:>8}  {mutant.name}: {mutant.fault}", flush=True)
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(results, indent=2) + "\n")
    good = sum(result["killed"] and result["healthy"] for result in results)
    print(f"{good} of {len(results)} mutants killed")
    return 0 if good == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
