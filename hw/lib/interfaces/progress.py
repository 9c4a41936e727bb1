"""Interface from the units of a cluster to its cores: registers for which warps wait."""

from collections.abc import Mapping

from amaranth import unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from ...isa.memory_map import Register
from ...isa.progress import PROGRESS_WIDTH, progress_of

__all__ = ["ProgressSignature", "progress_layout"]


def progress_layout(registers: Mapping[str, Register]) -> data.StructLayout:
    """Return the layout of those of a unit's registers that warps wait for, the low bits of each.

    A command counts in ``running`` from the cycle after its register write was accepted.
    """
    return data.StructLayout(dict.fromkeys(progress_of(registers), PROGRESS_WIDTH))


class ProgressSignature(wiring.Signature):
    """Registers for which the warps of a core wait, seen from the cluster.

    Parameters
    ----------
    registers : int
        Number of registers.

    Members
    -------
    values : Out(ArrayLayout(PROGRESS_WIDTH, registers))
        Their current contents, from registers of the units.
    is_behind : Out(1)
        A command word of this core has not reached its unit: `values` lack it.
    """

    def __init__(self, registers: int):
        super().__init__({
            "values": Out(data.ArrayLayout(unsigned(PROGRESS_WIDTH), registers)),
            "is_behind": Out(1),
        })
