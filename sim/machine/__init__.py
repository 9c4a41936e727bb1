"""Machines: a design on an engine, with its run loop, outcome and checkpoints."""
