"""The version of the package, the same as the server's."""

__version__ = "0.2.0"
