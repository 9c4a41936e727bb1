"""Operands from the registers of a warp, results in them: a tensor unit per core."""
