"""Config and layouts of a write combiner."""

from dataclasses import dataclass, field

from amaranth.lib import data
from amaranth.utils import exact_log2

from ..config.checks import require_integer, require_power_of_two
from ..config.parts import OPTIONAL
from .axi import atomic_user_fields

__all__ = ["WriteCombinerConfig"]


@dataclass(frozen=True, kw_only=True)
class WriteCombinerConfig:
    """A write combiner.

    Parameters
    ----------
    lines : int
        Lines held at a time. A power of two.
    line_beats : int
        Beats of a line, the longest burst. A power of two.
    beat_bytes : int
        Bytes of a beat. A power of two.
    patience : int
        Cycles that a line waits for further writes, up to twice as many. 0, or a power of two.
    owner_width : int or None
        Bits of the owner of an atomic; None without atomics.

    """

    lines: int
    line_beats: int
    beat_bytes: int
    patience: int = 0
    owner_width: int | None = field(default=None, metadata=OPTIONAL)

    def __post_init__(self):
        require_power_of_two("lines", self.lines, 2, 64)
        require_power_of_two("line_beats", self.line_beats, 1, 256)
        require_power_of_two("beat_bytes", self.beat_bytes, 1, 128)
        if self.patience:
            require_power_of_two("patience", self.patience, 1, 64)
        if self.owner_width is not None:
            require_integer("owner_width", self.owner_width, 0, 16)

    @property
    def has_atomics(self) -> bool:
        """Whether a write may be an atomic."""
        return self.owner_width is not None

    @property
    def beat_width(self) -> int:
        """Bits of an address in beats."""
        return 32 - exact_log2(self.beat_bytes)

    @property
    def place_width(self) -> int:
        """Bits of a beat's number in its line."""
        return exact_log2(self.line_beats)

    @property
    def write_layout(self) -> data.StructLayout:
        """Layout of a write of one beat; ``strobes`` selects its bytes."""
        return data.StructLayout({
            "beat": self.beat_width,
            "data": 8 * self.beat_bytes,
            "strobes": self.beat_bytes,
            **atomic_user_fields(self.owner_width),
        })

    @property
    def burst_layout(self) -> data.StructLayout:
        """Layout of a burst: its first beat, and the number of further beats."""
        return data.StructLayout({
            "beat": self.beat_width,
            "further": 8,
            **atomic_user_fields(self.owner_width),
        })

    @property
    def beat_layout(self) -> data.StructLayout:
        """Layout of a beat of a burst."""
        return data.StructLayout({
            "data": 8 * self.beat_bytes,
            "strobes": self.beat_bytes,
            "last": 1,
        })
