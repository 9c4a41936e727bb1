"""Mutation test: each planted fault must fail a test.

Every mutant is one small edit of one file in a copy of the sources; the tests that guard it run
there. Files `faults.diff` beside the tests declare the mutants (`formal/faults.py`), each by its
name and fault. `make mutate` exits 1 if a mutant survives, or if its tests fail without it.
`--tier quick` runs those tests of the guarding files that `make test` runs, and exits 1 if fewer
than `QUICK_SHARE` of all mutants are killed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

from formal.faults import Fault, faults_of, misfits, plant
from formal.sources import ROOT, copy_sources

#: Share of mutants that the quick tests must kill.
QUICK_SHARE = 0.85
TIERS = ("full", "quick")
#: Exit code of pytest if a selection is empty.
NOTHING_SELECTED = 5


def mutants() -> list[Fault]:
    """Return all mutants, with the paths of their tests from the root."""
    return [
        replace(fault, guards=tuple(f"{path.parent.relative_to(ROOT)}/{t}" for t in fault.guards))
        for path in sorted((ROOT / "tests").rglob("faults.diff"))
        for fault in faults_of(path)
    ]


def name_of(mutant: Fault) -> str:
    """Return the name of a mutant, which precedes its fault."""
    return mutant.what.partition(": ")[0]


def guards(mutant: Fault, tier: str) -> tuple[str, ...]:
    """Return the tests that run with a mutant: those that guard it, or in quick all their files."""
    if tier == "full":
        return mutant.guards
    return tuple(dict.fromkeys(test.partition("::")[0] for test in mutant.guards))


def run_tests(sources: Path, tests: tuple[str, ...], tier: str) -> subprocess.CompletedProcess:
    """Run those of `tests` that belong to a tier against the sources below `sources`."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", f"--tier={tier}"]
    command += ["-p", "no:cacheprovider", "-p", "no:randomly"]
    command += [str(ROOT / test) for test in tests]
    environment = dict(os.environ, PYTHONPATH=str(sources), PYTHONDONTWRITEBYTECODE="1")
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=1800
    )


@cache
def healthy(tests: tuple[str, ...], tier: str) -> bool:
    """Return whether `tests` pass without any mutant."""
    with tempfile.TemporaryDirectory() as directory:
        copy_sources(Path(directory))
        return run_tests(Path(directory), tests, tier).returncode in (0, NOTHING_SELECTED)


def verdict(mutant: Fault, tier: str) -> dict:
    """Run the mutant's tests with and without it."""
    tests = guards(mutant, tier)
    with tempfile.TemporaryDirectory() as directory:
        sources = Path(directory)
        copy_sources(sources)
        plant(mutant, sources)
        try:
            broken = run_tests(sources, tests, tier)
            killed = broken.returncode == 1
            reason = next(
                (line for line in broken.stdout.splitlines() if line.startswith("FAILED")), ""
            )
        except subprocess.TimeoutExpired:
            killed, reason = True, "timed out"
    return {
        "mutant": name_of(mutant),
        "fault": mutant.what.partition(": ")[2],
        "tier": tier,
        "healthy": healthy(tests, tier),
        "killed": killed,
        "first_failure": reason,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="mutants to run; all by default")
    parser.add_argument("--json", type=Path, default=ROOT / "bench/results/mutation.json")
    parser.add_argument("--tier", choices=TIERS, default="full", help="tests that run")
    arguments = parser.parse_args()
    chosen = [
        mutant for mutant in mutants() if not arguments.names or name_of(mutant) in arguments.names
    ]
    if problems := misfits(chosen):
        print(*problems, sep="\n", file=sys.stderr)
        return 2
    results = []
    for mutant in chosen:
        result = verdict(mutant, arguments.tier)
        results.append(result)
        state = "killed" if result["killed"] else "SURVIVED"
        if not result["healthy"]:
            state = "TESTS FAIL WITHOUT IT"
        print(f"{state:>8}  {mutant.what}", flush=True)
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(results, indent=2) + "\n")
    good = sum(result["killed"] and result["healthy"] for result in results)
    print(f"{good} of {len(results)} mutants killed by {arguments.tier} tests")
    needed = QUICK_SHARE if arguments.tier == "quick" else 1
    return 0 if good >= needed * len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
