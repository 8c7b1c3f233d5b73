"""Values of every kind: frozen arrays, checks of arguments, JSON, files written whole, printed names."""
