"""Check of memory on the instruction-set model: states of bytes, and findings."""

import enum
from dataclasses import dataclass

from ...base.native_interface import NativeStructure
from .native_machine import NativeMachine
from .native_types import ISS
from .table import camel
from .work_watch import WorkWatch

__all__ = ["Finding", "Kind", "MemoryCheck"]


class Kind(enum.Enum):
    """Mishap of an access, as `Mishap` of the C++."""

    LOAD_OF_GUARD = "load between objects"
    STORE_TO_GUARD = "store between objects"
    LOAD_OF_UNWRITTEN = "load of bytes that nothing wrote"
    OPERAND_UNWRITTEN = "operand of hgmma that nothing wrote"
    LOAD_BELOW_STACK = "load below the stack pointer of its thread"
    STORE_BELOW_STACK = "store below the stack pointer of its thread"
    UNIT_READS_UNWRITTEN = "read by a unit of bytes that nothing wrote"
    UNIT_READS_GUARD = "read by a unit between objects"
    UNIT_WRITES_GUARD = "write by a unit between objects"


KINDS = {camel(kind.name): kind for kind in Kind}
OF_UNITS = (Kind.UNIT_READS_UNWRITTEN, Kind.UNIT_READS_GUARD, Kind.UNIT_WRITES_GUARD)


@dataclass(frozen=True)
class Finding:
    """Accesses of one instruction with the same mishap, described by the first.

    Attributes
    ----------
    kind : Kind
    core, warp, lane, pc : int
        Thread and instruction; of a unit's work, those that started it.
    link : int
        Return address of the thread.
    address : int
        Of an access; of a unit, of the first byte concerned.
    size : int
        Bytes of the access, of a unit's work those of a row.
    count : int
        Accesses of lanes, or works.
    work : str
        Name of the unit's work, else empty.

    """

    kind: Kind
    core: int
    warp: int
    lane: int
    pc: int
    link: int
    address: int
    size: int
    count: int
    work: str


class MemoryCheck:
    """States of the bytes of memory, and the findings of a run.

    Bytes that the host, a unit or the program wrote are written; all others are not.

    Parameters
    ----------
    native : NativeMachine
    watch : WorkWatch

    """

    def __init__(self, native: NativeMachine, watch: WorkWatch):
        self.native, self.watch = native, watch

    def mark_written(self, address: int, nbytes: int) -> None:
        """Let these bytes count as written."""
        self.native.call("iss_mark_written", address, nbytes)

    def mark_unwritten(self, address: int, nbytes: int) -> None:
        """Let these bytes count as never written."""
        self.native.call("iss_mark_unwritten", address, nbytes)

    def guard(self, address: int, nbytes: int) -> None:
        """Let every access to these bytes be a finding; they lie between objects."""
        self.native.call("iss_guard", address, nbytes)

    def check_stacks(self) -> None:
        """Find accesses below the stack pointers of threads, and stacks that are too large."""
        self.native.call("iss_check_stacks")

    def allow_copying(self, code: range) -> None:
        """Let code copy single bytes that nothing wrote."""
        self.native.call("iss_copying_code", code.start, code.stop - 1)

    def findings(self) -> list[Finding]:
        """Return the findings since the last reset, in the order of their first accesses."""
        count = self.native.call("iss_findings", None, 0)
        findings = (ISS.structure("Finding") * count)()
        self.native.call("iss_findings", findings, count)
        return [self.finding(finding) for finding in findings]

    def finding(self, native: NativeStructure) -> Finding:
        """Return a finding from its C++ structure."""
        kind = KINDS[ISS.enumeration("Mishap")(native.kind).name]
        return Finding(
            kind=kind,
            core=native.core,
            warp=native.warp,
            lane=native.lane,
            pc=native.pc,
            link=native.link,
            address=native.address,
            size=native.size,
            count=native.count,
            work=self.watch.name(native.stream, native.time) if kind in OF_UNITS else "",
        )
