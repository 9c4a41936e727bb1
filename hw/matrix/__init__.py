"""The systolic matrix unit."""
