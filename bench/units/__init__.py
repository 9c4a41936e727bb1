"""Benches of the arithmetic units, with golden models and oracles."""
