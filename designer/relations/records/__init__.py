"""What is known of database engines, and what a row of a table is."""
