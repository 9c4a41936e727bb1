"""Lint waivers of the emitted Verilog: what Verilator's -Wall reports and is meant so."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..artifacts import generator

__all__ = ["WAIVERS", "LintWaiver", "waiver_file"]


@dataclass(frozen=True, kw_only=True)
class LintWaiver:
    """Messages of Verilator that a design is known to cause.

    Parameters
    ----------
    rule : str
        Name of the message, for example ``WIDTHTRUNC``.
    reason : str
        A sentence that says why the code is right.
    module : str or None
        The one module that may cause it; None: any module of the design.
    match : str or None
        Wildcard that the message must match; None: any message of the rule.

    """

    rule: str
    reason: str
    module: str | None = None
    match: str | None = None

    def __post_init__(self):
        if self.module is not None and self.match is not None:
            raise ValueError(
                f"a waiver of {self.rule} must have a module or a wildcard, not both: Verilator "
                f"selects messages by lines or by their text"
            )


#: Waivers of all emitted designs.
WAIVERS = (
    LintWaiver(rule="DECLFILENAME", reason="All modules of a design are in one file."),
    LintWaiver(
        rule="UNUSEDSIGNAL",
        reason="Every member of a bus and every pipeline stage of a value has a name, even if it "
        "is not read.",
    ),
    LintWaiver(
        rule="PROCASSINIT", reason="The initial value of a register equals its reset value."
    ),
    LintWaiver(
        rule="WIDTHEXPAND",
        reason="Amaranth and Verilog extend operands of different widths by the same rules.",
    ),
    LintWaiver(
        rule="WIDTHTRUNC",
        match="Logical operator*",
        reason="`!` of several bits is a test for zero.",
    ),
    LintWaiver(
        rule="WIDTHTRUNC",
        match="Operator ASSIGNW*SHIFTR*",
        reason="Selection of a word by number is a shift; only its low bits are used.",
    ),
    LintWaiver(
        rule="VARHIDDEN",
        reason="A signal of a block may have the name that the block has in its parent.",
    ),
    LintWaiver(
        rule="CASEINCOMPLETE",
        reason="Signals that a case does not assign keep the value assigned before it.",
    ),
)


def waiver_file(
    name: str, files: Mapping[str, str], waivers: Sequence[LintWaiver] = WAIVERS
) -> str:
    """Return Verilator's control file of a design; it waives nothing in other files.

    Parameters
    ----------
    name : str
        Name of the design.
    files : mapping of str to str
        Text of each of its Verilog files, by file name.
    waivers : sequence of LintWaiver
        A module that is in no file is a `ValueError`.

    """
    lines = [
        "`verilator_config",
        f"// {generator()}: lint waivers of the cluster {name}, for Verilator.",
    ]
    for waiver in waivers:
        lines += ["", f"// {waiver.reason}"]
        lines += [f"lint_off -rule {waiver.rule} {place}" for place in places(waiver, files)]
    return "\n".join(lines) + "\n"


def places(waiver: LintWaiver, files: Mapping[str, str]) -> Iterator[str]:
    """Yield where a waiver applies, as options of a control file."""
    if waiver.module is None:
        match = "" if waiver.match is None else f' -match "{waiver.match}"'
        yield from (f'-file "*{file}"{match}' for file in files)
        return
    declaration = re.compile(
        rf"^module {re.escape(waiver.module)}\s*[(;#].*?^endmodule", re.MULTILINE | re.DOTALL
    )
    for file, text in files.items():
        if module := declaration.search(text):
            first, last = (text.count("\n", 0, end) + 1 for end in module.span())
            yield f'-file "*{file}" -lines {first}-{last}'
            return
    raise ValueError(f"a waiver must name a module of the design, not {waiver.module!r}")
