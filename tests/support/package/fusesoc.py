"""FuseSoC as a user runs it, with the Verilator of the project."""

import os
import subprocess
import sys
from pathlib import Path

from spica.sim.engine.verilator_model import find_verilator

__all__ = ["run_fusesoc"]


def run_fusesoc(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command ``fusesoc`` in a folder, which also stands in for the home directory."""
    verilator = find_verilator()
    programs = folder / "programs"
    if not programs.exists():
        programs.mkdir()
        (programs / "verilator").symlink_to(verilator.program)
    return subprocess.run(
        [str(Path(sys.executable).with_name("fusesoc")), *arguments],
        cwd=folder,
        env=os.environ
        | {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "VERILATOR_ROOT": str(verilator.root),
            "HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder / "config"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
