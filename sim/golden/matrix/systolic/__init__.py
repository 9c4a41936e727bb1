"""Golden models of `hw/matrix/systolic`."""
