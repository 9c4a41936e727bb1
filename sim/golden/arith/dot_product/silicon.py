"""Dot products measured on GPUs, as an oracle for their golden models and units.

The project carries no measured data. `measured_sets` reads a folder with ``measured.npz``, results
of ``mma.sync`` and ``wmma`` on eight GPUs, converted from the validation data of Khattak and
Mikaitis (arXiv 2512.07004). For a GPU and the format of its factors it has the arrays ``a``, ``b``
(stored factors, TF32 as FP32 words), ``c`` (addend, FP32 words), ``d_fp32`` (result) and ``d_fp16``
(FP16 result as FP32 words, whose addend is c rounded to FP16).
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from .....hw.arith.dot_product.config import DotProductConfig
from .....hw.config.formats import FP16, FP32, TF32
from ..float import floats
from .gpus import gpu_config

__all__ = ["VARIABLE", "MeasuredSet", "measured_folder", "measured_sets"]

#: Environment variable that names the folder.
VARIABLE = "SPICA_SILICON"
FACTORS = {name: name for name in ("fp16", "bf16", "tf32")}
FACTORS |= {name: f"fp8_{name}" for name in ("e4m3", "e5m2")}
#: Results that were taken with an addend of 0, whatever the array says.
WITHOUT_ADDEND = (("H100", "H200"), ("e4m3", "e5m2"), "fp32")


@dataclass(frozen=True, kw_only=True)
class MeasuredSet:
    """Results of one instruction on one GPU.

    Parameters
    ----------
    gpu : str
    config : DotProductConfig
        Dot product of as many terms as were measured, or as one instruction has.
    inputs : dict of arrays
        Stored factors `a` and `b`, padded with zeros, and addends `c`.
    results : array
        Measured results, stored in the config's result format.

    """

    gpu: str
    config: DotProductConfig
    inputs: dict[str, np.ndarray]
    results: np.ndarray

    @property
    def name(self) -> str:
        """Name for tables and messages."""
        return f"{self.gpu} {self.config.a} to {self.config.result}"


def measured_folder() -> Path | None:
    """Return the folder of measured data, None if the environment names none."""
    folder = os.environ.get(VARIABLE)
    return Path(folder) if folder else None


def measured_sets(folder: Path) -> Iterator[MeasuredSet]:
    """Yield every set of `folder`."""
    with np.load(folder / "measured.npz") as arrays:
        for key in arrays.files:
            gpu, factors, _, result = f"{key}__".split("_")[:4]
            if f"{gpu}_{factors}_d_{result}" == key:
                operands = {name: arrays[f"{gpu}_{factors}_{name}"] for name in "abc"}
                yield measured_set(gpu, factors, result, operands, arrays[key])


def measured_set(gpu: str, factors: str, result: str, arrays: dict, results) -> MeasuredSet:
    """Return one set from arrays as in the file."""
    config = gpu_config(gpu, FACTORS[factors], result)
    a, b, c = (arrays[name].astype(np.uint32) for name in "abc")
    if factors == "tf32":
        a, b = (x >> np.uint32(FP32.width - TF32.width) for x in (a, b))
    config = replace(config, terms=max(config.terms, a.shape[1]))
    fill = ((0, 0), (0, config.terms - a.shape[1]))
    gpus, formats, wide = WITHOUT_ADDEND
    if gpu in gpus and factors in formats and result == wide:
        c = np.zeros_like(c)
    if result == "fp16":
        c, results = (floats.convert(x, FP32, FP16) for x in (c, results))
    inputs = {"a": np.pad(a, fill), "b": np.pad(b, fill), "c": c}
    return MeasuredSet(gpu=gpu, config=config, inputs=inputs, results=results)
