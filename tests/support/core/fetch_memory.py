"""Instruction memory for benches: pairs of words, in any order, at random times."""

import random
from collections.abc import Callable

from amaranth import Value

from spica.hw.config import CoreConfig
from spica.hw.lib.interfaces.core_memory import fetch_request_layout, fetch_response_layout
from support.packing import Packing

__all__ = ["FetchMemory"]


class FetchMemory:
    """Memory behind the fetch port of a core or its front end, one cycle at a time.

    It answers at most one request per cycle. Asserted: a refused request stays, addresses are
    multiples of 8, and no tag is requested twice at a time.

    Parameters
    ----------
    config : CoreConfig
    request, response : stream and response interfaces
        Fetch port, seen from outside the design.
    word : callable
        Returns the word at an address, None if there is no memory.
    rng : random.Random
    latency : tuple of int
        Minimum and maximum cycles from request to answer.
    stall : float
        Probability, per cycle, that no request is accepted.

    Attributes
    ----------
    requests : int
        Number of accepted requests.

    """

    def __init__(
        self,
        config: CoreConfig,
        request,
        response,
        word: Callable[[int], int | None],
        rng: random.Random,
        *,
        latency: tuple[int, int] = (1, 1),
        stall: float = 0.0,
    ):
        self.word, self.rng, self.latency, self.stall = word, rng, latency, stall
        self.request_packing = Packing(fetch_request_layout(config))
        self.response_packing = Packing(fetch_response_layout(config))
        self.ready, self.response = request.ready, response
        self.samples = [request.valid, Value.cast(request.payload)]
        self.cycle = self.requests = 0
        self.willing = False
        self.under_way: list[tuple[int, dict, int]] = []  # cycle of the answer, tag, address
        self.refused: int | None = None

    def drive(self, ctx) -> None:
        """Set the inputs of the design for this cycle."""
        self.willing = self.rng.random() >= self.stall
        ctx.set(self.ready, self.willing)
        due = [request for request in self.under_way if request[0] <= self.cycle]
        ctx.set(self.response.valid, bool(due))
        if due:
            answered = self.rng.choice(due)
            self.under_way.remove(answered)
            ctx.set(Value.cast(self.response.payload), self.answer_to(*answered[1:]))
        else:
            ctx.set(self.response.payload.data, self.rng.getrandbits(64))

    def answer_to(self, tag: dict, address: int) -> int:
        """Return the packed response to a request."""
        words = [self.word(address + 4 * k) for k in range(2)]
        data = sum((word or 0) << 32 * k for k, word in enumerate(words))
        return self.response_packing.pack({"tag": tag, "data": data, "error": None in words})

    def take(self, valid: int, payload: int) -> None:
        """Take the sampled outputs of this cycle."""
        assert self.refused is None or (valid and payload == self.refused), "a request changed"
        self.refused = payload if valid and not self.willing else None
        if valid and self.willing:
            request = self.request_packing.unpack(payload)
            assert request["address"] % 8 == 0
            assert all(request["tag"] != tag for _, tag, _ in self.under_way), "tag already in use"
            due = self.cycle + self.rng.randint(*self.latency)
            self.under_way.append((due, request["tag"], request["address"]))
            self.requests += 1
        self.cycle += 1
