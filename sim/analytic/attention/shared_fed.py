"""Analytic model of ``attention`` on tensor units fed by shared memory: rounds and blocks."""

from ....hw.config import WORD_BYTES, ClusterConfig
from ....kernels.attention.hgmma.plan import TILE, HgmmaAttentionPlan, attention_plan
from ....kernels.attention.problem import AttentionProblem
from ....kernels.gemm.target import hgmma_unit
from ..work import Traffic
from .dma_traffic import dma_traffic
from .levels import CachedWork, row_bytes
from .shared_fed_program import POWER, PROGRAMS, ProgramCycles
from .shared_fed_steps import CoreBlock, Round, core_rounds

__all__ = ["PROGRAMS", "TERMS", "described"]

#: Rows of B, the depth of a product, and bytes of each of its operands.
DEPTH, OPERAND_BYTES = 32, 1024
#: Parts of the cycles, each with its meaning.
TERMS = {
    "begin": "begin marker to the first scores, besides Q of the warps, and last O to the end",
    "multiply": "products of the core with most work in each block",
    "wait_warps": "the unit has no product: too few warps are in a section of products",
    "queries": "Q of the warps of the first round, and their O at its end",
    "settle": "first blocks of a round, in which warps are in the same section",
    "change": "O of the round before, and Q of the next one",
    "mask": "scores of hidden keys",
}


def described(
    config: ClusterConfig, program: ProgramCycles, problem: AttentionProblem
) -> tuple[dict[str, int], Traffic, CachedWork]:
    """Return the cycles by term, the exact work, and that of the cores through their caches."""
    plan = attention_plan(config, problem.depth)
    products = block_products(plan, problem.depth)
    steps = hgmma_unit(config).steps
    rounds = list(core_rounds(config, plan, problem))
    terms = terms_of(program, products * steps, rounds)
    return terms, traffic_of(config, problem, products, rounds), cached_work(problem, rounds)


def block_products(plan: HgmmaAttentionPlan, depth: int) -> int:
    """Return the products of a warp with a block: as many for O as for the scores."""
    return 2 * (plan.keys // TILE) * (depth // DEPTH)


def terms_of(program: ProgramCycles, multiply: int, rounds: list[Round]) -> dict[str, int]:
    """Return cycles by term.

    A warp alone takes `program.chain` cycles for a block, of which its products take `multiply`.
    Several are bound by this chain and by the unit, with a smooth passage from one bound to the
    other: warps also wait for each other while neither is reached.
    """
    terms = dict.fromkeys(TERMS, 0.0)
    terms["begin"] = program.begin
    for number, round_ in enumerate(rounds):
        for cores in round_.blocks:
            costs = [(block_cycles(program, multiply, core), core) for core in set(cores)]
            cycles, core = max(costs, key=lambda cost: cost[0])
            terms["multiply"] += core.warps * multiply
            terms["mask"] += core.masked * program.mask
            terms["wait_warps"] += cycles - core.warps * multiply - core.masked * program.mask
        if number:
            terms["change"] += program.change
        else:
            terms["queries"] = program.queries * round_.warps
        if len(round_.blocks) > 1:
            terms["settle"] += program.settle * (round_.warps - 1)
    return {name: round(cycles) for name, cycles in terms.items()}


def block_cycles(program: ProgramCycles, multiply: int, core: CoreBlock) -> float:
    """Return the cycles of a core with a block."""
    if not core.warps:
        return 0.0
    bound = (program.chain**POWER + (core.warps * multiply) ** POWER) ** (1 / POWER)
    return bound + core.masked * program.mask


def cached_work(problem: AttentionProblem, rounds: list[Round]) -> CachedWork:
    """Return the work of the cores through their caches: Q, and O with that of each block."""
    results = problem.problems * problem.queries * row_bytes(problem)
    cores = [core for round_ in rounds for cores in round_.blocks for core in cores]
    blocks = sum(core.warps for core in cores)
    return CachedWork(
        read=results,
        written=results + blocks * TILE * problem.depth * WORD_BYTES,
        tiles=sum(core.warps for round_ in rounds for core in round_.blocks[0]),
        blocks=blocks,
    )


def traffic_of(
    config: ClusterConfig, problem: AttentionProblem, block: int, rounds: list[Round]
) -> Traffic:
    """Return the exact work, with `block` products of a warp with a block.

    No products are repeated: a run with other maxima, which are data, has more of them.
    """
    dma = dma_traffic(config, problem)
    products = [0] * config.cores
    for round_ in rounds:
        for cores in round_.blocks:
            for number, core in enumerate(cores):
                products[number] += core.warps * block
    return Traffic(
        active=sum(products) * hgmma_unit(config).steps,
        shared_read_bytes={
            f"tensor{core}": 2 * OPERAND_BYTES * count for core, count in enumerate(products)
        },
        dma_read_bytes=dma.read,
        dma_written_bytes=dma.written,
        products=sum(products),
    )
