"""The wheel holds a program of this platform and no module that is compiled for one Python: its tag says so."""

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.dist import Distribution


class ProgramDistribution(Distribution):
    def has_ext_modules(self) -> bool:
        return True  # it goes where a platform's files go


class ProgramWheel(bdist_wheel):
    def get_tag(self) -> tuple[str, str, str]:
        return 'py3', 'none', super().get_tag()[2]


setup(distclass=ProgramDistribution, cmdclass={'bdist_wheel': ProgramWheel})
