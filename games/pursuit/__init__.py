"""Pursuit on graphs: Glasses, and graph pursuit."""

from . import glasses as glasses
from . import graph_pursuit as graph_pursuit
