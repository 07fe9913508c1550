"""Which rows the next forward pass runs: pure decisions over lengths and pages."""
