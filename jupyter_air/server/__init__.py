"""The Jupyter Server extension: traits, routes, and nothing that a lower floor could do."""
