"""Sweeps over design points, in floors: energy, work, points, sweep, tables, charts, reproduce."""
