"""What runs on the machine: kernels, their data and references."""
