"""What pyproject.toml cannot say: a build starts from nothing, so that no module of an earlier one gets into a wheel."""

import shutil

from setuptools import setup
from setuptools.command.build_py import build_py


class FromNothing(build_py):
    """Copies the modules to a folder that held none."""

    def run(self) -> None:
        """Empty the folder first; an editable installation has none."""
        if not self.editable_mode:
            shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


setup(cmdclass={"build_py": FromNothing})
