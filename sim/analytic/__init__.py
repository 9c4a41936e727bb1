"""Analytic oracle: cycles and bytes of kernels in closed form, without a run."""
