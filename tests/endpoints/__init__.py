"""Real local HTTP servers that behave as a test scripts them."""
