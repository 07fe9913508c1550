"""One module for each page: what it asks the database, and what it hands to its template."""
