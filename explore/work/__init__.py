"""Work of a sweep: runs of kernels, predictions and areas, each with a key and a record."""
