"""Cycles without progress after which a machine counts as hung."""

from ...hw.config import MachineConfig
from ...hw.machine.l2_place import machine_l2

__all__ = ["WATCHDOG", "sweep_cycles"]

#: Default, without sweeps of caches.
WATCHDOG = 50_000


def sweep_cycles(config: MachineConfig) -> int:
    """Return the cycles in which the largest table of a cluster's caches is swept.

    A sweep takes a cycle per row: sets after a reset and when dirty lines are sought, ids after a
    reset. Accesses wait for their row meanwhile, which is no hang.
    """
    assert config.core is not None, "only a cluster with cores has caches"
    l2, core = machine_l2(config), config.core
    return max(l2.l2.sets, 1 << l2.id_width, core.l1i.sets, core.l1d.sets)
