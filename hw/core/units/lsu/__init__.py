"""Load/store unit."""
