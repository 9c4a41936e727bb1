"""Control: warps, divergence, barriers, faults."""
