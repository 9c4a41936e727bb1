"""Attention on a matrix unit or on tensor units: O = softmax(scale · Q Kᵀ) V by heads."""
