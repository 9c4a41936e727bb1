"""Bursts at an L2 slice, and the AXI wires of one of its sides."""

from dataclasses import dataclass, field

__all__ = ["BACK", "FORWARD", "PAYLOADS", "Burst", "Wires"]

ADDRESS = ("id", "addr", "len", "size", "burst")
PAYLOADS = {
    "ar": tuple(f"ar{name}" for name in ADDRESS),
    "aw": tuple(f"aw{name}" for name in ADDRESS),
    "w": ("wdata", "wstrb", "wlast"),
    "r": ("rid", "rdata", "rresp", "rlast"),
    "b": ("bid", "bresp"),
}
#: Channels that a master drives, and those that it receives.
FORWARD, BACK = ("ar", "aw", "w"), ("r", "b")


@dataclass
class Burst:
    """A read of `beats` beats, or a write of values and strobes, with its recorded results."""

    id: int
    address: int
    beats: int = 1
    writes: list[tuple[int, int]] | None = None
    since: int = -1
    first: int = -1  # cycle of the first beat; `ended`: of the last beat or the reply
    ended: int = -1
    codes: list[int] = field(default_factory=list)
    values: list[int] = field(default_factory=list)
    floors: dict[int, int] = field(default_factory=dict)


class Wires:
    """One side of the slice: samples, drives, and checks that refused offers do not change."""

    def __init__(self, axi, shows, drives):
        self.axi, self.shows, self.drives = axi, shows, drives
        payloads = [name for channel in shows for name in PAYLOADS[channel]]
        self.names = [*payloads, *(f"{c}valid" for c in shows), *(f"{c}ready" for c in drives)]
        driven = [name for channel in drives for name in (*PAYLOADS[channel], f"{channel}valid")]
        self.driven: dict[str, int] = dict.fromkeys([*driven, *(f"{c}ready" for c in shows)], 0)
        self.refused: dict[str, list[int]] = {}

    @property
    def samples(self):
        return [getattr(self.axi, name) for name in self.names]

    def check(self, seen):
        """Assert that refused offers are stable."""
        for channel in self.shows:
            payload = [seen[name] for name in PAYLOADS[channel]]
            valid, before = seen[f"{channel}valid"], self.refused.pop(channel, None)
            assert before is None or (valid and payload == before), f"{channel} is not stable"
            if valid and not self.driven[f"{channel}ready"]:
                self.refused[channel] = payload

    def moved(self, channel: str, seen) -> bool:
        """Return whether a transfer took place."""
        both = seen | self.driven
        return bool(both[f"{channel}valid"] and both[f"{channel}ready"])

    def set(self, ctx, values):
        """Drive the values that differ from the driven ones."""
        for name, value in values.items():
            if self.driven[name] != value:
                ctx.set(getattr(self.axi, name), value)
                self.driven[name] = value
