"""AXI4 wires of a bench: samples, driven values and the stability of refused offers."""

from amaranth import Value

__all__ = ["BACK", "FORWARD", "PAYLOADS", "AxiWires"]

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


class AxiWires:
    """One side of an AXI4 interface: what a bench samples, and what it drives.

    Parameters
    ----------
    axi : interface of Axi4Signature
        Seen from outside the design.
    shows, drives : tuple of str
        Channels that the design drives, and those that the bench drives.

    """

    def __init__(self, axi, shows, drives):
        self.payloads = {
            channel: (*names, *({f"{channel}user"} & {*axi.signature.members}))
            for channel, names in PAYLOADS.items()
        }
        payloads = [name for channel in shows for name in self.payloads[channel]]
        self.names = [*payloads, *(f"{c}valid" for c in shows), *(f"{c}ready" for c in drives)]
        driven = [
            name for channel in drives for name in (*self.payloads[channel], f"{channel}valid")
        ]
        self.driven: dict[str, int] = dict.fromkeys([*driven, *(f"{c}ready" for c in shows)], 0)
        self.samples = [Value.cast(getattr(axi, name)) for name in self.names]
        self.drives = [getattr(axi, name) for name in self.driven]
        self.shows = shows
        self.refused: dict[str, list[int]] = {}

    def see(self, values) -> dict[str, int]:
        """Return the sampled values by name; assert that refused offers are stable."""
        seen = dict(zip(self.names, values, strict=True))
        for channel in self.shows:
            payload = [seen[name] for name in self.payloads[channel]]
            valid, before = seen[f"{channel}valid"], self.refused.pop(channel, None)
            if before is not None:
                assert valid, f"{channel}valid dropped before it was accepted"
                assert payload == before, f"{channel} changed while it waited"
            if valid and not self.driven[f"{channel}ready"]:
                self.refused[channel] = payload
        return seen

    def moved(self, channel: str, seen) -> bool:
        """Return whether a transfer took place."""
        both = seen | self.driven
        return bool(both[f"{channel}valid"] and both[f"{channel}ready"])
