"""Pictures: figures without a screen, what all of them have in common, and those of every kind of object."""
