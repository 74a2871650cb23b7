"""XLA's settings in the tests: they compile in a third of the time of users', and make slower programs.

JAX reads JAX_DISABLE_MOST_OPTIMIZATIONS at its import: a plugin that imports it before conftest measures
users' settings.

Compiling takes most of the tests' time, and most of that goes into optimizing what then runs for
milliseconds. Some laws are about optimized programs, or about bits that depend on them: those tests take
users' settings, for themselves by the fixture `optimized`, for processes by `users_environment`.
"""

import os
from importlib.metadata import version

QUICK = {}  # {option of XLA: (value in the tests, users' value)}
# The package compiles its loops without XLA's slow fusion emitters (device/compilation.py); the tests, all
# else too. XLA ends a process for a flag that it does not know, as this one from jax 0.11 on.
if tuple(map(int, version("jaxlib").split(".")[:2])) < (0, 11):
  QUICK["xla_cpu_use_fusion_emitters"] = (False, True)


def flag(name):
  return f" --{name}={str(QUICK[name][0]).lower()}"


def quick_environment():
  """What a process's environment needs before it imports JAX, which processes that it starts inherit.

  JAX_DISABLE_MOST_OPTIMIZATIONS=0 leaves users' settings, XLA_FLAGS of one's own stay.
  """
  if os.environ.get("JAX_DISABLE_MOST_OPTIMIZATIONS") == "0":
    return {}
  # A program in pieces, one for each of 32 threads, takes a tenth longer where cores are few.
  flags = "--xla_cpu_parallel_codegen_split_count=1" + "".join(map(flag, QUICK))
  return {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1", "XLA_FLAGS": os.environ.get("XLA_FLAGS", flags)}


def users_environment():
  """The environment of a process that compiles as users do."""
  environment = {k: v for k, v in os.environ.items() if k != "JAX_DISABLE_MOST_OPTIMIZATIONS"}
  environment.setdefault("XLA_FLAGS", "")
  for name in QUICK:
    environment["XLA_FLAGS"] = environment["XLA_FLAGS"].replace(flag(name), "")
  return environment


def users_options(get_options):
  """In place of JAX's `get_options` (of compilation): XLA reads flags once a process.

  Users' options, but while JAX's own flag disables most optimizations.
  """
  import jax  # which reads the environment at its import

  given = os.environ.get("XLA_FLAGS", "")
  changed = [(name, users) for name, (_, users) in QUICK.items() if flag(name) in given]

  def options_of_users(*args, **keywords):
    """A function's own options come last, so they count."""
    options = get_options(*args, **keywords)
    if not jax.config.values["jax_disable_most_optimizations"]:
      options.env_option_overrides = [*changed, *options.env_option_overrides]
    return options

  return options_of_users
