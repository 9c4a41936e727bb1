"""Records of a core: one row for each event of an instruction."""

from dataclasses import dataclass

import numpy as np

from ....hw.config.checks import require_integer
from ...harness.harness import Harness
from ...harness.interface import HARNESS
from ..window import require_window

__all__ = ["LIMIT", "CoreRecords", "Recording"]

#: Default limit of records of a core: 140,000 cycles of a busy core, 30 MB.
LIMIT = 1_000_000


@dataclass(frozen=True)
class CoreRecords:
    """Records of one core.

    Attributes
    ----------
    core : int
    rows : numpy.ndarray
        `Record` of the C++, ordered by cycle.
    values : numpy.ndarray
        uint32, (rows of `kDone`, threads): values on the bus.
    first, end : int
        The first cycle recorded, and the cycle after the last.
    slots_end : int
        The cycle after the last with a known outcome of the issue slots.
    is_cut : bool
        True if the window was too large: the cycles from `end` on are missing.

    """

    core: int
    rows: np.ndarray
    values: np.ndarray
    first: int
    end: int
    slots_end: int
    is_cut: bool

    @property
    def sentence(self) -> str:
        """Remark on missing cycles, or an empty string."""
        if not self.is_cut:
            return ""
        return (
            f"core {self.core} is recorded in cycles {self.first} to {self.end - 1} only: "
            f"the limit of {len(self.rows)} records is reached"
        )

    def of(self, *kinds: int) -> np.ndarray:
        """Return the rows of some kinds, of `RecordKind` of the C++."""
        return self.rows[np.isin(self.rows["kind"], kinds)]


class Recording:
    """Recorders of a harness: one for each core, until the cores restart.

    Parameters
    ----------
    harness : Harness
        Of started cores.
    cores : int
        Number of cores.
    threads : int
        Threads of a warp.
    window : tuple of int
        The first cycle recorded, and the cycle after the last.
    limit : int
        Maximum number of records of a core; 24 bytes each, plus the values on its buses.

    """

    def __init__(
        self,
        harness: Harness,
        *,
        cores: int,
        threads: int,
        window: tuple[int, int],
        limit: int = LIMIT,
    ):
        require_window(window, (1 << 63) - 1)
        require_integer("limit", limit, 1, 1 << 32)
        first, end = window
        self.library = harness.library
        self.threads = threads
        add = self.library.harness_recorder_add
        self.recorders = [add(harness.handle, core, first, end, limit) for core in range(cores)]

    def fetch(self) -> list[CoreRecords]:
        """Return copies of the records so far, by core."""
        return [self.fetch_core(core) for core in range(len(self.recorders))]

    def fetch_core(self, core: int) -> CoreRecords:
        """Return a copy of the records of one core."""
        header = self.library.recorder_state(self.recorders[core])
        rows = np.empty(header.records, HARNESS.structure("Record"))
        values = np.empty((header.values // self.threads, self.threads), np.uint32)
        self.library.recorder_copy(self.recorders[core], rows, values)
        return CoreRecords(
            core=core,
            rows=rows,
            values=values,
            first=header.first,
            end=header.end,
            slots_end=header.slots_end,
            is_cut=bool(header.is_cut),
        )
