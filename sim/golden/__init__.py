"""Golden models: what the RTL must compute, bit for bit, without a clock."""
