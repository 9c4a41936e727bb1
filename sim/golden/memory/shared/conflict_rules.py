"""Conflict rules of banks, rows, lanes and wide requesters, as loads and their rates."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .....hw.config import WORD_BYTES, SharedMemoryConfig
from .....hw.memory.shared.shared_memory import SharedMemoryPorts

__all__ = ["RULES", "SUBBANKS", "Place", "Rule", "described", "eight_cores"]

#: Subbanks of a bank for which each rule is stated: one row per line, and two.
SUBBANKS = (8, 16)
CORES, LANES, LINES, ROW = 8, 8, 64, 32
KINDS = {"read": "wide read", "write": "wide write", "row": "row", "narrow": "word"}


def eight_cores(subbanks: int) -> SharedMemoryPorts:
    """Return shared memory of eight cores of eight lanes, with wide ports as wide as a row."""
    banks = 4
    return SharedMemoryPorts(
        memory=SharedMemoryConfig(
            size=banks * LINES * subbanks * WORD_BYTES,
            banks=banks,
            subbanks=subbanks,
            narrow_ports=LANES,
        ),
        read_sizes=(ROW, ROW),
        write_sizes=(ROW, ROW),
        row_ports=CORES,
        row_bytes=ROW,
    )


@dataclass(frozen=True)
class Place:
    """Lines of a row slice that a load accesses in turn.

    Parameters
    ----------
    bank : int
    part : int
        Quarter of the bank's lines.
    row : int
        Slice, modulo the number of slices.
    steps : bool
        Whether the line changes with every access.
    every : int
        Period of the accesses in cycles.
    store : bool

    """

    bank: int = 0
    part: int = 0
    row: int = 0
    steps: bool = True
    every: int = 1
    store: bool = False


@dataclass(frozen=True)
class Rule:
    """Simultaneous continuous loads, and the accesses per cycle that result.

    Parameters
    ----------
    name : str
    rows : tuple of Place
        Of the row ports, one after another.
    expected : tuple of dict
        Accesses per cycle by kind of port, for each of `SUBBANKS`; None without a second slice.
    lanes : Place or None
        Of all lanes, on the words of a row.
    wide : dict of str to Place
        By wide port.

    """

    name: str
    rows: tuple[Place, ...]
    expected: tuple[Mapping[str, float] | None, ...]
    lanes: Place | None = None
    wide: Mapping[str, Place] | None = None

    def places(self) -> dict[str, tuple[Place, int]]:
        """Return the place of each port, and its lane."""
        places = {f"row_{n}": (place, 0) for n, place in enumerate(self.rows)}
        places |= {name: (place, 0) for name, place in (self.wide or {}).items()}
        if self.lanes is not None:
            places |= {f"narrow_{n}": (self.lanes, n) for n in range(LANES)}
        return places


def described(rates: Mapping[str, Any] | None) -> str:
    """Return the accesses per cycle as text."""
    if rates is None:
        return ""
    return ", ".join(
        f"{rates[kind]:g} {name}{'' if rates[kind] == 1 else 's'}"
        for kind, name in KINDS.items()
        if rates.get(kind)
    )


def alike(**rates: float) -> tuple[dict[str, float], ...]:
    """Return rates that do not depend on the number of subbanks."""
    return (rates,) * len(SUBBANKS)


ONE = Place()
WRITE = Place(part=1, store=True)
SAME_LINE, STORE_SAME_LINE = Place(steps=False), Place(steps=False, store=True)
WIDE, WIDE_WRITE = Place(part=2), Place(part=2, store=True)

RULES = (
    Rule(
        "rows of 8 cores in one bank",
        tuple(Place(row=n) for n in range(8)),
        ({"row": 1}, {"row": 2}),
    ),
    Rule("rows of 8 cores in one slice", (ONE,) * 8, alike(row=1)),
    Rule(
        "rows of 8 cores in 4 banks",
        tuple(Place(bank=n % 4, row=n // 4) for n in range(8)),
        ({"row": 4}, {"row": 8}),
    ),
    Rule("row reads and row writes of one slice", (ONE, ONE, WRITE, WRITE), alike(row=2)),
    Rule("row reads and row writes of one line", (SAME_LINE, STORE_SAME_LINE), alike(row=1)),
    Rule("wide reads without a gap, row reads", (ONE,), alike(read=1), wide={"read_0": WIDE}),
    Rule(
        "wide reads in every second cycle, row reads",
        (ONE,),
        alike(read=0.5, row=0.5),
        wide={"read_0": Place(part=2, every=2)},
    ),
    Rule(
        "wide reads of two requesters in one bank, row reads",
        (ONE,),
        alike(read=1),
        wide={"read_0": WIDE, "read_1": Place(part=3)},
    ),
    Rule(
        "wide reads of two requesters in two banks, row reads of a third",
        (Place(bank=2),),
        alike(read=2, row=1),
        wide={"read_0": WIDE, "read_1": Place(bank=1)},
    ),
    Rule(
        "wide reads without a gap, row reads of the other slice",
        (Place(row=1),),
        (None, {"read": 1, "row": 1}),
        wide={"read_0": WIDE},
    ),
    Rule(
        "wide reads, row writes of other lines",
        (WRITE,),
        alike(read=1, row=1),
        wide={"read_0": WIDE},
    ),
    Rule(
        "wide reads, row writes of the same line",
        (STORE_SAME_LINE,),
        alike(read=1),
        wide={"read_0": SAME_LINE},
    ),
    Rule(
        "wide writes without a gap, row writes",
        (WRITE,),
        alike(write=1),
        wide={"write_0": WIDE_WRITE},
    ),
    Rule(
        "wide writes, row reads of other lines",
        (ONE,),
        alike(write=1, row=1),
        wide={"write_0": WIDE_WRITE},
    ),
    Rule(
        "wide writes, row reads of the same line",
        (SAME_LINE,),
        alike(write=1),
        wide={"write_0": STORE_SAME_LINE},
    ),
    Rule(
        "wide reads, wide writes, row reads and row writes, each of another bank",
        (Place(bank=2), Place(bank=3, store=True)),
        alike(read=1, write=1, row=2),
        wide={"read_0": WIDE, "write_0": Place(bank=1, store=True)},
    ),
    Rule("row reads and 8 loading lanes in one slice", (ONE,), alike(row=0.5, narrow=4), lanes=ONE),
    Rule(
        "row reads and 8 storing lanes in one slice",
        (ONE,),
        alike(row=1, narrow=8),
        lanes=WRITE,
    ),
    Rule(
        "row reads and 8 storing lanes in one line",
        (SAME_LINE,),
        alike(row=0.5, narrow=4),
        lanes=STORE_SAME_LINE,
    ),
    Rule(
        "row writes and 8 loading lanes in one line",
        (STORE_SAME_LINE,),
        alike(row=0.5, narrow=4),
        lanes=SAME_LINE,
    ),
    Rule(
        "row reads, lanes loading in the other slice",
        (ONE,),
        (None, {"row": 1, "narrow": 8}),
        lanes=Place(row=1),
    ),
    Rule("8 loading lanes in one slice", (), alike(narrow=8), lanes=ONE),
    Rule(
        "wide reads without a gap, 8 loading lanes",
        (),
        alike(read=1),
        lanes=ONE,
        wide={"read_0": WIDE},
    ),
    Rule(
        "wide reads in every fourth cycle, 8 loading lanes",
        (),
        alike(read=0.25, narrow=6),
        lanes=ONE,
        wide={"read_0": Place(part=2, every=4)},
    ),
    Rule(
        "wide reads, 8 storing lanes in other lines",
        (),
        alike(read=1, narrow=8),
        lanes=WRITE,
        wide={"read_0": WIDE},
    ),
    Rule(
        "wide reads without a gap, 8 loading lanes of the other slice",
        (),
        (None, {"read": 1, "narrow": 8}),
        lanes=Place(row=1),
        wide={"read_0": WIDE},
    ),
    Rule(
        "wide writes without a gap, 8 storing lanes",
        (),
        alike(write=1),
        lanes=WRITE,
        wide={"write_0": WIDE_WRITE},
    ),
    Rule(
        "wide writes, 8 loading lanes in other lines",
        (),
        alike(write=1, narrow=8),
        lanes=ONE,
        wide={"write_0": WIDE_WRITE},
    ),
    Rule(
        "wide reads of two banks, wide writes of a third, 8 loading lanes of a fourth",
        (),
        alike(read=2, write=1, narrow=8),
        lanes=Place(bank=3),
        wide={"read_0": WIDE, "read_1": Place(bank=1), "write_0": Place(bank=2, store=True)},
    ),
)
