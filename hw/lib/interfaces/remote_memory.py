"""Interface from a core to the shared memories of all clusters of a machine."""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ...config import SharedPortConfig
from ..streams import ResponseSignature
from .shared_memory import narrow_request

__all__ = ["RemoteSignature", "remote_request"]


def remote_request(config: SharedPortConfig, clusters: int) -> data.StructLayout:
    """Return the layout of a lane's access to the shared memory of a cluster."""
    return data.StructLayout({"cluster": ceil_log2(clusters), **narrow_request(config).members})


class RemoteSignature(wiring.Signature):
    """Port for word accesses of single lanes to any cluster's shared memory, seen from the core.

    Every accepted request, reads and writes, is answered in order; the response to a write carries
    no valid data. Responses cannot be stalled: the requester must have room for them. It has
    requests in flight to one cluster at a time, and offers one to another after all responses.

    Parameters
    ----------
    config : SharedPortConfig
    clusters : int

    Members
    -------
    request : Out(stream.Signature(remote_request(config, clusters)))
    response : In(ResponseSignature(32))
        At the earliest `config.read_latency` + 2 cycles after the request was accepted.
    """

    def __init__(self, config: SharedPortConfig, clusters: int):
        super().__init__({
            "request": Out(stream.Signature(remote_request(config, clusters))),
            "response": In(ResponseSignature(32)),
        })
