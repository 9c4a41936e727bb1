"""Random programs for cores, to compare implementations."""
