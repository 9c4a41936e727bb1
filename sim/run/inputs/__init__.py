"""Inputs of a run: arrays and numbers of users, in the formats of the machine."""
