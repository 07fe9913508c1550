"""How an answer's bytes become a `Completion`: one module for each thing an answer holds."""
