"""Block models: a design simulated as one Verilated model per distinct block."""
