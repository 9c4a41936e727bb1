"""Interface of a dataflow: operands of the array, loops of an operation, latencies."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from amaranth.lib import data
from amaranth.lib.wiring import Flow

from ...config import MatrixUnitConfig, SystolicConfig
from ...lib.streams import ResponseSignature

__all__ = ["Dataflow"]


class Dataflow(ABC):
    """A dataflow, as layouts, loops and latencies; its components are in the tables of dataflows.

    Attributes
    ----------
    drains_in_order : bool
        Whether the array offers accumulator rows in the order in which a drain reads them.
    is_interleaved : bool
        Whether as many column blocks of C as the multiply-add has cycles of latency are computed
        together, so that they share each line of A.

    """

    drains_in_order: ClassVar[bool]
    is_interleaved: ClassVar[bool]

    @abstractmethod
    def operands(self, config: SystolicConfig) -> dict[str, data.StructLayout]:
        """Return the layouts of the operands of the mesh by name; the first one multiplies."""

    def operand_members(self, config: SystolicConfig, flow: Flow) -> dict[str, Any]:
        """Return the members of a component for the operands."""
        return {
            name: flow(ResponseSignature(layout)) for name, layout in self.operands(config).items()
        }

    @abstractmethod
    def write_latency(self, config: SystolicConfig) -> int:
        """Return the cycles from the last offer for a tile to the last of its sums."""

    @abstractmethod
    def loops(self, config: MatrixUnitConfig) -> dict[str, int]:
        """Return the loops of an operation's issue by name, with their most iterations."""

    @abstractmethod
    def form_loops(self, config: MatrixUnitConfig, operation: data.View, work: data.View) -> list:
        """Return the assignments of the loops of `work`."""

    @abstractmethod
    def form_walks(
        self, config: MatrixUnitConfig, operation: data.View, a: data.View, b: data.View
    ) -> list:
        """Return the assignments of the walks of A and B for `operation`."""

    @abstractmethod
    def fetches(self, config: MatrixUnitConfig) -> dict[str, dict[str, Any]]:
        """Return `depth` and `can_transpose` of the fetch of A and of B."""

    def together(self, config: SystolicConfig) -> int:
        """Return the column blocks computed together."""
        return config.element_latency if self.is_interleaved else 1
