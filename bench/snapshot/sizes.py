"""Sizes of the runs of a snapshot: of each kernel a regular and a ragged one."""

from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from typing import Any

from spica.kernels.kernel import find_kernel
from spica.sim.run.drivers import usual_sizes
from spica.sim.run.exact_kernels import EXACT_KERNELS

__all__ = ["SIZES", "sizes_of"]

#: Options of the runs of a kernel, by those of ``spica run``. The first run has sizes that blocks
#: divide, the second has not; a third one has NaN, infinities, subnormals and signed zeros. All are
#: small, as every preset runs them.
SIZES: dict[str, Sequence[Mapping[str, Any]]] = {
    "vecadd": ({"size": "256"}, {"size": "201"}),
    "saxpy": ({"size": "256"}, {"size": "203"}),
    "copy": ({"size": "256"}, {"size": "199"}),
    "strided": ({"size": "128x4"}, {"size": "97x5"}),
    "random_access": ({"size": "128x256"}, {"size": "101x173"}),
    "chase": ({"size": "16x4x32"}, {"size": "13x3x29"}),
    "reduce": ({"size": "256"}, {"size": "301"}),
    "bitonic_sort": ({"size": "64"}, {"size": "77"}),
    "softmax": ({"size": "4x32"}, {"size": "5x35"}),
    "layernorm": ({"size": "4x32"}, {"size": "5x35"}),
    "mandelbrot": ({"size": "8x8"}, {"size": "9x7"}),
    "gemm": (
        {"size": "64x64x64"},
        {"size": "133x70x51"},
        {"size": "45x37x51", "data": "extreme", "c": "fp32"},
    ),
    "gemm_add": ({"size": "64x64x64"}, {"size": "33x70x45"}),
    "gemm_bias": ({"size": "64x64x64"}, {"size": "33x70x45"}),
    "gemm_bias_relu": ({"size": "64x64x64"}, {"size": "33x70x45"}),
    "gemm_bias_gelu": ({"size": "64x64x64"}, {"size": "33x70x45"}),
    "gemm_pair": ({"size": "32x32x32"}, {"size": "33x17x65"}),
    "attention": (
        {"size": "64x64", "keys": 128},
        {"size": "70x64", "keys": 100, "heads": 2, "kv_heads": 1, "causal": True},
        {"size": "64x64", "keys": 100, "data": "extreme"},
    ),
}
#: Sizes of dimensions, in turn, of a kernel without an entry.
REGULAR, RAGGED = (16,), (13, 17, 11)


def sizes_of(kernel: str) -> Sequence[Mapping[str, Any]]:
    """Return the options of the runs of a kernel."""
    if kernel in SIZES:
        return SIZES[kernel]
    exact = kernel in EXACT_KERNELS
    dimensions = usual_sizes(kernel)[0] if exact else find_kernel(kernel).dimensions
    return [
        {"size": "x".join(map(str, islice(cycle(lengths), len(dimensions))))}
        for lengths in (REGULAR, RAGGED)
    ]
