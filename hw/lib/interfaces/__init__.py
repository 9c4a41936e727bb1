"""Signatures and layouts that blocks exchange."""
