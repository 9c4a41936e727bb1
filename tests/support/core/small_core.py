"""Configs of small cores, for the blocks of one."""

from spica.hw.config import CoreBlockConfig
from spica.sim.iss.program_bench import small_config

__all__ = ["small_core"]


def small_core(**config) -> CoreBlockConfig:
    """Return a core of the cluster that `small_config` returns for these arguments."""
    return CoreBlockConfig.of(small_config(**config))
