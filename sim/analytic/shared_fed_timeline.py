"""Timeline of ``gemm`` on tensor units fed by shared memory: loads, meetings and products."""

from ...hw.config import ClusterConfig
from ...kernels.gemm.hgmma.plan import hgmma_plan
from ...kernels.gemm.problem import GemmProblem
from ..harness.dram import DramConfig
from . import shared_fed_program as timing
from .loads import LoadTimeline
from .shared_fed_tiles import SharedTile, shared_tiles, tile_loads

__all__ = ["TERMS", "SharedFedTimeline"]

#: Parts of the cycles in the order of time, each with its meaning.
TERMS = {
    "begin": "begin marker to the command of the first load",
    "first_load": "loads of the first step, the first meeting and the first operands",
    "multiply": "products of the core with most blocks of C",
    "wait_results": "a single warp waits for its previous product",
    "wait_loads": "the leading warp commands loads or waits for them",
    "wait_meetings": "warps meet while the unit is idle",
    "change": "a core begins another tile of C",
    "store": "last product to the end of the last store",
    "end": "end of the last store to the end marker",
}


class SharedFedTimeline:
    """Timeline of core 0, which has most blocks of C and the warp that commands the DMA.

    All times are cycles after the begin marker. A step is one product of each warp of the core that
    has elements of C. It begins when the previous step is complete, and after a meeting when all
    warps have met. Warps arrive at a meeting when their product is in the unit; the leading warp
    also commands loads, and waits for those of the next steps.

    Parameters
    ----------
    config : ClusterConfig
    product : GemmProblem
    memory : DramConfig

    """

    def __init__(self, config: ClusterConfig, product: GemmProblem, memory: DramConfig):
        self.config, self.product, self.memory = config, product, memory
        self.plan = hgmma_plan(config)
        assert config.core is not None and config.dma is not None
        self.places = config.core.tensor_queue
        self.cycles = self.plan.tensor.steps
        self.loads = LoadTimeline(config, memory)
        self.held = config.dma.queue + config.dma.contexts
        self.tiles = shared_tiles(self.plan, product)
        self.depth = -(-product.k // self.plan.tensor.depth)
        self.rounds = self.depth * len(self.tiles)
        slots = self.plan.slots
        self.turn = 1 if slots < 5 else 2 if slots < 9 else 4
        self.ahead = slots - self.turn - (slots > 2)
        self.lead = 0.0  # when the leading warp is free
        self.commanded = self.loaded = 0  # steps, and their loads
        self.limit, self.needed = min(2, self.rounds), 1
        self.own = 0.0  # end of the last product of the leading warp
        self.led = 0  # cycles from the last command to a meeting
        self.met = 0.0  # last meeting
        self.waited_loads = False
        self.has_fetched = False  # the instructions of the store of single elements
        self.terms: dict[str, float] = dict.fromkeys(TERMS, 0.0)

    def run(self) -> dict[str, int]:
        """Return the cycles of the product by term."""
        end = self.begin()
        step = store = 0
        for number, tile in enumerate(self.tiles):
            for inner in range(self.depth):
                if step:
                    change = self.change(self.tiles[number - 1]) if not inner else 0
                    end = self.wait(end, change, is_turn(step - 1, self.turn))
                start, length = end, tile.warps * self.cycles
                chain = max(0, self.cycles + timing.CHAIN - length)
                self.terms["multiply"] += length
                self.terms["wait_results"] += chain
                end = start + length + chain
                self.lead_step(step, start, end, tile, is_first=bool(number) and not inner)
                step += 1
            # Of a single tile, other warps fetch the instructions meanwhile.
            store = self.store(tile, is_first=number == 0 and len(self.tiles) > 1)
            self.lead = max(self.lead, self.own) + timing.PLACE + store
        store = max(store, round(self.met + timing.LAST_MEETING - timing.END - end))
        self.terms["store"], self.terms["end"] = store, timing.END
        return {name: round(cycles) for name, cycles in self.terms.items()}

    def begin(self) -> float:
        """Command the loads of the first two steps; return when the first product starts."""
        commands = self.commands()
        begin = commands.begin
        self.lead = begin - commands.before - commands.load
        self.copy(2)
        loaded = self.loads.done(self.plan.cores + self.plan.across - 1)
        self.met = max(self.lead + commands.first, loaded + timing.LOADED)
        self.free()
        self.terms["begin"] = begin
        self.terms["first_load"] = self.met + timing.FIRST_PRODUCT - begin
        return self.met + timing.FIRST_PRODUCT

    def commands(self) -> timing.CommandCycles:
        """Return the cycles of the commands of the next step."""
        tile, inner = divmod(min(self.commanded, self.rounds - 1), self.depth)
        depth = self.plan.tensor.depth
        is_within = self.tiles[tile].is_within and (inner + 1) * depth <= self.product.k
        return timing.WITHIN if is_within else timing.EDGE

    def copy(self, count: int):
        """Command the loads of at most `count` steps for which slots are free."""
        for _ in range(min(count, self.limit - self.commanded)):
            commands = self.commands()
            tile, inner = divmod(self.commanded, self.depth)
            self.lead += commands.before
            loads = tile_loads(self.config, self.plan, self.product, self.tiles[tile], inner)
            for part, (load, bank) in enumerate(loads):
                self.lead += commands.load
                if part == self.plan.cores:
                    self.lead += commands.between
                if self.loaded >= self.held:
                    self.lead = max(self.lead, self.loads.done(self.loaded - self.held))
                self.loads.add(load, self.lead, bank)
                self.loaded += 1
            self.commanded += 1
            is_last = inner == self.depth - 1 or self.commanded % self.plan.slots == 0
            if is_last and commands is timing.WITHIN and self.commanded < self.rounds:
                self.lead += timing.RUN

    def free(self):
        """Free the slots of the steps before a meeting."""
        self.limit = min(self.needed + self.ahead, self.rounds)
        self.needed = min(self.needed + (1 if self.needed <= self.turn else self.turn), self.rounds)

    def lead_step(self, step: int, start: float, end: float, tile: SharedTile, is_first: bool):
        """Let warps arrive at the meeting of a step, and the leading warp command loads."""
        queued = max(0, tile.warps - self.places) * self.cycles
        if is_first:  # the last warp stores its block of the previous tile before
            queued = max(queued, timing.CHAIN + self.store(tile))
        arrived = start + queued + timing.ARRIVE
        self.lead = max(self.lead, self.own)
        self.own = max(end, self.lead + self.cycles + timing.CHAIN)
        if is_turn(step, self.turn):
            self.copy(self.needed - self.commanded)
            last = self.needed * (self.plan.cores + self.plan.across) - 1
            led = max(self.lead + self.led, self.loads.done(last) + timing.LOADED)
            self.met = max(arrived, led)
            self.waited_loads = led > arrived
            self.free()
            commands = self.commands()
            self.led = commands.led
            self.lead = self.met + commands.lead
        else:
            self.lead += timing.LOOP
        self.copy(2 if step < self.turn or step % 2 == 0 else 1)

    def wait(self, end: float, change: float, met: bool) -> float:
        """Return when the next step begins after `end`; account for the cycles between."""
        self.terms["change"] += change
        end += change
        late = max(0.0, self.met + timing.NEXT_PRODUCT - end) if met else 0.0
        self.terms["wait_loads" if self.waited_loads else "wait_meetings"] += late
        return end + late

    def store(self, tile: SharedTile, is_first: bool = False) -> int:
        """Return the cycles of the store of blocks of C by the last warps of a core."""
        fetch = timing.FETCH if is_first else 0
        if not tile.ragged:
            return fetch + timing.STORE
        if not self.has_fetched:
            self.has_fetched = True
            fetch = timing.EDGE_FETCH
        return fetch + timing.EDGE_STORE * tile.ragged

    def change(self, tile: SharedTile) -> int:
        """Return the cycles without products of a core after a tile."""
        others = (tile.warps - 1) * self.cycles
        return max(timing.CHANGE, timing.CHAIN + self.store(tile) - others)


def is_turn(step: int, turn: int) -> bool:
    """Return whether warps meet in a step."""
    return step < turn or step % turn == 0
