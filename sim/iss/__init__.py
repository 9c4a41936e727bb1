"""The instruction-set model: what programs do, without a clock."""
