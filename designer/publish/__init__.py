"""The page that a board decides by: what it says, as plain data, and how it looks."""
