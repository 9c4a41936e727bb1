"""Snapshots of presets and kernels, to compare two trees: cycles, values, interfaces, areas."""
