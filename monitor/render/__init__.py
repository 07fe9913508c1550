"""One verdict document, shown: a table for people, Markdown and JUnit for pipelines."""
