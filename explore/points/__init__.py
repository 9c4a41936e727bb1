"""Points of a sweep: machines and axes, each combination with its run."""
