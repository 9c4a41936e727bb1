"""Litmus tests: small programs of a few agents that distinguish memory orders."""

from collections.abc import Iterable
from dataclasses import dataclass

from spica.sim.golden.memory.memory_steps import (
    Await,
    Copy,
    Fence,
    FenceI,
    Fetch,
    Load,
    Step,
    Store,
)

__all__ = ["SHAPES", "Shape"]

F, FI, WAIT = Fence(), FenceI(), Await()
#: Core and warp of each agent, for two agents and for four.
APART, TOGETHER = ((0, 0), (1, 0)), ((0, 0), (0, 1))
FOUR = ((0, 0), (1, 0), (0, 1), (1, 1))
#: Fences of the first and second agent with which a weak outcome must be seen.
SHOWN = {"message": ((0, 0), (1, 0)), "stores": ((0, 0), (1, 0), (0, 1)), "loads": ((0, 0),)}


@dataclass(frozen=True)
class Shape:
    """A litmus test: the steps of each agent, and its core and warp in `where`.

    Places that begin with ``s`` are in shared memory; those with ``i`` hold instructions. A copy
    to a place with ``c`` is a product of the matrix unit, which it writes through the DMA. `weak`
    has register values that are allowed and must be seen; if it is empty, no outcome is required.
    With `beat` all places are in one beat of DRAM, else anywhere.
    """

    name: str
    steps: tuple[tuple[Step, ...], ...]
    where: tuple[tuple[int, int], ...]
    weak: tuple[tuple[int, ...], ...] = ()
    beat: bool = False

    @property
    def places(self) -> list[str]:
        """Names of the words, sorted."""
        names = set()
        for step in (step for steps in self.steps for step in steps):
            if isinstance(step, Copy):
                names |= {name for pair in step.words for name in pair}
            elif isinstance(step, Load | Store | Fetch):
                names.add(step.place)
        return sorted(names)

    @property
    def single(self) -> bool:
        """Whether only one thread of a warp runs it, as DMA and program counter are shared."""
        kinds = {type(step) for steps in self.steps for step in steps}
        return bool(kinds & {Copy, Fetch})


def st(place: str, value: int = 1) -> Store:
    """Return a store of a word."""
    return Store(place, value)


def byte(place: str, number: int, value: int) -> Store:
    """Return a store of one byte of a word."""
    return Store(place, value << 8 * number, 0xFF << 8 * number)


def ld(place: str, register: str) -> Load:
    """Return a load of a word."""
    return Load(place, register)


def optional(step: Step, there: bool) -> tuple[Step, ...]:
    """Return a step if `there`, else none."""
    return (step,) if there else ()


def fenced() -> Iterable[Shape]:
    """Yield shapes of two agents, with no fence, with one in either, and in both."""
    for name, where in (("apart", APART), ("together", TOGETHER)):
        for fences in ((0, 0), (1, 0), (0, 1), (1, 1)):
            one, two = (optional(F, bool(there)) for there in fences)
            label = f"{name}{'-fence' * fences[0] or '-none'}{'-fence' * fences[1] or '-none'}"
            pairs = {
                "message": ((st("x"), *one, st("y")), (ld("y", "a"), *two, ld("x", "b")), (1, 0)),
                "stores": ((st("x"), *one, ld("y", "a")), (st("y"), *two, ld("x", "b")), (0, 0)),
                "loads": ((ld("x", "a"), *one, st("y")), (ld("y", "b"), *two, st("x")), (1, 1)),
                "writes": ((st("x", 1), *one, st("y", 2)), (st("y", 1), *two, st("x", 2)), None),
            }
            for kind, (first, second, weak) in pairs.items():
                is_shown = weak and where is APART and fences in SHOWN.get(kind, ())
                yield Shape(f"{kind}-{label}", (first, second), where, (weak,) if is_shown else ())


def coherent() -> Iterable[Shape]:
    """Yield shapes with one word."""
    for name, where in (("apart", APART), ("together", TOGETHER)):
        reads = (ld("x", "a"), ld("x", "b"))
        yield Shape(f"read-read-{name}", ((st("x"),), reads), where)
        yield Shape(f"write-write-{name}", ((st("x"), st("x", 2)), reads), where)
        yield Shape(f"write-read-{name}", ((st("x"), ld("x", "a")), (st("x", 2),)), where)
        yield Shape(f"read-write-{name}", ((ld("x", "a"), st("x")), (st("x", 2),)), where)
        fenced_reads = (ld("x", "a"), F, ld("x", "b"))
        yield Shape(f"read-fence-read-{name}", ((st("x"), st("x", 2)), fenced_reads), where)
        one_beat = ((st("x"), st("y")), (ld("y", "a"), ld("x", "b")))
        yield Shape(f"message-in-a-beat-{name}", one_beat, where, beat=True)
        bytes_of = tuple((byte("x", n, 7 + n), ld("x", "ab"[n])) for n in range(2))
        yield Shape(f"bytes-{name}", bytes_of, where)
        halves = (Store("x", 0x1234, 0xFFFF), F, ld("x", "a")), (st("x", 5 << 16 | 6), F)
        yield Shape(f"half-and-word-{name}", halves, where)
    four = [(byte("x", n, 1 + n),) for n in range(4)]
    loads = [(F, ld("x", "a")), (F, ld("x", "b")), (), ()]
    yield Shape("four-bytes", tuple(a + b for a, b in zip(four, loads, strict=True)), FOUR)
    two = ((st("x", 1),), (st("x", 2),), (ld("x", "a"), ld("x", "b")), (ld("x", "c"), F))
    yield Shape("two-writers", two, FOUR)


def several() -> Iterable[Shape]:
    """Yield shapes of three and four agents."""
    for name, step in (("none", ()), ("fence", (F,))):
        readers = (
            (ld("x", "a"), *step, ld("y", "b")),
            (ld("y", "c"), *step, ld("x", "d")),
        )
        weak = ((1, 0, 1, 0),) if name == "none" else ()
        yield Shape(f"independent-reads-{name}", ((st("x"),), (st("y"),), *readers), FOUR, weak)
        chain = ((st("x"),), (ld("x", "a"), *step, st("y")), (ld("y", "b"), *step, ld("x", "c")))
        yield Shape(f"chain-{name}", chain, ((0, 0), (1, 0), (0, 1)))
        # A fence does not wait for stores of other warps of the core, even if these were read.
        shown = ((1, 1, 0),) if name == "none" else ()
        yield Shape(f"chain-of-a-core-{name}", chain, ((0, 0), (0, 1), (1, 0)), shown)
    shared = ((st("s1"), F, st("s2")), (ld("s2", "a"), F, ld("s1", "b")))
    for name, where in (("apart", APART), ("together", TOGETHER)):
        yield Shape(f"shared-message-{name}", shared, where)
        reads = (ld("s1", "a"), ld("s1", "b"))
        yield Shape(f"shared-read-read-{name}", ((st("s1"), st("s1", 2)), reads), where)
        both = ((st("x"), F, st("s1")), (ld("s1", "a"), F, ld("x", "b")))
        yield Shape(f"both-memories-{name}", both, where)


def engines() -> Iterable[Shape]:
    """Yield shapes with the DMA."""
    load, store = Copy((("x", "s1"),)), Copy((("s1", "x"),))
    for there in (False, True):
        name, fence = ("fence" if there else "none"), optional(F, there)
        weak = () if there else ((0,),)
        steps = (st("x"), *fence, load, WAIT, ld("s1", "a"))
        yield Shape(f"dma-reads-store-{name}", (steps,), ((0, 0),))
        steps = (st("s1"), F, store, WAIT, *fence, ld("x", "a"))
        yield Shape(f"dma-writes-load-{name}", (steps,), ((0, 0),), weak)
        threads = (st("s1"), F, store, WAIT, st("y")), (ld("y", "a"), *fence, ld("x", "b"))
        yield Shape(f"dma-writes-message-{name}", threads, APART, () if there else ((1, 0),))
        threads = (st("x"), *fence, st("y")), (ld("y", "a"), F, load, WAIT, ld("s1", "b"))
        yield Shape(f"dma-reads-message-{name}", threads, APART)
    beside = (st("s1", 3), F, store, WAIT), (byte("x", 1, 5), byte("y", 2, 6), F, ld("x", "a"))
    yield Shape("dma-writes-among-bytes", beside, APART)
    yield Shape("dma-writes-in-a-beat", beside, APART, beat=True)
    reads = (load, WAIT), (ld("s1", "a"), ld("s1", "b"), st("x"))
    yield Shape("dma-writes-shared-read", reads, APART)
    back = (st("s1", 9), F, Copy((("s1", "x"),)), WAIT, Copy((("x", "s2"),)), WAIT, ld("s2", "a"))
    yield Shape("dma-there-and-back", (back,), ((0, 0),))


def products() -> Iterable[Shape]:
    """Yield shapes with the matrix unit."""
    drain = st("s1"), F, Copy((("s1", "c"),)), WAIT
    for there in (False, True):
        name, fence = ("fence" if there else "none"), optional(F, there)
        weak = () if there else ((0,),)
        yield Shape(f"product-load-{name}", ((*drain, *fence, ld("c", "a")),), ((0, 0),), weak)
        threads = (*drain, st("y")), (ld("y", "a"), *fence, ld("c", "b"))
        yield Shape(f"product-message-{name}", threads, APART, () if there else ((1, 0),))


def instructions() -> Iterable[Shape]:
    """Yield shapes in which instructions are written and then executed."""
    run = Fetch("i", "z")
    for there in (False, True):
        name, fence = ("fence" if there else "none"), optional(FI, there)
        weak = () if there else ((0,),)
        yield Shape(f"code-own-{name}", ((st("i"), F, *fence, run),), ((0, 0),), weak)
        yield Shape(f"code-own-unfenced-{name}", ((st("i"), *fence, run),), ((0, 0),))
        threads = (st("i"), F, st("y")), (ld("y", "a"), F, *fence, run)
        yield Shape(f"code-message-{name}", threads, APART, () if there else ((1, 0),))


SHAPES = {
    shape.name: shape
    for shapes in (fenced, coherent, several, engines, products, instructions)
    for shape in shapes()
}
