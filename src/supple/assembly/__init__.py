"""Articulated bodies assembled from smaller ones: the assembly tree and the coefficients of its nodes."""
