"""Dot products by name of GPU and instruction, on numbers instead of stored bits."""

from dataclasses import replace

import numpy as np

from .....hw.arith.dot_product.config import DotProductConfig
from .....hw.config.formats import FP16, FP32
from ..float import floats
from .dot_product import dot_product

__all__ = ["GPUS", "INSTRUCTIONS", "gpu_config", "gpu_dot_product"]

#: Generation of each GPU.
GPUS = {
    "V100": "volta",
    "T4": "turing",
    **dict.fromkeys(("A2", "A100"), "ampere"),
    **dict.fromkeys(("Ada", "L40S"), "ada"),
    **dict.fromkeys(("H100", "H200"), "hopper"),
    "B200": "blackwell",
}
#: Instructions of each generation; the first is the default.
INSTRUCTIONS = {
    "hopper": ("mma.sync", "wgmma"),
    "blackwell": ("mma.sync", "tcgen05.mma"),
}
#: Numerics of FP8 factors, where they depend on the instruction.
MMA_SYNC_FP8 = {"hopper": "nvidia(hopper_mma_sync)", "blackwell": "nvidia(b200_mma_sync)"}


def gpu_config(
    gpu: str, factors: str = "fp16", result: str = "fp32", instruction: str = "mma.sync"
) -> DotProductConfig:
    """Return the config of the shortest dot product between two roundings of the addend.

    Parameters
    ----------
    gpu : str
        A key of `GPUS`.
    factors : str
        Format of both factors.
    result : str
        Format of addend and result: fp32 or fp16.
    instruction : str
        ``mma.sync``, on Hopper also ``wgmma``, on Blackwell also ``tcgen05.mma``. Only FP8, FP6
        and FP4 depend on it.

    """
    if gpu not in GPUS:
        raise ValueError(f"gpu must be one of {', '.join(GPUS)}, not {gpu!r}")
    generation = GPUS[gpu]
    known = INSTRUCTIONS.get(generation, ("mma.sync",))
    if instruction not in known:
        raise ValueError(f"instruction of {gpu} must be {' or '.join(known)}, not {instruction!r}")
    numerics = f"nvidia({generation})"
    if instruction == "mma.sync" and factors.startswith("fp8"):
        numerics = MMA_SYNC_FP8.get(generation, numerics)
    config = DotProductConfig(
        terms=2, numerics=numerics, a=factors, b=factors, addend=result, result=result
    )
    return replace(config, terms=config.fused.chunk * config.fused.alternating)


def gpu_dot_product(
    gpu: str,
    a,
    b,
    c=0.0,
    *,
    factors: str = "fp16",
    result: str = "fp32",
    instruction: str = "mma.sync",
) -> np.ndarray:
    """Return ``c + a[0] * b[0] + a[1] * b[1] + ...`` as that GPU computes it.

    The sum is over the last axis, of any length, in the order of k; other axes are broadcast.
    Numbers are rounded to their formats first, to nearest even. The result has NumPy's type of its
    format. See `gpu_config` for the parameters.
    """
    config = gpu_config(gpu, factors, result, instruction)
    a, b = np.broadcast_arrays(np.atleast_1d(np.asarray(a, float)), np.asarray(b, float))
    shape = np.broadcast_shapes(a.shape[:-1], np.shape(c))
    a, b = (np.broadcast_to(x, (*shape, x.shape[-1])).reshape(-1, x.shape[-1]) for x in (a, b))
    fill = -a.shape[1] % config.terms
    a, b = (floats.encode(np.pad(x, ((0, 0), (0, fill))), config.a_format) for x in (a, b))
    form = config.result_format
    total = floats.encode(np.broadcast_to(np.asarray(c, float), shape).ravel(), form)
    for start in range(0, a.shape[1], config.terms):
        part = slice(start, start + config.terms)
        total = dot_product(config, a[:, part], b[:, part], total)
    dtype = {FP32: np.float32, FP16: np.float16}[form]
    with np.errstate(over="ignore", invalid="ignore"):
        return floats.decode(total, form).astype(dtype).reshape(shape)
