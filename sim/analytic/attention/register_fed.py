"""Analytic model of ``attention`` on tensor units fed by registers: halves of blocks of keys."""

from collections import Counter

from ....hw.config import WORD_BYTES, ClusterConfig
from ....kernels.attention.problem import AttentionProblem
from ....kernels.attention.tensor.plan import TILE
from ....kernels.gemm.target import tensor_unit
from ..work import Traffic
from .levels import CachedWork, row_bytes
from .register_fed_plan import RegisterFedPlan, register_fed_plan
from .register_fed_program import PROGRAMS, ProgramCycles
from .register_fed_steps import CoreHalf, core_halves
from .register_fed_traffic import traffic_of

__all__ = ["PROGRAMS", "TERMS", "described"]

#: Share of the L2 that K and V of a head may have beside Q and O of a tile: 512 queries on `ampere`
#: with 512 keys, half of it, read them once, with 1,024 keys more than once.
KEPT = 0.75

#: Parts of the cycles, each with its meaning.
TERMS = {
    "begin": "begin marker to the first half, and last half to the end marker",
    "multiply": "products of the core with most work in each half",
    "wait_operands": "the unit waits for fragments, powers and O of a warp with products",
    "meet": "copies of K and V, meetings, and powers while no other warp has products",
    "mask": "scores of hidden keys",
    "change": "warps begin a tile of queries, or end one",
}


def described(
    config: ClusterConfig, program: ProgramCycles, problem: AttentionProblem
) -> tuple[dict[str, int], Traffic, CachedWork]:
    """Return the cycles by term, the exact work, and that of the cores through their caches."""
    plan = register_fed_plan(config, problem.depth)
    halves = list(core_halves(plan, problem))
    steps = tensor_unit(config).steps
    return (
        terms_of(plan, program, steps, halves),
        traffic_of(config, plan, halves),
        cached_work(config, plan, problem, halves),
    )


def cached_work(
    config: ClusterConfig,
    plan: RegisterFedPlan,
    problem: AttentionProblem,
    halves: list[list[CoreHalf]],
) -> CachedWork:
    """Return the work of the cores through their caches: all operands and results."""
    row = row_bytes(problem)
    results, keys = problem.problems * problem.queries * row, 2 * problem.keys * row
    tiles = sum(core.begins for cores in halves for core in cores)
    blocks = sum(core.scores for cores in halves for core in cores)
    query = 0 if plan.has_queries else TILE * row
    output = 0 if plan.has_output else TILE * problem.depth * WORD_BYTES
    is_kept = problem.queries <= plan.rows or keys <= KEPT * config.l2.size
    return CachedWork(
        read=results + problem.kv_heads * keys if is_kept else None,
        written=results + tiles * query + blocks * output,
        tiles=tiles,
        blocks=blocks,
    )


def terms_of(
    plan: RegisterFedPlan, program: ProgramCycles, steps: int, halves: list[list[CoreHalf]]
) -> dict[str, int]:
    """Return cycles by term. All warps meet before a half, so the slowest core determines it."""
    terms = Counter(dict.fromkeys(TERMS, 0))
    for cores in halves:
        parts = [parts_of(plan, program, steps, core) for core in set(cores)]
        terms.update(max(parts, key=lambda part: sum(part.values())))
    if terms["mask"]:
        terms["mask"] += program.fetch
    terms["meet"] = (len(halves) - 1) * program.half
    terms["begin"] = program.begin
    return dict(terms)


def parts_of(
    plan: RegisterFedPlan, program: ProgramCycles, steps: int, core: CoreHalf
) -> dict[str, int]:
    """Return cycles of a core in a half by term, besides those that all halves take."""
    products = core.scores * plan.score_products + core.outputs * plan.output_products
    return {
        "multiply": products * steps,
        "wait_operands": (core.scores + core.outputs) * program.warp,
        "mask": core.most_masked * program.mask,
        "change": (core.begins + core.ends) * program.change,
    }
