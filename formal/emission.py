"""Netlists of a proof's block, from the RTL or from a copy with a planted fault."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from threading import Lock

from amaranth.back import rtlil  # pyright: ignore[reportAttributeAccessIssue]  # no stub

from .proof import Fault, Proof

__all__ = ["netlist_of", "plant", "stale"]

ROOT = Path(__file__).parents[1]
#: Amaranth's signal counter is shared by all threads.
ONE_AT_A_TIME = Lock()


def stale(proofs: Iterable[Proof]) -> list[str]:
    """Return a message for each fault whose `old` text is not exactly once in its file."""
    found = {
        fault: (ROOT / fault.file).read_text().count(fault.old)
        for proof in proofs
        for fault in proof.faults
    }
    return [
        f"the text that fault {fault.what!r} replaces must be in {fault.file} once, not {times} "
        "times"
        for fault, times in found.items()
        if times != 1
    ]


def plant(fault: Fault, target: Path):
    """Copy the RTL into `target`, with the fault."""
    shutil.copytree(ROOT / "hw", target / "hw", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "__init__.py", target)
    path = target / fault.file
    path.write_text(path.read_text().replace(fault.old, fault.new))


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
        plant(fault, Path(name, "spica"))
        module = proof.kind.__module__.rpartition(".")[2]
        done = subprocess.run(
            [sys.executable, "-m", "formal.emission", module, proof.name],
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
    """Print the result of `convert` for a proof, given by module and name."""
    proofs = import_module(f"formal.{sys.argv[1]}").PROOFS
    (proof,) = [proof for proof in proofs if proof.name == sys.argv[2]]
    json.dump(convert(proof, related=False), sys.stdout)


if __name__ == "__main__":
    main()
