"""Waits that Ctrl-C and other signals interrupt, though JAX or another library is at work."""

import threading
from collections.abc import Callable
from typing import TypeVar

import jax

Arrays = TypeVar("Arrays")
Result = TypeVar("Result")


def block_until_ready(arrays: Arrays) -> Arrays:
  """Like JAX's, but Python's signal handlers run while it waits."""
  return interruptible(lambda: jax.block_until_ready(arrays))


def interruptible(work: Callable[[], Result]) -> Result:
  """The result of work in another thread, for which Python's signal handlers need not wait."""
  done, results, errors = threading.Event(), [], []

  def run() -> None:
    try:
      results.append(work())
    except BaseException as error:
      errors.append(error)
    done.set()

  thread = threading.Thread(target=run, daemon=True)
  thread.start()
  done.wait()
  thread.join()  # it is over, and the next one takes its memory over, not new one
  if errors:
    raise errors[0]
  return results[0]
