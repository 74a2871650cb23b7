"""Pursuit on graphs: Glasses."""

from . import glasses as glasses
