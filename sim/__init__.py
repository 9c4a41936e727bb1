"""Simulation: engines, machines, golden models, checks and reports."""
