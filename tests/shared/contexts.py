"""MLIR contexts that many programs share.

JAX makes one for each program that it lowers: 4 ms to fill with all operations that there are and 2 ms to
delete, half of the time of lowering a small program. What a program becomes does not depend on its context.
"""

import threading

from jax._src.interpreters import mlir

MOST = 50  # programs of one context, which keeps their constants


def share():
  """From now on JAX takes the same context for some programs of a thread, then another."""
  make, kept = mlir.make_ir_context, threading.local()

  def context():
    kept.left = vars(kept).get("left", 0) - 1
    if kept.left < 0:
      kept.left, kept.context = MOST - 1, make()
    return kept.context

  mlir.make_ir_context = context
