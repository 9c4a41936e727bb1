"""The matrix product as a program of the cores, with the bits that it must come to."""

import dataclasses

import numpy as np

from ..hw.config import ClusterConfig
from ..kernels.gemm.cores import command_depth, cores_kernel, pose, with_bits
from ..kernels.kernel import Kernel, Problem
from .golden.gemm import gemm

__all__ = ["exact_cores_kernel"]


def exact_cores_kernel(config: ClusterConfig, **options) -> Kernel:
    """Return `cores_kernel`, its C checked to the bit against the golden model as well.

    Parameters
    ----------
    config : ClusterConfig
        A machine with a matrix unit.
    options
        Of `kernels.gemm.cores.pose`.

    """

    def posed(rng: np.random.Generator, **sizes: int) -> Problem:
        problem, product = pose(config, rng, **sizes, **options)
        assert config.matrix is not None
        a = problem.buffers["a"].data[:, : product.k]
        b = problem.buffers["b"].data[:, : product.n]
        depth = command_depth(config)
        return with_bits(problem, gemm(config.matrix, product, a, b, depth))

    return dataclasses.replace(cores_kernel(config, **options), pose=posed)
