"""Private eval sets at rest: sealed in the database, opened only by who holds the key."""
