"""Golden model of instruction fetch, by cycle: requests, and valid responses."""

from dataclasses import dataclass, field

from .....hw.config import PipelineConfig
from .....hw.isa.memory_map import ENTRY
from .....hw.lib.interfaces.core_memory import pairs

__all__ = ["FetchModel", "Request"]


@dataclass(frozen=True)
class Request:
    """A requested pair: its byte address, its warp, its slot in the warp's buffer."""

    address: int
    warp: int
    place: int


@dataclass
class FetchModel:
    """Golden model of `Fetch`.

    Parameters
    ----------
    config : PipelineConfig
    pcs : list of int
        Next byte addresses to request, by warp.
    under_way : dict
        Outstanding requests by warp and slot: True if the response is still valid.
    last : int or None
        The warp granted last.
    kept : Request or None
        The offered request while memory stalls.

    """

    config: PipelineConfig
    pcs: list[int] = field(init=False)
    under_way: dict[tuple[int, int], bool] = field(default_factory=dict)
    last: int | None = None
    kept: Request | None = None

    def __post_init__(self):
        self.pcs = [ENTRY] * self.config.warps

    def place(self, warp: int) -> int:
        """Return the buffer slot of the next pair of `warp`."""
        return self.pcs[warp] // 8 % pairs(self.config)

    def choose(self, active: int, heads: list[int]) -> Request | None:
        """Return the granted request; `heads` are the addresses of the next instructions."""
        wants, urgent = [], []
        for warp, head in enumerate(heads):
            held = (self.pcs[warp] - head) // 4  # -1 if the head is the second of its pair
            if (
                active >> warp & 1
                and held + 2 <= self.config.instruction_buffer
                and (warp, self.place(warp)) not in self.under_way
            ):
                wants.append(warp)
                if held <= 0:
                    urgent.append(warp)
        if not wants:
            return None
        start = 0 if self.last is None else self.last + 1
        warps = self.config.warps
        order = [(start + n) % warps for n in range(warps)]
        warp = next(warp for warp in order if warp in (urgent or wants))
        return Request(self.pcs[warp], warp, self.place(warp))

    def offer(self, active: int, heads: list[int]) -> Request | None:
        """Return the request offered in this cycle."""
        return self.kept or self.choose(active, heads)

    def fresh(self, answer: tuple[int, int] | None) -> bool:
        """Return True if the response of this cycle, to a warp and slot, is valid."""
        return answer is not None and self.under_way[answer]

    def step(
        self,
        active: int,
        heads: list[int],
        ready: bool,
        answer: tuple[int, int] | None,
        redirect: tuple[int, int] | None,
    ) -> None:
        """Advance by one cycle."""
        offered = self.offer(active, heads)
        if self.kept is None and offered is not None:
            self.last = offered.warp
            self.under_way[offered.warp, offered.place] = True
            self.pcs[offered.warp] += 8
        self.kept = None if ready else offered
        if answer is not None:
            del self.under_way[answer]
        if redirect is not None:
            warp, pc = redirect
            self.pcs[warp] = pc & ~7
            for each in self.under_way:
                if each[0] == warp:
                    self.under_way[each] = False
