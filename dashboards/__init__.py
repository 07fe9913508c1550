"""SHOWS: web pages and charts over monitor's queries."""
