"""Seeded grammars of the tool-call cases: families stay, instances rotate, and only the seed's owner can list them."""
