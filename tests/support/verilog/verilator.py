"""Lint of files by the Verilator of the project, as a user calls it."""

import os
import subprocess
from pathlib import Path

from spica.sim.engine.verilator_model import find_verilator

__all__ = ["verilator_complaints"]


def verilator_complaints(*options: str, folder: Path) -> str:
    """Return all messages of ``verilator --lint-only`` in a folder; empty if it accepts."""
    verilator = find_verilator()
    run = subprocess.run(
        [str(verilator.program), "--lint-only", *options],
        cwd=folder,
        env=os.environ | {"VERILATOR_ROOT": str(verilator.root)},
        capture_output=True,
        text=True,
        check=False,
    )
    return run.stderr or (f"exit code {run.returncode}" if run.returncode else "")
