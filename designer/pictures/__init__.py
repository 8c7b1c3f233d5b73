"""What all pictures have in common: figures without a screen, colours, names and numbers on axes, files written whole."""

from designer.pictures.drawing import Drawing
from designer.pictures.figures import figure
from designer.pictures.registered import register_picture

__all__ = ["Drawing", "figure", "register_picture"]
