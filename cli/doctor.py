"""``spica doctor``: what is installed, what is missing, how to get it."""

import importlib.metadata
import os
import platform
import re
import shutil
import sys
from dataclasses import asdict, dataclass

from ..hw.base.build_cache import cache_directory
from ..hw.base.errors import UserError
from ..kernels.compile import compiler_version
from ..sim.engine.compiler import find_compiler
from ..sim.engine.verilator_model import find_verilator
from .options import JsonOption, JsonOutput, new_table, standard_output

__all__ = ["doctor"]

MISSING = 2
#: What packages of an extra are for.
EXTRAS = {"fpga": "bitstreams", "dev": "tests"}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing looked for: what it is for, what was found, and how to get it if nothing was."""

    name: str
    purpose: str
    found: str | None
    remedy: str = ""
    required: bool = True

    @property
    def verdict(self) -> str:
        if self.found is not None:
            return "ok"
        return "missing" if self.required else "optional"


def package_findings() -> list[Finding]:
    """Look for every package Spica depends on."""
    findings = []
    for requirement in importlib.metadata.requires("spica") or []:
        name, _, marker = requirement.partition(";")
        package = re.split(r"[<>=~!\[( ]", name.strip())[0]
        if package == "spica":  # its tests need what its bitstreams do
            continue
        try:
            found = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found = None
        findings.append(
            Finding(
                name=package,
                purpose=next((what for of, what in EXTRAS.items() if of in marker), "Spica itself"),
                found=found,
                remedy=f"pip install '{name.strip()}'",
                required="extra" not in marker,
            )
        )
    return findings


def model_compiler() -> str:
    """Return the compiler of models."""
    compiler = find_compiler()
    return f"{compiler.version} ({' '.join(compiler.command)})"


def verilator() -> str:
    """Return the Verilator of models."""
    found = find_verilator()
    return f"{found.version} ({found.program})"


def program_compiler() -> str:
    """Return the compiler of programs for cores."""
    return f"ziglang {compiler_version()}"


def tool_findings() -> list[Finding]:
    """Look for the programs behind the engines."""
    findings = [
        Finding(
            name="Python",
            purpose="everything",
            found=f"{platform.python_version()}, {sys.executable}",
        )
    ]
    for name, purpose, look in (
        ("C++ compiler", "engines verilator and iss", model_compiler),
        ("Verilator", "engine verilator", verilator),
        ("C compiler for cores", "kernels and programs", program_compiler),
    ):
        try:
            found, remedy = look(), ""
        except UserError as error:
            found, remedy = None, str(error)
        findings.append(Finding(name=name, purpose=purpose, found=found, remedy=remedy))
    for program, purpose, remedy in (
        ("iverilog", "the cocotb test", "apt-get install iverilog"),
        ("gtkwave", "looking at traces", "apt-get install gtkwave, or any viewer of VCD"),
    ):
        findings.append(
            Finding(
                name=program,
                purpose=purpose,
                found=shutil.which(program),
                remedy=remedy,
                required=False,
            )
        )
    return findings


def cache_finding() -> Finding:
    """Look at the folder of built models."""
    folder = cache_directory()
    parent = next(part for part in (folder, *folder.parents) if part.exists())
    writable = parent.is_dir() and os.access(parent, os.W_OK)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return Finding(
        name="cache",
        purpose="built models and synthesis",
        found=f"{folder}, {size / 1e6:,.0f} MB" if writable else None,
        remedy=f"{folder} cannot be written: set SPICA_CACHE to a folder that can",
    )


def doctor(*, json: JsonOption = None) -> int:
    """Tell what is installed, what is missing and how to get it; exit code 2 if Spica lacks it."""
    findings = [*tool_findings(), cache_finding(), *package_findings()]
    missing = [finding for finding in findings if finding.verdict == "missing"]
    result = {
        "ready": not missing,
        "findings": [{**asdict(finding), "verdict": finding.verdict} for finding in findings],
    }
    with JsonOutput(json) as output:
        if output.write(result):
            show(findings, missing)
    return MISSING if missing else 0


def show(findings: list[Finding], missing: list[Finding]):
    """Print the table and a verdict."""
    table = new_table("What Spica finds here", "", "what", "for", "found, or how to get it")
    for finding in findings:
        table.add_row(
            finding.verdict, finding.name, finding.purpose, finding.found or finding.remedy
        )
    out = standard_output()
    out.print(table)
    if missing:
        out.print(f"Spica cannot run all it should: {len(missing)} missing.")
    else:
        out.print("Spica has all it needs.")
