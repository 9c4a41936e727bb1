"""Netlists of a proof's block, from the RTL or from a copy with a planted fault."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from threading import Lock

from amaranth.back import rtlil  # pyright: ignore[reportAttributeAccessIssue]  # no stub

from .faults import Fault, plant
from .proof import Proof
from .sources import ROOT, copy_sources

__all__ = ["netlist_of"]

#: Amaranth's signal counter is shared by all threads.
ONE_AT_A_TIME = Lock()


def convert(proof: Proof, related: bool) -> tuple[str, dict[str, str]]:
    """Return the RTLIL, and the path of each input that is a register of the block."""
    with ONE_AT_A_TIME:
        block = proof.make()
        block.related = related
        inside = {name: path for name, (path, _) in block.inside.items()}
        return rtlil.convert(block, name="top"), inside if related else {}


def netlist_of(proof: Proof, fault: Fault | None) -> tuple[str, dict[str, str]]:
    """Return the result of `convert`; with a fault, only for externally visible properties."""
    if fault is None:
        return convert(proof, proof.induction)
    with tempfile.TemporaryDirectory() as name:
        copy_sources(Path(name))
        plant(fault, Path(name))
        done = subprocess.run(
            [sys.executable, "-m", "formal.emission", proof.name],
            cwd=ROOT,
            env=dict(os.environ, PYTHONPATH=name, PYTHONDONTWRITEBYTECODE="1"),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(
            f"with fault {fault.what!r} {proof.name} emits nothing: {last_line(done)}"
        )
    netlist, inside = json.loads(done.stdout)
    return netlist, inside


def last_line(done: subprocess.CompletedProcess) -> str:
    """Return the last line of a process's error output."""
    return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]


def main():
    """Print the result of `convert` for the proof named on the command line."""
    from .catalog import PROOFS  # the catalog of all proofs; a prover imports this module

    (proof,) = [proof for proof in PROOFS if proof.name == sys.argv[1]]
    json.dump(convert(proof, related=False), sys.stdout)


if __name__ == "__main__":
    main()
