"""Sweeps over design points: plan, runs, workers, tables, charts."""
