"""Runs the machine: engines, golden models, checks and reports."""
