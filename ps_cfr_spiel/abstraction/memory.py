"""What a solver keeps in memory, and what an abstraction saves of it: four numbers for each run."""

from typing import Any

import jax
import numpy as np

from ps_cfr_spiel.abstraction.maps import Abstraction


def measure(solver: Any) -> dict[str, int]:
  """Sizes of a solver as it is now.

  Args:
    solver: one of `ps_cfr_spiel`'s that visits the whole game.

  Returns:
    sets: infostates that have tables of their own.
    map: entries of the map from infostates to sets.
    words: 32-bit words as Čermák, Lisý and Bošanský (2020, Section 5) count them: a regret and an average for
      each action of each set, the map's entries, and what else the method must keep.
    kept: bytes that survive an iteration: the state, and the sets laid out for the loop.
    peak: bytes of the tree and the state and, as XLA plans them, of the temporaries of an iteration.
    policy: bytes of a saved average strategy, as tables of sets and the map, in 32 bits.
  """
  abstraction: Abstraction | None = getattr(solver, "abstraction", None)
  memory = solver.memory()
  tables, extra = memory.tables, memory.extra
  entries = 0 if abstraction is None else abstraction.words
  sets = sum(1 for _ in solver.tree.names.infostates()) if abstraction is None else abstraction.count
  kept = tree_bytes(solver.state)
  return {
    "sets": sets,
    "map": entries,
    "words": 2 * tables + entries + extra,
    "kept": kept,
    "peak": memory.peak,
    "policy": 4 * (tables + entries),
  }


def tree_bytes(tree: Any) -> int:
  """Bytes of all arrays of a pytree."""
  return sum(np.asarray(x).nbytes for x in jax.tree.leaves(tree))
