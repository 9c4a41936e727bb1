"""Pipeline traces: each instruction's stages, cycle by cycle."""
