"""Alembic migrations of monitor's database."""
