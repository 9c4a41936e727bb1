"""Ports of a register bank: requests of a collector or bus, and the row that a bus writes."""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...config import PipelineConfig
from .register_map import RegisterMap

__all__ = ["BankPortSignature", "BankRowSignature"]


class BankPortSignature(wiring.Signature):
    """Request of a collector or bus at a bank; without a grant it must be repeated.

    Members
    -------
    request : Out(1)
    place : Out(RegisterMap(config).place_layout)
    grant : In(1)
    """

    def __init__(self, config: PipelineConfig):
        place = RegisterMap(config).place_layout
        super().__init__({"request": Out(1), "place": Out(place), "grant": In(1)})


class BankRowSignature(wiring.Signature):
    """Row of a bank that a bus writes.

    Members
    -------
    mask : Out(words)
        Words that are written.
    data : Out(32 * words)
    """

    def __init__(self, config: PipelineConfig):
        words = RegisterMap(config).words
        super().__init__({"mask": Out(words), "data": Out(32 * words)})
