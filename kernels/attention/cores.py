"""Attention as a program of the cores: program of the machine's unit, data and expected results."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...base.errors import UserError
from ...hw.config import MachineConfig
from ...hw.config.checks import require_choice, require_integer
from ..elements import NATIVE, dtype_of
from ..gemm.target import is_on_tensor_units, product_operand, product_unit
from ..kernel import Buffer, Kernel, Problem
from .data import Operands, operands
from .problem import DEPTHS, OPERANDS, AttentionProblem
from .reference import reference
from .styles import STYLES, style_of
from .weight_scale import weight_scale

__all__ = [
    "DIMENSIONS",
    "USUAL",
    "attention_kernel",
    "pose",
    "problem_of",
]

#: Dimensions of a run, and their values if none is given.
DIMENSIONS, USUAL = ("queries", "depth"), (256, 64)
#: Name in messages.
USER = "attention"


def attention_kernel(config: MachineConfig, posed: Callable[..., Problem]) -> Kernel:
    """Return the kernel ``attention`` for the unit of a machine that multiplies matrices.

    Raise `UserError` if the machine has no such unit, or if there is no program for it or its
    operands.
    """
    style = style_of(config).name
    require_program(style, product_operand(config))
    return Kernel(
        name="attention",
        dimensions=DIMENSIONS,
        pose=posed,
        folder=program_folder(style),
        usual=USUAL,
    )


def program_folder(style: str) -> Path:
    """Return the folder of the program for a kind of unit."""
    return Path(__file__).with_name(style)


def has_program(style: str) -> bool:
    """Return whether there is a program for a kind of unit."""
    return (program_folder(style) / "kernel.c").exists()


def require_program(style: str, operand: str) -> None:
    """Raise `UserError` unless there is a program for a kind of unit and a format."""
    able = [known.name for known in STYLES.values() if has_program(known.name)]
    if style not in able:
        raise UserError(
            f"{USER} has no program for {style} units; choose a machine with "
            f"{' or '.join(able)} units"
        )
    if operand not in OPERANDS:
        raise UserError(f"operands of {USER} must be {' or '.join(OPERANDS)}, not {operand}")


def problem_of(
    config: MachineConfig,
    *,
    queries: int,
    depth: int,
    keys: int | None = None,
    heads: int = 1,
    kv_heads: int | None = None,
    **others: Any,
) -> AttentionProblem:
    """Return the attention of a machine's operands; None is as for `pose`, as are the others."""
    operand = product_operand(config, USER)
    require_choice("operand", operand, OPERANDS)
    require_integer("depth", depth, 1, DEPTHS[-1])
    padded = next(known for known in DEPTHS if known >= depth)
    try:
        return AttentionProblem(
            queries=queries,
            depth=padded,
            columns=None if depth == padded else depth,
            keys=queries if keys is None else keys,
            heads=heads,
            kv_heads=heads if kv_heads is None else kv_heads,
            operand=operand,
            **others,
        )
    except TypeError as error:
        raise ValueError(str(error)) from None


def pose(
    config: MachineConfig,
    rng: np.random.Generator,
    *,
    queries: int,
    depth: int,
    keys: int | None = None,
    heads: int = 1,
    kv_heads: int | None = None,
    batch: int = 1,
    causal: bool = False,
    scale: float | None = None,
    data: str = "random",
    given: Operands | None = None,
    overwrites: bool = False,
) -> tuple[Problem, AttentionProblem]:
    """Return the problem for a program, and the attention for models.

    Its multiply-adds are those of visible pairs of queries and keys, 2 `depth` for each, so that
    skipped blocks of a causal mask do not count as work.

    Parameters
    ----------
    config : MachineConfig
        A machine with a unit that multiplies matrices.
    rng : Generator
        Generator of the operands.
    queries, depth : int
        Rows and columns of Q of each head; the arrays in DRAM have the next of `DEPTHS` columns.
    keys : int or None
        Rows of K and V; None for as many as Q has.
    heads, kv_heads, batch : int
        Heads of Q, heads of K and V, and sequences; `kv_heads` None for as many as `heads`.
    causal : bool
        Whether a query attends only to the keys up to its own place, aligned at the end.
    scale : float or None
        Factor of the scores; None for 1 / sqrt(depth).
    data : str
        Kind of operands, one of `data.KINDS`.
    given : tuple of ndarray or None
        Q, K and V in the form of `kernels.elements`, in place of generated data.
    overwrites : bool
        Whether O is overwritten (`AttentionProblem`); it is then compared with the golden model
        only.

    """
    unit = product_unit(config, USER)
    if overwrites and not style_of(config).overwrites:
        raise UserError(f"{USER} overwrites O only on a matrix unit")
    problem = problem_of(
        config,
        queries=queries,
        depth=depth,
        keys=keys,
        heads=heads,
        kv_heads=kv_heads,
        batch=batch,
        causal=causal,
        scale=scale,
        overwrites=overwrites,
    )
    q, k, v = (
        np.pad(array, ((0, 0), (0, 0), (0, problem.depth - array.shape[-1])))
        for array in given or operands(problem, data, int(rng.integers(1 << 32)))
    )
    is_extreme = data == "extreme" and given is None
    expected = reference(problem, unit, q, k, v, is_extreme=is_extreme)
    form = None if problem.operand in NATIVE else problem.operand
    macs, is_of_cores = problem.needed_macs, is_on_tensor_units(config)
    posed = Problem(
        buffers={
            **{
                name: Buffer(data=x, columns=problem.columns)
                for name, x in (("q", q), ("k", k), ("v", v))
            },
            "o": Buffer(
                data=unset(problem.shapes["o"], problem.operand),
                expected=expected.o,
                bound=np.inf if overwrites else expected.o_bound,
                columns=problem.columns,
                form=form,
                permits_overflow=is_extreme,
            ),
            "lse": Buffer(
                data=unset(problem.shapes["lse"], "fp32"),
                expected=expected.lse,
                bound=expected.lse_bound,
                permits_overflow=is_extreme,
            ),
        },
        arguments=(
            *("q", "k", "v", "o", "lse", problem.problems, problem.group),
            *(problem.queries, problem.keys, int(problem.causal), float(problem.scale_log2)),
        ),
        operations=2 * macs,
        macs=() if is_of_cores else (macs,),
        tensor_macs=macs if is_of_cores else 0,
        formats={name: problem.operand for name in "qkvo"} | {"lse": "fp32"},
        data="given" if given else data,
        causal=problem.causal,
        scale=problem.exact_scale,
        defines=defines_of(config, problem),
    )
    return posed, problem


def defines_of(config: MachineConfig, problem: AttentionProblem) -> tuple[str, ...]:
    """Return the macros of the program for the machine's unit."""
    of_plan = style_of(config).plan(config, problem.depth).defines
    of_format = ("ATTENTION_BF16",) if problem.operand == "bf16" else ()
    of_output = ("ATTENTION_OVERWRITES",) if problem.overwrites else ()
    of_weights = weight_scale(product_unit(config)).defines
    return (f"ATTENTION_DEPTH={problem.depth}", *of_format, *of_output, *of_plan, *of_weights)


def unset(shape: tuple[int, ...], form: str) -> np.ndarray:
    """Return an array with all bits set, a NaN."""
    element = dtype_of(form)
    *rows, columns = shape
    return np.full((*rows, columns * element.itemsize), 0xFF, np.uint8).view(element)
