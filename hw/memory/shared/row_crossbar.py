"""Crossbar from the row ports to the slices of a bank of shared memory."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Member, Out

from ...emit.shared_block import SharedBlock
from .crossbar import route
from .ports import SharedMemoryPorts
from .signatures import RequestsSignature, RowAccessSignature

__all__ = ["RowCrossbar", "row_members"]


def row_members(config: SharedMemoryPorts) -> dict[str, Member]:
    """Return the ports of rows: `row_{n}`, by addresses in a bank."""
    layout = data.StructLayout({
        "address": config.bank_address_width,
        "write": 1,
        "data": 8 * config.slice_bytes,
        "mask": config.slice_bytes,
    })
    return {f"row_{n}": In(stream.Signature(layout)) for n in range(config.row_ports)}


class RowCrossbar(SharedBlock):
    """Row crossbar: routes the request of each row port to the slice that holds its row.

    Combinational.

    Parameters
    ----------
    config : SharedMemoryPorts
        With row ports.

    Members
    -------
    row_{n} : see `row_members`
    access : Out(RowAccessSignature(config))
        To all slices.
    requests : Out(RequestsSignature(config.row_ports)).array(config.slices)
    """

    def __init__(self, config: SharedMemoryPorts):
        self.config = config
        super().__init__(
            row_members(config)
            | {
                "access": Out(RowAccessSignature(config)),
                "requests": Out(RequestsSignature(config.row_ports)).array(config.slices),
            }
        )

    def build(self, platform):
        m = Module()
        for n, row in enumerate(self.access.row):
            name = f"row_{n}"
            route(m, getattr(self, name), row, self.requests, n, self.config.slice_bytes, name)
        return m
