"""Encodings reserved for instructions and registers that no core has yet.

A row moves to the tables of `hw.isa` when a core decodes it. Until then its words are illegal
instructions.
"""
