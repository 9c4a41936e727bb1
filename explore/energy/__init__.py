"""Energy of runs: switching activity of the RTL, and the energy of mapped cells and memories."""
