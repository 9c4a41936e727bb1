"""Formal proofs of small blocks: ``python -m formal [names]``, from the repository's root.

After each proof its faults are planted; each must make it fail. Exit code 1 if a proof does not
hold or a fault is not detected.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from spica.api.progress import ProgressDisplay
from spica.cli.options import new_table, standard_output

from .catalog import PROOFS
from .faults import misfits
from .proof import Proof
from .prover import SOLVER, Finding, end_all, missing_tools, prove

__all__ = ["carry_out", "main"]

FOLDER = Path(__file__).parents[1] / "build" / "formal"


def carry_out(
    proofs: Iterable[Proof], folder: Path, *, faults: bool, workers: int, progress: Callable
):
    """Yield the finding of each proof and, if `faults`, of each of its faults."""
    tasks = [
        (proof, fault) for proof in proofs for fault in (None, *(proof.faults if faults else ()))
    ]

    def find(task):
        proof, fault = task
        place = proof.name if fault is None else f"{proof.name}_{proof.faults.index(fault)}"
        return prove(proof, folder / place, fault)

    pool = ThreadPoolExecutor(workers)  # each worker waits for a process
    try:
        progress("proofs and faults", 0, len(tasks))
        for done, finding in enumerate(pool.map(find, tasks)):
            what = finding.fault.what if finding.fault else finding.proof.size
            progress(f"{finding.proof.name}: {what}: {finding.word}", done + 1, len(tasks))
            yield finding
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        end_all()
        raise
    finally:
        pool.shutdown()


def proof_table(findings: list[Finding], faults: bool):
    """Return the table of results."""
    numbers = ["depth", "s", "faults"] if faults else ["depth", "s"]
    table = new_table("Proofs", "", "proof", "property", "size", "engine", numbers=numbers)
    for finding in findings:
        proof = finding.proof
        if finding.fault is not None:
            continue
        planted = [other for other in findings if other.proof is proof and other.fault]
        detected = f"{sum(other.good for other in planted)} of {len(planted)}" if planted else ""
        engine = f"{SOLVER}, {'induction' if proof.induction else 'bounded'}"
        cells = [finding.status, proof.name, proof.says, proof.size, engine, str(proof.depth)]
        cells += [f"{finding.seconds:.1f}", *([detected] if faults else [])]
        table.add_row(*cells)
    return table


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    names = [proof.name for proof in PROOFS]
    parser = argparse.ArgumentParser(prog="python -m formal", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(names)}; or all")
    parser.add_argument("--no-faults", action="store_true", help="proofs only, without faults")
    parser.add_argument("--workers", type=int, default=2, help="parallel proofs; default: 2")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to FILE")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="folder of the traces")
    given = parser.parse_args(arguments)
    if unknown := [name for name in given.names if name not in names]:
        parser.error(f"name must be one of {', '.join(names)}, not {', '.join(unknown)}")
    if given.workers < 1:
        parser.error(f"workers must be at least 1, not {given.workers}")
    if missing := missing_tools():
        parser.error(f"proofs need {' and '.join(missing)}: pip install 'spica[dev]'")
    chosen = [proof for proof in PROOFS if not given.names or proof.name in given.names]
    if problems := misfits(fault for proof in chosen for fault in proof.faults):
        parser.error("; ".join(problems))
    faults, findings = not given.no_faults, []
    with ProgressDisplay() as progress:
        for finding in carry_out(
            chosen, given.folder, faults=faults, workers=given.workers, progress=progress
        ):
            findings.append(finding)
            if given.json:
                given.json.parent.mkdir(parents=True, exist_ok=True)
                text = json.dumps([finding.as_dict() for finding in findings], indent=2)
                given.json.write_text(text + "\n")
    standard_output().print(proof_table(findings, faults))
    bad = [finding for finding in findings if not finding.good]
    for finding in bad:
        what = f"fault {finding.fault.what!r}" if finding.fault else finding.proof.says
        print(f"{finding.proof.name}: {what}: {finding.word}; {finding.detail}", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
