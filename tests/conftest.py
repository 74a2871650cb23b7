import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax

jax.config.update("jax_enable_x64", True)  # an array made without a dtype must not slip into a float32 run
jax.config.update("jax_numpy_rank_promotion", "raise")
