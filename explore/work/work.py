"""Work of a sweep; its key is a hash of its content."""

from typing import ClassVar, Protocol

from ...base.progress import Progress
from ...hw.config import MachineConfig
from .record import Record

__all__ = ["Work"]


class Work(Protocol):
    """Piece of work; its key determines its record.

    Immediate work takes milliseconds: it is done in the process of the sweep, and is not stored.
    """

    kind: ClassVar[str]
    is_immediate: ClassVar[bool]

    @property
    def config(self) -> MachineConfig:
        """Config of the machine."""
        ...

    @property
    def key(self) -> str:
        """Hash of the content: everything that determines the record."""
        ...

    def record(self, progress: Progress | None = None) -> Record:
        """Do the work; return its record."""
        ...
