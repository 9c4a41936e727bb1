"""Analytic model of products whose cores finish C."""
