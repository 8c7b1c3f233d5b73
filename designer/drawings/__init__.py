"""Pictures of frozen objects and of their releases, whatever their kind, and those that readers choose."""

from designer.drawings.chosen_balls import norm_ball
from designer.drawings.collected import drawings_of, plot
from designer.drawings.places import placed_drawing
from designer.pictures.drawing import Drawing

__all__ = ["Drawing", "drawings_of", "norm_ball", "placed_drawing", "plot"]
