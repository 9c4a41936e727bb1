"""Golden models of `hw/core/units/fp32`."""
