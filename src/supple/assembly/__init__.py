"""Bodies assembled from bodies: the tree of assemblies, and what each knows of itself."""
