"""Network from the cores of all clusters to the shared memory of each."""

from typing import Any

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect
from amaranth.utils import ceil_log2

from ..config import ClusterNetworkConfig
from ..emit.shared_block import SharedBlock
from ..lib.arbiter import Arbiter, ArbitrationSignature
from ..lib.interfaces.remote_memory import RemoteSignature
from ..lib.interfaces.shared_memory import NarrowSignature, narrow_request
from ..lib.one_hot import number_of, select, union
from ..lib.register_slices import RegisterSlice
from ..lib.streams import ResponseSignature

__all__ = ["ClusterNetwork"]


class ClusterNetwork(SharedBlock):
    """Network: serves the cores' requests at one port of each cluster's shared memory.

    | cycle                | event                                                              |
    |----------------------|--------------------------------------------------------------------|
    | 0                    | a core's request is granted and accepted                           |
    | 1                    | it is offered to shared memory, if none before it waits there      |
    | n                    | shared memory accepts it                                           |
    | n + `read_latency`   | shared memory responds                                             |
    | n + that + 1         | response to the core                                               |

    One request per cycle and cluster, in the order of acceptance. Each cluster serves all cores
    round-robin: a request waits for at most one request of each other core, and for up to two that
    were accepted before and wait for shared memory. `core[n].request.ready` depends on requests of
    all cores and on registers, not on shared memory.

    Parameters
    ----------
    config : ClusterNetworkConfig

    Members
    -------
    core : In(RemoteSignature(config.shared, config.clusters)).array(config.cores)
        A core has requests in flight to one cluster at a time, so no two responses to it meet.
    shared : Out(NarrowSignature(config.shared)).array(config.clusters)
    """

    def __init__(self, config: ClusterNetworkConfig):
        self.config = config
        core = RemoteSignature(config.shared, config.clusters)
        super().__init__({
            "core": In(core).array(config.cores),
            "shared": Out(NarrowSignature(config.shared)).array(config.clusters),
        })

    def build(self, platform):
        m = Module()
        accepted, responses = [], []
        for cluster in range(self.config.clusters):
            accepts, owner = self.serve(m, cluster)
            accepted.append(accepts)
            responses.append(self.respond(m, cluster, owner))
        accepts = union(accepted)
        for number, core in enumerate(self.core):
            answers = Cat(
                response.valid & (response.payload.core == number) for response in responses
            )
            m.d.comb += [
                core.request.ready.eq(accepts[number]),
                core.response.valid.eq(answers.any()),
                core.response.payload.eq(
                    select(answers, [response.payload.data for response in responses])
                ),
            ]
        return m

    def serve(self, m: Module, cluster: int) -> tuple[Value, Value]:
        """Offer requests to a cluster; return the accepted ones, and the core of the offered."""
        cores, port = self.config.cores, self.shared[cluster]
        layout = data.StructLayout({
            "core": ceil_log2(cores),
            "access": narrow_request(self.config.shared),
        })
        m.submodules[f"arbiter_{cluster}"] = arbiter = Arbiter(cores)
        # It keeps the late grants of shared memory out of the arbitration.
        m.submodules[f"slice_{cluster}"] = granted = RegisterSlice(layout)
        requesters: Any = ArbitrationSignature(cores).create(path=(f"requesters_{cluster}",))
        connect(m, requesters, arbiter)
        chosen: Any = stream.Signature(layout).create(path=(f"chosen_{cluster}",))
        connect(m, chosen, granted.i)
        offered: Any = stream.Signature(layout).flip().create(path=(f"offered_{cluster}",))
        connect(m, granted.o, offered)
        requests = Cat(
            core.request.valid & (core.request.payload.cluster == cluster) for core in self.core
        )
        accesses = [self.access_of(core) for core in self.core]
        m.d.comb += [
            requesters.requests.eq(requests),
            requesters.accept.eq(chosen.valid & chosen.ready),
            chosen.valid.eq(requests.any()),
            chosen.payload.core.eq(number_of(requesters.grant)),
            Value.cast(chosen.payload.access).eq(select(requesters.grant, accesses)),
            port.request.valid.eq(offered.valid),
            port.request.payload.eq(offered.payload.access),
            offered.ready.eq(port.request.ready),
        ]
        return Mux(chosen.ready, requesters.grant, 0), offered.payload.core

    def respond(self, m: Module, cluster: int, owner: Value) -> Any:
        """Return the registered response of a cluster: data, and core, now offered as `owner`."""
        for stage in range(self.config.shared.read_latency):
            later = Signal(len(owner), name=f"owner_{cluster}_{stage}", reset_less=True)
            m.d.sync += later.eq(owner)
            owner = later
        layout = data.StructLayout({"core": len(owner), "data": 32})
        response: Any = ResponseSignature(layout).create(path=(f"response_{cluster}",))
        arriving = self.shared[cluster].response
        m.d.sync += [
            response.valid.eq(arriving.valid),
            response.payload.core.eq(owner),
            response.payload.data.eq(arriving.payload),
        ]
        return response

    def access_of(self, core: Any) -> Value:
        """Return the request of a core without the number of its cluster."""
        payload = core.request.payload
        return Cat(Value.cast(payload[name]) for name, _ in narrow_request(self.config.shared))
