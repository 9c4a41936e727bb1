"""Analytic model of ``attention`` on tensor units fed by registers: halves of blocks of keys."""

from collections import Counter

from ....hw.config import ClusterConfig
from ....kernels.attention.problem import AttentionProblem
from ....kernels.gemm.target import tensor_unit
from ..work import Traffic
from .register_fed_plan import RegisterFedPlan, register_fed_plan
from .register_fed_program import PROGRAMS, ProgramCycles
from .register_fed_steps import CoreHalf, core_halves
from .register_fed_traffic import traffic_of

__all__ = ["PROGRAMS", "TERMS", "described"]

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
) -> tuple[dict[str, int], Traffic]:
    """Return the cycles by term, and the exact work."""
    plan = register_fed_plan(config, problem.depth)
    halves = list(core_halves(plan, problem))
    steps = tensor_unit(config).steps
    return terms_of(plan, program, steps, halves), traffic_of(config, plan, halves)


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
