"""What an endpoint counts and charges, held against what the reference's tokenizer and template count."""
