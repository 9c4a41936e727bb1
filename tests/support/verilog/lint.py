"""Lint of an emission with Verilator."""

import os
import subprocess
import tempfile
from pathlib import Path

from spica.hw.emit.emission import Emission
from spica.hw.machine.package.lint_waivers import waiver_file
from spica.sim.engine.verilator_model import find_verilator

__all__ = ["lint"]


def lint(emission: Emission) -> list[str]:
    """Return every warning and error of ``verilator --lint-only -Wall``, one line each.

    The exceptions, each with its reason, are the waivers that users get with the files.
    """
    verilator = find_verilator()
    with tempfile.TemporaryDirectory(prefix="spica-lint-") as name:
        source = Path(name) / f"{emission.name}.v"
        source.write_text(emission.verilog + emission.sram_models)
        waivers = source.with_suffix(".vlt")
        waivers.write_text(waiver_file(emission.name, [source.name]))
        run = subprocess.run(
            [
                str(verilator.program),
                "--lint-only",
                "-Wall",
                "--top-module",
                emission.name,
                str(waivers),
                str(source),
            ],
            capture_output=True,
            text=True,
            env=os.environ | {"VERILATOR_ROOT": str(verilator.root)},
            check=False,
        )
        lines = [line for line in run.stderr.splitlines() if line.startswith("%")]
        if run.returncode and not lines:
            lines = [f"verilator ended with exit code {run.returncode}"]
        return [line.replace(f"{source}:", "") for line in lines]
