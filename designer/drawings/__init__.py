"""All pictures of a frozen object and of its releases, whatever its kind: `drawings_of`."""

from designer.drawings.collected import drawings_of
from designer.pictures.drawing import Drawing

__all__ = ["Drawing", "drawings_of"]
