"""ASKS: what is sent to an endpoint and how the answer is read. Knows HTTP; knows no database."""
