"""Systolic array and its tile sequencer."""
