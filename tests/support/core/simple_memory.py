"""Memory for benches of load-store units: latency, stalls, partial and reordered responses."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from amaranth import Value

from spica.hw.config import CoreConfig
from spica.hw.isa.operations import AtomicOperation, Port
from spica.hw.lib.interfaces.core_memory import data_request_layout, data_response_layout
from spica.sim.golden.core.units.load_store import Request, has_expected
from spica.sim.golden.memory.atomic.atomic_unit import atomic_word
from support.packing import Packing

__all__ = ["SimpleMemory"]


@dataclass
class _Pending:
    """A request without a full answer: earliest cycle, remaining lanes, and data."""

    number: int
    due: int
    tag: int
    mask: int
    error: int
    words: list[int]


def strobed(word: int, strobes: int) -> int:
    """Return the bytes of a word that `strobes` selects."""
    return sum(word & 0xFF << 8 * byte for byte in range(4) if strobes >> byte & 1)


@dataclass(kw_only=True)
class SimpleMemory:
    """Memory from `base`, behind ports like those of `LoadStoreUnit`.

    A request takes effect when it is accepted, one lane after the other. It is answered after
    `latency` to `latency + jitter` cycles. At most one answer leaves per cycle.

    Parameters
    ----------
    config : CoreConfig
    base : int
        Address of the first byte.
    contents : bytearray
        The bytes; accesses outside them are refused.
    rng : random.Random
    latency : int
        Cycles from request to answer, at least 1.
    jitter : int
        Maximum additional random cycles.
    stall : float
        Probability, per cycle, that no request is accepted.
    silence : float
        Probability, per cycle, that no request is answered.
    split : float
        Probability that an answer covers only some of the lanes.
    shuffle : bool
        Whether due answers leave in any order, instead of the oldest first.

    Attributes
    ----------
    requests : list of Request
        Accepted requests, without data of inactive lanes or unstored bytes.
    answers : list of tuple of int
        Number of the request, mask of lanes and cycle of each answer.
    reserved : dict of (int, int) to int
        Place of the word that an owner and a lane have reserved; a reservation has no age.

    """

    config: CoreConfig
    base: int
    contents: bytearray = field(repr=False)
    rng: random.Random
    latency: int = 1
    jitter: int = 0
    stall: float = 0.0
    silence: float = 0.0
    split: float = 0.0
    shuffle: bool = False
    requests: list[Request] = field(default_factory=list)
    answers: list[tuple[int, int, int]] = field(default_factory=list)
    reserved: dict[tuple[int, int], int] = field(default_factory=dict)

    def __post_init__(self):
        if self.latency < 1:
            raise ValueError(f"latency must be at least 1, not {self.latency!r}")
        self.pending: list[_Pending] = []
        self.cycle = 0
        self.lanes = self.config.lanes(Port.MEMORY)
        self.request_packing = Packing(data_request_layout(self.config))
        self.response_packing = Packing(data_response_layout(self.config))

    async def serve(self, ctx, request, response, until: Callable[[], bool]) -> None:
        """Run as a testbench: accept and answer requests until `until()` is true."""
        requested, answered = Value.cast(request.payload), Value.cast(response.payload)
        while not until():
            willing = self.rng.random() >= self.stall
            ctx.set(request.ready, willing)
            answer = self._choose()
            ctx.set(response.valid, answer is not None)
            if answer is not None:
                ctx.set(answered, self.response_packing.pack(answer))
            _, _, valid, payload = await ctx.tick().sample(request.valid, requested)
            self.cycle += 1
            if valid and willing:
                self._accept(**self.request_packing.unpack(payload))
        ctx.set(request.ready, 0)
        ctx.set(response.valid, 0)

    def _accept(self, tag, is_store, mask, address, data, strobes, **fields) -> None:
        """Apply a request, with its `fields` of atomics, and queue its answer."""
        operation = AtomicOperation(fields["operation"]) if fields.get("atomic") else None
        lanes = [lane for lane in range(self.lanes) if mask >> lane & 1]
        if any(request.tag == tag for request in self.pending):
            raise AssertionError(f"tag {tag} is already in use by a request in progress")
        if not lanes:
            raise AssertionError("a request has no active lane")
        error, words, stored, compared = 0, [0] * self.lanes, [], []
        for lane in lanes:
            at = (address[lane] & ~3) - self.base
            if not 0 <= at < len(self.contents):
                error |= 1 << lane
            elif operation is not None:
                place = (fields["owner"], lane), at
                values = data[lane], fields["expected"][lane]
                words[lane] = self._perform(operation, *place, strobes[lane], *values)
            elif not is_store:
                words[lane] = int.from_bytes(self.contents[at : at + 4], "little")
            if is_store:
                stored.append(self._store(at, data[lane], strobes[lane]))
            if operation is not None:
                stored.append((strobed(data[lane], strobes[lane]), strobes[lane]))
            if has_expected(operation):
                compared.append(strobed(fields["expected"][lane], strobes[lane]))
        # The request was accepted in the cycle before this one.
        due = self.cycle - 1 + self.latency + self.rng.randint(0, self.jitter)
        self.pending.append(_Pending(len(self.requests), due, tag, mask, error, words))
        self.requests.append(
            Request(
                is_store=bool(is_store),
                mask=mask,
                addresses=tuple(address[lane] for lane in lanes),
                words=tuple(word for word, _ in stored),
                strobes=tuple(strobes for _, strobes in stored),
                operation=operation,
                owner=0 if operation is None else fields["owner"],
                expected=tuple(compared),
            )
        )

    def _perform(self, operation, owner, at, strobes, operand, expected) -> int:
        """Perform an atomic operation on a word, and return its result."""
        old = int.from_bytes(self.contents[at : at + 4], "little")
        if operation in (AtomicOperation.LR, AtomicOperation.SC):
            has_reserved = self.reserved.pop(owner, None) == at
            if operation == AtomicOperation.SC and not has_reserved:
                return 1
        if operation == AtomicOperation.LR:
            self.reserved[owner] = at
        written = atomic_word(operation, strobes, old, operand, expected)
        if written is not None:
            self._store(at, written, strobes)
        return 0 if operation == AtomicOperation.SC else old

    def _store(self, at: int, word: int, strobes: int) -> tuple[int, int]:
        """Store the strobed bytes of a word; return those, and the strobes."""
        if 0 <= at < len(self.contents):
            for byte in range(4):
                if strobes >> byte & 1:
                    self.contents[at + byte] = word >> 8 * byte & 0xFF
            self.reserved = {one: word for one, word in self.reserved.items() if word != at}
        return strobed(word, strobes), strobes

    def _choose(self) -> dict | None:
        """Return the answer of this cycle, if any."""
        due = [request for request in self.pending if request.due <= self.cycle]
        if not due or self.rng.random() < self.silence:
            return None
        chosen = self.rng.choice(due) if self.shuffle else due[0]
        mask = chosen.mask
        if self.rng.random() < self.split:
            mask &= self.rng.randrange(1 << self.lanes)
            mask = mask or chosen.mask & -chosen.mask
        chosen.mask &= ~mask
        if not chosen.mask:
            self.pending.remove(chosen)
        self.answers.append((chosen.number, mask, self.cycle))
        # Lanes outside the answer carry undefined data.
        return {
            "tag": chosen.tag,
            "mask": mask,
            "error": chosen.error & mask,
            "data": [
                word if mask >> lane & 1 else self.rng.getrandbits(32)
                for lane, word in enumerate(chosen.words)
            ],
        }
