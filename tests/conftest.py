import gc
import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import pytest

jax.config.update("jax_enable_x64", True)  # an array made without a dtype must not slip into a float32 run
jax.config.update("jax_numpy_rank_promotion", "raise")


@pytest.fixture(autouse=True, scope="module")
def forget_compiled_code():
  """After each file. Each program that XLA compiles takes some of the process's 65,530 memory maps.

  Thousands of them, as in all tests together, end in a segmentation fault.
  """
  yield
  jax.clear_caches()
  gc.collect()
