"""Timeline of ``gemm`` on tensor units fed by registers: tiles of operands and stores of C."""

from ...hw.config import ClusterConfig
from ...kernels.gemm.problem import GemmProblem
from ...kernels.gemm.target import tensor_unit
from ...kernels.gemm.tensor.plan import tensor_plan
from ..harness.dram import DramConfig
from . import register_fed_program as timing
from .loads import LoadTimeline
from .register_fed_tiles import program_rounds, round_loads, store_instructions

__all__ = ["TERMS", "RegisterFedTimeline"]

#: Parts of the cycles in the order of time, each with its meaning.
TERMS = {
    "begin": "begin marker to the first load",
    "first_load": "loads of the first tiles of operands, the first meeting and first fragments",
    "multiply": "products of a core",
    "turn": "from one tile of operands to the next",
    "wait_operands": "the next tile of operands is commanded, loaded or copied meanwhile",
    "change": "stores of a tile of C and the next fragments, without products",
    "store": "last product to the end of the last store",
    "end": "end of the last store to the end marker",
}


class RegisterFedTimeline:
    """Timeline of the core with most stores. All times are cycles after the begin marker.

    All warps multiply in every tile of operands, also those without elements of C. The DMA loads
    tiles ahead into the slots of shared memory; cores without it copy them between their products.

    Parameters
    ----------
    config : ClusterConfig
    program : ProgramCycles
    product : GemmProblem
    memory : DramConfig

    """

    def __init__(
        self,
        config: ClusterConfig,
        program: timing.ProgramCycles,
        product: GemmProblem,
        memory: DramConfig,
    ):
        assert config.core is not None
        self.config, self.program, self.product = config, program, product
        self.plan = tensor_plan(config)
        self.rounds = program_rounds(self.plan, product)
        self.is_deep = not self.rounds[0].last  # several tiles of operands for a tile of C
        self.step = 2 * config.core.warps * tensor_unit(config).steps
        self.loads = LoadTimeline(config, memory) if config.dma is not None else None
        self.commanded = self.loaded = 0  # tiles of operands, and loads
        self.ends: list[int] = []  # loads up to the end of each tile
        self.terms: dict[str, float] = dict.fromkeys(TERMS, 0.0)

    def run(self) -> dict[str, int]:
        """Return the cycles of the product by term."""
        terms, program = self.terms, self.program
        now = self.begin()
        for number, round_ in enumerate(self.rounds):
            cycles = round_.steps * self.step
            terms["multiply"] += cycles
            if number + 1 == len(self.rounds):
                break
            self.command(now, self.allowed(number))
            end = now + max(cycles, program.least)
            end = max(end, self.ready(number + 1) - program.turn)
            terms["wait_operands"] += end - now - cycles
            rest = self.change(number) if round_.last else program.turn
            terms["change" if round_.last else "turn"] += rest
            now = end + rest
        instructions = self.instructions(len(self.rounds) - 1)
        terms["store"] = instructions + program.ragged_store if instructions else program.store
        terms["end"] = timing.END
        return {name: round(cycles) for name, cycles in terms.items()}

    def begin(self) -> float:
        """Load the first tiles; return when the first product starts."""
        program = self.program
        met = program.begin + program.copy
        if self.loads is not None:
            met = self.command(program.begin, 2) + timing.AWAIT
            met = max(met, self.ready(0))
        self.terms["begin"] = program.begin
        self.terms["first_load"] = met - program.begin + program.first
        return met + program.first

    def allowed(self, number: int) -> int:
        """Return the tiles that are commanded at the beginning of a tile, besides the first two.

        The leading warp commands at most two at a time, and one less than the slots ahead.
        """
        return min(2 * number + 2, max(2, number - 1 + self.plan.slots)) if number else 2

    def command(self, now: float, limit: int) -> float:
        """Command loads up to those of tile `limit`; return the end of the commands."""
        if self.loads is None:
            return now
        while self.commanded < min(limit, len(self.rounds)):
            steps = self.rounds[self.commanded].steps
            for load in round_loads(self.config, self.plan, self.product, steps):
                self.loads.add(load, now, self.loaded % self.loads.contexts)
                self.loaded += 1
                now += timing.LOAD
            self.ends.append(self.loaded - 1)
            self.commanded += 1
            now += timing.TILE
        return now

    def ready(self, number: int) -> float:
        """Return when warps can meet for a tile of operands."""
        if self.loads is None:
            return 0.0
        return self.loads.done(self.ends[number]) + timing.LOADED

    def instructions(self, number: int) -> int:
        """Return the instructions of the store of a tile of C; 0 for whole words."""
        return store_instructions(self.config, self.plan, self.product, self.rounds[number])

    def change(self, number: int) -> int:
        """Return the cycles between two tiles of C."""
        instructions = self.instructions(number)
        if instructions:
            return instructions + self.program.ragged_change
        return self.program.deep_change if self.is_deep else self.program.change
