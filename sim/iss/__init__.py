"""Instruction-set model: bit-exact execution of programs without a clock."""
