"""Layer normalisation: scales each row to mean 0 and variance 1, then applies gain and bias."""
