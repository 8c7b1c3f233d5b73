"""What is known of database engines: texts by their bytes, expressions that are rows of one table, and what a row is."""
