"""Gravitational accelerations of bodies, each pulled by all."""
