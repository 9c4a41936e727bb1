"""Lint waivers of the emitted Verilog: what Verilator's -Wall reports and is meant so."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ..artifacts import generator

__all__ = ["WAIVERS", "LintWaiver", "waiver_file"]


@dataclass(frozen=True, kw_only=True)
class LintWaiver:
    """Messages of Verilator that all designs are known to cause.

    Parameters
    ----------
    rule : str
        Name of the message, for example ``WIDTHTRUNC``.
    reason : str
        A sentence that says why the code is right.

    """

    rule: str
    reason: str


#: Waivers of all emitted designs.
WAIVERS = (LintWaiver(rule="DECLFILENAME", reason="All modules of a design are in one file."),)


def waiver_file(name: str, files: Collection[str], waivers: Sequence[LintWaiver] = WAIVERS) -> str:
    """Return Verilator's control file of a design; it waives nothing in other files.

    Parameters
    ----------
    name : str
        Name of the design.
    files : collection of str
        Names of its Verilog files.
    waivers : sequence of LintWaiver
        Rules to waive in them.

    """
    lines = [
        "`verilator_config",
        f"// {generator()}: lint waivers of the cluster {name}, for Verilator.",
    ]
    for waiver in waivers:
        lines += ["", f"// {waiver.reason}"]
        lines += [f'lint_off -rule {waiver.rule} -file "*{file}"' for file in files]
    return "\n".join(lines) + "\n"
