"""Prediction of the analytic model beside a run of a product or of ``attention``."""

from collections.abc import Mapping
from typing import Any

from ...base.errors import UserError
from ...hw.config import MachineConfig
from ...kernels.attention.problem import AttentionProblem
from ...kernels.kernel import Problem
from ..analytic.attention.prediction import predict_attention
from ..analytic.counted import counted_levels, counted_traffic
from ..analytic.gemm import predict, product_of
from ..analytic.work import Prediction, work_of
from ..harness.dram import DramConfig

__all__ = ["attention_section", "prediction_section"]


def prediction_section(
    config: MachineConfig,
    sizes: Mapping[str, int],
    c_format: str,
    memory: object,
    done: Mapping[str, Any],
    *,
    kernel: str = "gemm",
) -> dict[str, Any] | None:
    """Return the section of a result on predicted work; None if the model does not describe it.

    Parameters
    ----------
    config : MachineConfig
        The machine.
    sizes : mapping of str to int
        Sizes of the product by dimension.
    c_format : str
        Format of C.
    memory : object
        Config of the memory of the run.
    done : mapping
        The sections of the executor: cycles from the begin marker to the end marker, and counters.
    kernel : str
        The kernel, one of `sim.analytic.gemm.KERNELS`.

    """
    if not isinstance(memory, DramConfig):
        return None
    try:
        product = product_of(config, **sizes, c_format=c_format)
        predicted = predict(config, product, memory, kernel=kernel)
    except UserError:
        return None
    return section_of(config, predicted, kernel, done)


def attention_section(
    config: MachineConfig, problem: Problem, memory: object, done: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return the section of a result of ``attention``; None if the model cannot predict it.

    Parameters
    ----------
    config : MachineConfig
        The machine.
    problem : Problem
        The problem of the run, as `kernels.attention.cores.pose` returns it.
    memory : object
        Config of the memory of the run.
    done : mapping
        The sections of the executor, as above.

    """
    if not isinstance(memory, DramConfig):
        return None
    try:
        predicted = predict_attention(config, attention_of(problem), memory)
    except UserError:
        return None
    return section_of(config, predicted, "attention", done)


def attention_of(problem: Problem) -> AttentionProblem:
    """Return the attention that a problem poses, all heads of the batch as those of a sequence."""
    heads, queries, depth = problem.buffers["q"].data.shape
    kv_heads, keys, _ = problem.buffers["k"].data.shape
    return AttentionProblem(
        heads=heads,
        kv_heads=kv_heads,
        queries=queries,
        keys=keys,
        depth=depth,
        columns=problem.buffers["q"].columns,
        causal=bool(problem.causal),
        scale=problem.scale,
        operand=problem.formats["q"],
        overwrites="ATTENTION_OVERWRITES" in problem.defines,
    )


def section_of(
    config: MachineConfig, predicted: Prediction, kernel: str, done: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the section of a prediction beside the cycles and the counters of a run."""
    counted = counted_traffic(config, {**done, "kernel": kernel})
    measured = work_of(counted, counted_levels(config, done))
    cycles = predicted.cycles
    return {
        "cycles": cycles,
        "difference": None if cycles is None else cycles / done["cycles"] - 1,
        "terms": predicted.terms,
        "limits": predicted.limits,
        "work": {
            name: {"predicted": count, "measured": measured[name]}
            for name, count in work_of(predicted.traffic, predicted.levels).items()
            if count or measured[name]
        },
    }
