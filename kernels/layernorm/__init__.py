"""Layer normalisation: each row to mean 0 and variance 1, then gain and bias."""
