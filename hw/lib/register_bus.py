"""Register bus between the control port and the units."""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .streams import ResponseSignature

__all__ = ["RegisterSignature", "register_request", "register_response"]


def register_request(address_width: int) -> data.StructLayout:
    """Layout of one access: byte address, write flag and write data."""
    return data.StructLayout({"address": address_width, "write": 1, "data": 32})


#: Response layout: read data (0 for a write) and whether the address was refused.
register_response = data.StructLayout({"data": 32, "error": 1})


class RegisterSignature(wiring.Signature):
    """Register accesses seen from the requester.

    One access is in flight at a time. `request` is held while the unit cannot accept a write (a
    full queue). Each accepted request gets its `response` one cycle later.
    """

    def __init__(self, address_width: int):
        self.address_width = address_width
        super().__init__({
            "request": Out(stream.Signature(register_request(address_width))),
            "response": In(ResponseSignature(register_response)),
        })
