"""What is promised: tradeoff functions, their order and composition, and conversions between notions of privacy."""
