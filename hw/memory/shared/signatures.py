"""Interfaces between the parts of a bank of shared memory."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...config import SharedMemoryConfig
from .ports import SharedMemoryPorts

__all__ = [
    "AtomicWriteSignature",
    "FreePathsSignature",
    "LaneAccessSignature",
    "LaneStatusSignature",
    "LockSignature",
    "RequestsSignature",
    "RowAccessSignature",
    "RowGrantsSignature",
    "SubbankAccessSignature",
    "WideAccessSignature",
    "WideLinesSignature",
    "connect_locks",
    "is_locked",
    "row_access",
    "subbank_access",
]


def subbank_access(config: SharedMemoryConfig) -> data.StructLayout:
    """Return the layout of an access to a subbank: line, and for a write a word and byte mask."""
    return data.StructLayout({"line": exact_log2(config.lines), "data": 32, "mask": 4})


def row_access(config: SharedMemoryPorts) -> data.StructLayout:
    """Return the layout of an access to a slice: line, and for a write a row and byte mask."""
    return data.StructLayout({
        "line": exact_log2(config.memory.lines),
        "data": 8 * config.slice_bytes,
        "mask": config.slice_bytes,
    })


class LockSignature(wiring.Signature):
    """Words of a bank, or of a part of it, that only its atomics access in this cycle.

    Parameters
    ----------
    words : int
        Subbanks.
    line_width : int

    Members
    -------
    lock : Out(StructLayout).array(2)
        ``words`` at ``line``: at most one of the bank, in its subbank.
    writes : Out(words)
        The subbank that atomics write: no other write is done there in this cycle.
    """

    def __init__(self, words: int, line_width: int):
        lock = data.StructLayout({"words": words, "line": line_width})
        super().__init__({"lock": Out(lock).array(2), "writes": Out(words)})


class AtomicWriteSignature(wiring.Signature):
    """Word and byte mask that atomics write at the line of the second lock."""

    def __init__(self):
        super().__init__({"data": Out(32), "mask": Out(4)})


def is_locked(locks, line: Value, words: Value | None = None) -> Value:
    """Return whether a word at a line is locked, of those in `words` if they are given."""
    return Cat(
        (lock.words if words is None else lock.words & words).any() & (lock.line == line)
        for lock in locks.lock
    ).any()


def connect_locks(m: Module, locks, part, number: int) -> None:
    """Connect the locks of a part: of part `number` if a whole is cut into such parts."""
    words = len(part.writes)
    m.d.comb += part.writes.eq(locks.writes.word_select(number, words))
    for lock, inner in zip(locks.lock, part.lock, strict=True):
        m.d.comb += [
            inner.words.eq(lock.words.word_select(number, words)),
            inner.line.eq(lock.line),
        ]


class WideAccessSignature(wiring.Signature):
    """Wide accesses of a slice, one on each path, seen from their arbiter.

    Parameters
    ----------
    config : SharedMemoryPorts

    Members
    -------
    read : Out(config.slice_words)
        Subbanks that are read. Never the line that is written in the same cycle.
    read_line : Out(exact_log2(config.memory.lines))
    write : Out(config.slice_words)
        Subbanks that are written.
    written : Out(row_access(config))
    """

    def __init__(self, config: SharedMemoryPorts):
        super().__init__({
            "read": Out(config.slice_words),
            "read_line": Out(exact_log2(config.memory.lines)),
            "write": Out(config.slice_words),
            "written": Out(row_access(config)),
        })


class SubbankAccessSignature(wiring.Signature):
    """Accesses of a subbank, one on each path, seen from their source.

    Parameters
    ----------
    config : SharedMemoryConfig

    Members
    -------
    read : Out(1)
        The subbank is read. Never the line that is written in the same cycle.
    read_line : Out(exact_log2(config.lines))
    write : Out(1)
    written : Out(subbank_access(config))
    """

    def __init__(self, config: SharedMemoryConfig):
        super().__init__({
            "read": Out(1),
            "read_line": Out(exact_log2(config.lines)),
            "write": Out(1),
            "written": Out(subbank_access(config)),
        })


class FreePathsSignature(wiring.Signature):
    """Paths of a subbank that lanes may use, seen from its slice.

    Members
    -------
    reads, writes : Out(1)
        The slice does no read or no write. Known before its accesses.
    """

    def __init__(self):
        super().__init__({"reads": Out(1), "writes": Out(1)})


class RequestsSignature(wiring.Signature):
    """Requests of several ports, seen from the requesters.

    Parameters
    ----------
    ports : int

    Members
    -------
    reads, writes : Out(ports)
        Ports with a read or a write.
    grants : In(ports)
        Ports whose access is done in this cycle.
    """

    def __init__(self, ports: int):
        super().__init__({"reads": Out(ports), "writes": Out(ports), "grants": In(ports)})


class LaneAccessSignature(wiring.Signature):
    """Accesses of all lanes, seen from them.

    Parameters
    ----------
    config : SharedMemoryConfig

    Members
    -------
    lane : Out(subbank_access(config)).array(config.narrow_ports)
    """

    def __init__(self, config: SharedMemoryConfig):
        super().__init__({"lane": Out(subbank_access(config)).array(config.narrow_ports)})


class RowAccessSignature(wiring.Signature):
    """Accesses of all row ports, seen from them.

    Parameters
    ----------
    config : SharedMemoryPorts

    Members
    -------
    row : Out(row_access(config)).array(config.row_ports)
    """

    def __init__(self, config: SharedMemoryPorts):
        super().__init__({"row": Out(row_access(config)).array(config.row_ports)})


class WideLinesSignature(wiring.Signature):
    """Lines of the wide accesses of a slice, seen from them.

    Parameters
    ----------
    line_width : int

    Members
    -------
    read, write : Out(1)
        The path has a wide access, of this line:
    read_line, write_line : Out(line_width)
    """

    def __init__(self, line_width: int):
        super().__init__({
            "read": Out(1),
            "read_line": Out(line_width),
            "write": Out(1),
            "write_line": Out(line_width),
        })


class LaneStatusSignature(wiring.Signature):
    """Accesses of lanes to a slice in a cycle, seen from the slice.

    Members
    -------
    read, write : Out(1)
        Lanes request the path.
    read_done, write_done : Out(1)
        An access of a lane is done in this cycle.
    read_stalls, write_stalls : Out(1)
        A lane that owns the path stalls because of the line on the other path.
    """

    def __init__(self):
        names = ("{}", "{}_done", "{}_stalls")
        super().__init__({
            name.format(path): Out(1) for name in names for path in ("read", "write")
        })


class RowGrantsSignature(wiring.Signature):
    """Rows that are accessed in a cycle, seen from their arbiter.

    Parameters
    ----------
    rows : int

    Members
    -------
    owns_reads, owns_writes : Out(1)
        Rows own the path. Independent of wide accesses, which are known later.
    read_grant, write_grant : Out(rows)
        The row selected on each path, one-hot.
    read_done, write_done : Out(1)
        The selected row is accessed in this cycle.
    """

    def __init__(self, rows: int):
        super().__init__({
            "owns_reads": Out(1),
            "owns_writes": Out(1),
            "read_grant": Out(rows),
            "write_grant": Out(rows),
            "read_done": Out(1),
            "write_done": Out(1),
        })
