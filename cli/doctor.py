"""``spica doctor``: check of the installation, with a fix for every missing component."""

import importlib.metadata
import os
import platform
import re
import shutil
import sys
from dataclasses import asdict, dataclass
from typing import Annotated

from cyclopts import Parameter

from ..base.build_cache import cache_directory
from ..base.cache_contents import size_of
from ..base.compiler import find_compiler
from ..base.errors import UserError
from ..base.zig import compiler_version
from ..sim.engine.verilator_model import find_verilator
from .cache import Pruning, report_cache, show_cache
from .options import Flag, JsonOption, JsonOutput, new_table, standard_output

__all__ = ["doctor"]

CacheOption = Annotated[
    Flag, Parameter(help="Show the cache of builds: entries, sizes and last uses by kind.")
]
OlderOption = Annotated[
    str | None,
    Parameter(
        show_default=False,
        help="With --cache: remove entries last used longer ago, for example `30d`; units m h d w.",
    ),
]
SizeOption = Annotated[
    str | None,
    Parameter(
        show_default=False,
        help="With --cache: remove the entries with the oldest use until the others take at most "
        "this size, for example `2GB`; units KB MB GB TB.",
    ),
]

MISSING = 2
#: Purpose of the packages of an extra.
EXTRAS = {"fpga": "bitstreams", "plots": "charts of frames", "sweep": "sweeps", "dev": "tests"}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Component of the installation: purpose, version found, and the fix if it is missing."""

    name: str
    purpose: str
    installed: str | None
    remedy: str = ""
    required: bool = True

    @property
    def verdict(self) -> str:
        if self.installed is not None:
            return "ok"
        return "missing" if self.required else "optional"


def package_findings() -> list[Finding]:
    """Return the findings for all packages that Spica depends on."""
    findings = []
    for requirement in importlib.metadata.requires("spica") or []:
        name, _, marker = requirement.partition(";")
        package = re.split(r"[<>=~!\[( ]", name.strip())[0]
        if package == "spica":  # the extra `dev` includes `fpga`
            continue
        try:
            version = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            version = None
        findings.append(
            Finding(
                name=package,
                purpose=next((what for of, what in EXTRAS.items() if of in marker), "Spica"),
                installed=version,
                remedy=f"pip install '{name.strip()}'",
                required="extra" not in marker,
            )
        )
    return findings


def model_compiler() -> str:
    """Return the C++ compiler of simulation models."""
    compiler = find_compiler()
    return f"{compiler.version} ({' '.join(compiler.command)})"


def verilator() -> str:
    """Return the Verilator of simulation models."""
    tool = find_verilator()
    return f"{tool.version} ({tool.program})"


def program_compiler() -> str:
    """Return the compiler of programs for the cores."""
    return f"ziglang {compiler_version()}"


def tool_findings() -> list[Finding]:
    """Return the findings for the tools of engines and tests."""
    findings = [
        Finding(
            name="Python",
            purpose="Spica",
            installed=f"{platform.python_version()}, {sys.executable}",
        )
    ]
    for name, purpose, find in (
        ("C++ compiler", "engines verilator, iss", model_compiler),
        ("Verilator", "engine verilator", verilator),
        ("C compiler for cores", "kernels, programs", program_compiler),
    ):
        try:
            installed, remedy = find(), ""
        except UserError as error:
            installed, remedy = None, str(error)
        findings.append(Finding(name=name, purpose=purpose, installed=installed, remedy=remedy))
    for program, purpose, remedy in (
        ("iverilog", "cocotb test", "apt-get install iverilog"),
        ("chromium", "tests of HTML pages", "apt-get install chromium"),
        ("gtkwave", "waveforms", "apt-get install gtkwave, or another VCD viewer"),
    ):
        findings.append(
            Finding(
                name=program,
                purpose=purpose,
                installed=shutil.which(program),
                remedy=remedy,
                required=False,
            )
        )
    return findings


def cache_finding() -> Finding:
    """Return the finding for the cache folder."""
    folder = cache_directory()
    parent = next(part for part in (folder, *folder.parents) if part.exists())
    writable = parent.is_dir() and os.access(parent, os.W_OK)
    size = size_of(folder)
    return Finding(
        name="cache",
        purpose="built models, synthesis",
        installed=f"{folder}, {size / 1e6:,.0f} MB" if writable else None,
        remedy=f"{folder} is not writable; set SPICA_CACHE to a writable folder",
    )


def doctor(
    *,
    cache: CacheOption = False,
    prune_older: OlderOption = None,
    prune_to: SizeOption = None,
    json: JsonOption = None,
) -> int:
    """Check the installation; exit code 2 if a required component is missing.

    With ``--cache``, show and prune the cache of builds instead.
    """
    pruning = Pruning.of(prune_older, prune_to)
    if cache:
        return doctor_of_cache(pruning, json)
    if pruning.is_requested:
        raise UserError("--prune-older and --prune-to need --cache")
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


def doctor_of_cache(pruning: Pruning, json: str | None) -> int:
    """Show and prune the cache."""
    with JsonOutput(json) as output:
        result = report_cache(pruning)
        if output.write(result):
            show_cache(result)
    return 0


def show(findings: list[Finding], missing: list[Finding]):
    """Print the table and the conclusion."""
    table = new_table("Installation", "status", "component", "used for", "version, or fix")
    for finding in findings:
        table.add_row(
            finding.verdict, finding.name, finding.purpose, finding.installed or finding.remedy
        )
    out = standard_output()
    out.print(table)
    if missing:
        fixes = "; ".join(f"{finding.name} ({finding.remedy})" for finding in missing)
        out.print(f"Not ready, missing: {fixes}", markup=False, soft_wrap=True)
    else:
        out.print("Ready: every required component is installed.")
