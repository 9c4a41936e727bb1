"""Members of the matrix units of every kind: the interface between a unit and its cluster."""

from typing import Any

from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from ..config import MatrixUnitConfig
from ..isa.memory_map import UNIT_REGISTERS
from ..lib.interfaces.progress import progress_layout
from ..lib.interfaces.shared_memory import (
    WideReadSignature,
    dma_descriptor,
    dma_done,
    fill_row,
)
from ..lib.register_bus import RegisterSignature
from ..lib.streams import ResponseSignature

__all__ = ["unit_members"]


def unit_members(config: MatrixUnitConfig, events: data.StructLayout) -> dict[str, Any]:
    """Return the members of a matrix unit.

    Members
    -------
    registers : In(RegisterSignature(8))
        The registers of its kind, with at least `address_map.UNIT_REGISTERS`. A command word of a
        core arrives as a write of ``cisc``.
    {port} : Out(WideReadSignature(config.shared, nbytes))
        Read of shared memory, for each port and its bytes in `config.matrix.reads`.
    descriptor : Out(stream.Signature(dma_descriptor(config.shared)))
        Work for the unit's port of the DMA.
    drain : Out(stream.Signature(8 * drain_bytes))
        Results in the order of the DRAIN and SPILL descriptors.
    fill : In(stream.Signature(fill_row(config.shared, fill_bytes)))
        Rows of D for the accumulator, if the unit loads D.
    done : In(ResponseSignature(dma_done))
        Completions of the descriptors. The last line of D may still be valid at `fill`.
    loading : In(1)
        The DMA executes loads, of any source: it has less bandwidth for results.
    progress : Out(progress_layout(UNIT_REGISTERS))
        Its registers for which cores wait, if there are cores.
    busy : Out(1)
        Combinational: the unit needs its clock in this cycle.
    error : Out(1)
        Any bit of the register ``error``.
    events : Out(events)
        Events of this cycle, to which the counters of its kind refer.
    """
    shared = config.shared
    progress = {"progress": Out(progress_layout(UNIT_REGISTERS))} if config.reports_progress else {}
    return {
        **progress,
        "registers": In(RegisterSignature(8)),
        **{
            port: Out(WideReadSignature(shared, nbytes))
            for port, nbytes in config.matrix.reads.items()
        },
        "drain": Out(stream.Signature(8 * config.matrix.drain_bytes)),
        **(
            {"fill": In(stream.Signature(fill_row(shared, config.matrix.fill_bytes)))}
            if config.matrix.fill_bytes
            else {}
        ),
        "descriptor": Out(stream.Signature(dma_descriptor(shared))),
        "done": In(ResponseSignature(dma_done)),
        "loading": In(1),
        "busy": Out(1),
        "error": Out(1),
        "events": Out(events),
    }
