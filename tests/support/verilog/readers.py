"""Checks that other tools can read the emitted Verilog: Icarus Verilog and Yosys."""

import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from spica.base.errors import UserError
from spica.hw.emit.emission import Emission
from spica.synth.yosys import YosysError, run_yosys

__all__ = ["icarus_complaints", "run_icarus", "yosys_complaints"]

CHECK = """\
read_verilog {files}
hierarchy -check -top {top}
proc
check -assert
"""
SECONDS = 300


def sources(emission: Emission) -> dict[str, str]:
    """Return the Verilog files of an emission."""
    files = {f"{emission.name}.v": emission.verilog}
    if emission.srams is not None:
        files[f"{emission.name}_sram.v"] = emission.sram_models
    return files


def call(command: list[str], directory: str) -> subprocess.CompletedProcess:
    """Run an Icarus program."""
    if shutil.which(command[0]) is None:
        raise UserError(f"{command[0]} is not installed; install it by: apt-get install iverilog")
    return subprocess.run(
        command, cwd=directory, capture_output=True, text=True, timeout=SECONDS, check=False
    )


def icarus_complaints(emission: Emission, standard: str) -> list[str]:
    """Return the messages of Icarus Verilog for an emission, by standard (``2005``, ``2012``)."""
    files = sources(emission)
    with tempfile.TemporaryDirectory(prefix="spica-icarus-") as directory:
        for name, text in files.items():
            (Path(directory) / name).write_text(text)
        command = ["iverilog", f"-g{standard}", "-Wall", "-t", "null", "-s", emission.name, *files]
        run = call(command, directory)
    lines = run.stderr.splitlines()
    return lines or ([f"exit code {run.returncode}"] if run.returncode else [])


def yosys_complaints(emission: Emission) -> list[str]:
    """Return the problems that Yosys finds in an emission's modules and wires."""
    files = sources(emission)
    try:
        run_yosys(CHECK.format(files=" ".join(files), top=emission.name), files, [])
    except YosysError as error:
        return str(error).splitlines()
    return []


def run_icarus(files: Mapping[str, str], top: str) -> str:
    """Simulate in Icarus Verilog until the end; return its output.

    Parameters
    ----------
    files : mapping
        Texts by file name; those ending in ``.v`` are compiled.
    top : str
        Module to simulate.

    """
    with tempfile.TemporaryDirectory(prefix="spica-icarus-") as directory:
        for name, text in files.items():
            (Path(directory) / name).write_text(text)
        compiled = [name for name in files if name.endswith(".v")]
        for command in (
            ["iverilog", "-g2005", "-s", top, "-o", "simulation", *compiled],
            ["vvp", "-n", "simulation"],
        ):
            run = call(command, directory)
            if run.returncode:
                raise UserError(f"{command[0]} failed: {run.stderr or run.stdout}")
    return run.stdout
