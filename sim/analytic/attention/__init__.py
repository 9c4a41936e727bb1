"""Analytic model of ``attention``: cycles and work from config and schedule."""
