"""Golden models: what the gateware must compute, bit for bit, without a clock."""
