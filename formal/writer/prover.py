"""Proof of one conversion with Yosys and ABC: the written text is equal to its reference."""

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from spica.base.build_cache import digest
from spica.base.value_cache import load_value, save_value
from spica.base.yosys import yosys_version

from .conversions import Subject
from .cuts import miter_of
from .miter import Miter
from .session import Session, YosysError

__all__ = ["Finding", "prove"]

#: Seconds after which a script is ended.
TIMEOUT = 1800
#: A netlist, flat, as JSON. No pass may drop or merge registers or instances.
READ = """\
design -reset
{read}
hierarchy -top {name}
proc -norom
flatten -noscopeinfo
{keep}
opt_clean
write_json {side}.json
"""
READERS = {"old": "read_rtlil old.il", "new": "read_verilog new.v"}
#: The miter as gates, and what ABC leaves of it: outputs that are always 0 become constants.
#: ABC works on any design; its script does not read that.
SWEEP = """\
read_json miter.json
opt_merge
techmap
opt_clean
aigmap
write_aiger miter.aig
design -reset
read_verilog any.v
techmap
abc -script +&r,miter.aig;&fraig,-C,1000000;&w,rest.aig
"""
ANY = "module any(input a, input b, output y); assign y = a & b; endmodule\n"
#: Values of the inputs for which the output of a miter is 1.
SOLVE = """\
read_json miter.json
opt_clean
techmap
opt_clean
sat -timeout {seconds} -set differs 1 -show free -dump_json model.json miter
"""
#: Seconds of the search for values of inputs.
SEARCH = 60


@dataclass(frozen=True)
class Finding:
    """Result of the proof of a conversion.

    Parameters
    ----------
    name : str
        Name of the module.
    status : str
        ``proven``, ``different``, or ``unproven`` if neither was found.
    bits : int
        Bits that were compared.
    gates : int
        AND gates of both netlists together, without those they have in common.
    seconds : float
        Duration.
    detail : str
        First differences.

    """

    name: str
    status: str
    bits: int
    gates: int
    seconds: float
    detail: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the finding for JSON."""
        return asdict(self)


def key_of(subject: Subject) -> str:
    """Return a hash of everything that determines a proof; comments do not."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    texts = [source.read_text() for source in sources]
    parts = (subject.name, subject.code, subject.reference, repr(subject.cells))
    return digest([*parts, yosys_version(), *texts])


def prove(subject: Subject, session: Session, is_cached: bool = False) -> Finding:
    """Return the result of the proof of a conversion; with `is_cached`, proofs are kept."""
    key = key_of(subject) if is_cached else ""
    known = load_value("writer-proofs", key) if is_cached else None
    if known is not None:
        return known
    begin = time.monotonic()
    proof = Proof(subject, session)
    status, detail = proof.decide()
    seconds = round(time.monotonic() - begin, 2)
    bits = len(proof.miter.pairs)
    finding = Finding(subject.name, status, bits, proof.gates, seconds, detail)
    if status == "proven" and is_cached:
        save_value("writer-proofs", key, finding)
    return finding


class Proof:
    """Proof of one conversion.

    Parameters
    ----------
    subject : Subject
    session : Session

    """

    def __init__(self, subject: Subject, session: Session):
        self.subject, self.session = subject, session
        self.miter, self.gates = Miter(), 0

    def write(self, name: str, text: str) -> None:
        """Write a file for a script."""
        (self.session.folder / name).write_text(text)

    def module(self, name: str) -> dict[str, Any]:
        """Return the conversion's module in a file that a script wrote."""
        text = (self.session.folder / name).read_text()
        return json.loads(text)["modules"][self.subject.name]

    def decide(self) -> tuple[str, str]:
        """Return the status and the first differences."""
        self.write("old.il", self.subject.reference)
        self.write("new.v", self.subject.text)
        self.write("any.v", ANY)
        try:
            results = [f"{side}.json" for side in READERS]
            self.session.run(self.reading, results, TIMEOUT)
        except YosysError as error:
            return "different", str(error)
        self.miter = miter = miter_of(self.subject, *map(self.module, results))
        if miter.problems:
            return "different", "; ".join(miter.problems[:5])
        if not miter.pairs:
            return "proven", ""
        self.write("miter.json", miter.text())
        try:
            return self.sweep()
        except YosysError as error:
            return "unproven", str(error)

    @property
    def reading(self) -> str:
        """Script that reads both netlists."""
        modules = {cell.module for cell in self.subject.cells if cell.module}
        keep = "\n".join(f"setattr -set keep 1 t:{module}" for module in sorted(modules))
        name = self.subject.name
        return "".join(
            READ.format(read=read, name=name, keep=keep, side=side)
            for side, read in READERS.items()
        )

    def sweep(self) -> tuple[str, str]:
        """Let ABC find the outputs of the miter that are always 0."""
        self.session.run(SWEEP, ("miter.aig", "rest.aig"), TIMEOUT)
        self.gates, _ = aiger(self.session.folder / "miter.aig")
        _, outputs = aiger(self.session.folder / "rest.aig")
        if len(outputs) != len(self.miter.pairs):
            return "unproven", "ABC dropped outputs"
        left = [number for number, literal in enumerate(outputs) if literal]
        if not left:
            return "proven", ""
        labels = ", ".join(self.miter.pairs[number][0] for number in left[:5])
        status, values = self.counterexample(left[0])
        return status, f"{len(left)} bits: {labels}{values}"

    def counterexample(self, output: int) -> tuple[str, str]:
        """Return whether an output can be 1, and values of the inputs for that."""
        model = self.session.folder / "model.json"
        model.unlink(missing_ok=True)
        self.write("miter.json", self.miter.text(output))
        self.session.run(SOLVE.format(seconds=SEARCH), (), TIMEOUT)
        if not model.exists():
            return "unproven", ""
        waves = json.loads(model.read_text())["signal"]
        values = next((wave["data"][0] for wave in waves if wave["name"] == "free"), "")
        pairs = zip(self.miter.free, reversed(values), strict=False)
        high = ", ".join([label for (label, _), value in pairs if value == "1"][:12])
        return "different", f"; for example, only these inputs are high: {high}"


def aiger(path: Path) -> tuple[int, list[int]]:
    """Return the number of gates and the literals of the outputs of a binary AIGER file."""
    with path.open("rb") as file:
        kind, _, _, latches, outputs, gates, *_ = file.readline().split()
        assert kind == b"aig" and latches == b"0"
        return int(gates), [int(file.readline()) for _ in range(int(outputs))]
