"""Stub."""


def main():
  """Stub."""
