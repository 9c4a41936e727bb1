"""Charts by Altair: comparisons, sweeps, areas and reproduced tables."""
