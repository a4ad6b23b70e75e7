"""pamctl: versioned, provable memory for AI agents, in plain files."""

__version__ = "0.1.0"
