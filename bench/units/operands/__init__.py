"""Stimulus for arithmetic units and their golden models."""
