"""Dot-product units of NVIDIA's tensor cores: each generation and each kind of block scale."""

from collections.abc import Callable
from functools import partial

import numpy as np

from spica.hw.arith.dot_product.config import DotProductConfig
from spica.hw.arith.dot_product.dot_product import DotProduct
from spica.hw.arith.dot_product.latency import dot_product_latency
from spica.sim.golden.arith.dot_product.dot_product import dot_product

from .operands.dot_product import dot_operands
from .unit import Unit

__all__ = ["CONFIGS", "dot_unit", "units"]

E5M2, E4M3, E3M2, E2M3, E2M1 = "fp8_e5m2", "fp8_e4m3", "fp6_e3m2", "fp6_e2m3", "fp4_e2m1"


def _config(architecture: str, terms: int, a: str, b: str | None = None, **options):
    return DotProductConfig(
        numerics=f"nvidia({architecture})", terms=terms, a=a, b=b or a, **options
    )


HALF = {"addend": "fp16", "result": "fp16"}

#: Tested configs by name: every format, chunk length and way of rounding once.
CONFIGS = {
    "dot_volta_fp16_4": _config("volta", 4, "fp16"),
    "dot_volta_fp16_4_half": _config("volta", 4, "fp16", **HALF),
    "dot_turing_fp16_8": _config("turing", 8, "fp16"),
    "dot_ampere_fp16_8_widened": _config("ampere", 8, "fp16", addend="fp16"),
    "dot_ampere_bf16_8": _config("ampere", 8, "bf16"),
    "dot_ampere_bf16_4_low_floor": _config("ampere", 4, "bf16", floor=-132),
    "dot_ampere_tf32_4": _config("ampere", 4, "tf32"),
    "dot_ada_fp8_16": _config("ada", 16, E4M3, E5M2),
    "dot_hopper_fp16_4": _config("hopper", 4, "fp16"),
    "dot_hopper_fp16_16": _config("hopper", 16, "fp16"),
    "dot_hopper_fp16_32": _config("hopper", 32, "fp16"),
    "dot_hopper_fp8_32": _config("hopper", 32, E4M3),
    "dot_hopper_fp8_32_half": _config("hopper", 32, E5M2, **HALF),
    "dot_blackwell_bf16_16": _config("blackwell", 16, "bf16"),
    "dot_blackwell_fp8_32": _config("blackwell", 32, E5M2, E4M3),
    "dot_blackwell_fp6_16": _config("blackwell", 16, E3M2, E2M3),
    "dot_blackwell_fp4_32": _config("blackwell", 32, E2M1),
    "dot_blackwell_mxfp8_32": _config("blackwell", 32, E5M2, E4M3, scale="e8m0"),
    "dot_blackwell_mxfp6_32": _config("blackwell", 32, E2M3, E3M2, scale="e8m0"),
    "dot_blackwell_mxfp4_32": _config("blackwell", 32, E2M1, scale="e8m0"),
    "dot_blackwell_nvfp4_32": _config("blackwell", 32, E2M1, scale="ue4m3"),
    "dot_blackwell_mxfp4_64": _config("blackwell", 64, E2M1, scale="e8m0", block=16),
    "dot_blackwell_nvfp4_64": _config("blackwell", 64, E2M1, scale="ue4m3"),
    "dot_blackwell_nvfp4_64_dropped": _config(
        "blackwell", 64, E2M1, scale="ue4m3", block=32, zero_groups=False
    ),
    "dot_b200_mma_sync_fp8_32": _config("b200_mma_sync", 32, E5M2, E4M3),
    "dot_b200_mma_sync_fp8_64_half": _config("b200_mma_sync", 64, E5M2, E4M3, **HALF),
}


def units() -> list[Unit]:
    """Return one unit for each of `CONFIGS`."""
    return [
        dot_unit(name, config, operands=dot_operands, oracle="definition in fractions")
        for name, config in CONFIGS.items()
    ]


def dot_unit(
    name: str,
    config: DotProductConfig,
    *,
    operands: Callable,
    oracle: str,
    reference: Callable | None = None,
) -> Unit:
    """Return a dot-product unit; `operands` and `reference` take its config first."""
    return Unit(
        name=name,
        group="Dot product",
        component=partial(DotProduct, config),
        latency=dot_product_latency(config),
        operands=partial(operands, config),
        golden=partial(golden, config),
        oracle=oracle,
        reference=None if reference is None else partial(reference, config),
    )


def golden(config: DotProductConfig, **inputs) -> dict[str, np.ndarray]:
    """Return the expected outputs of a dot product."""
    return {"o": dot_product(config, **inputs)}
