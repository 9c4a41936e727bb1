"""Timing: logic depth and deepest paths."""
