"""The native libraries, built where there is a C++ compiler; pyproject.toml says all the rest.

They call nothing of Python, so that one of each serves all versions of it ("abi3"). A library built with old
headers of XLA runs under a newer one, not the other way round, so those come with the oldest jaxlib of
pyproject.toml.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import chain

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

jaxlib = find_spec("jaxlib")
places = (jaxlib.submodule_search_locations or ()) if jaxlib else ()


def library(name: str, *sources: str) -> Extension:
  """A library of C++ files."""
  return Extension(
    name,
    list(sources),
    depends=[
      "ps_cfr_spiel/native/native.h",
      "ps_cfr_spiel/mccfr/sampling.h",
      "ps_cfr_spiel/hierarchical/cards.h",
      *(f"ps_cfr_spiel/tree/{name}.h" for name in ("learn", "sweep", "walk")),
    ],
    include_dirs=["ps_cfr_spiel/native", "ps_cfr_spiel/mccfr", *(f"{place}/include" for place in places)],
    extra_compile_args=[
      *("-std=c++17", "-O3", "-g0", "-Wno-psabi", "-pthread"),
      # A loop whose steps divide only on a condition is vectorised, as those of the rules are.
      "-fno-trapping-math",
      # A loop that fills a few cells stays a loop: `rep stos`, GCC's way, takes longer to start.
      "-fno-tree-loop-distribute-patterns",
    ],
    extra_link_args=["-pthread"],
    language="c++",
    optional=True,  # without a compiler the package is installed without it
    py_limited_api=True,
  )


class BuildOnAllCores(build_ext):
  """The files of a library side by side: the largest take a minute each."""

  def build_extension(self, ext: Extension) -> None:
    """See `build_ext`."""
    compile_all = self.compiler.compile

    def compile_each(sources, **options):
      with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(chain(*pool.map(lambda source: compile_all([source], **options), sources)))

    self.compiler.compile = compile_each
    try:
      super().build_extension(ext)
    finally:
      self.compiler.compile = compile_all


sweep = library(
  "ps_cfr_spiel.tree._sweep",
  *(f"ps_cfr_spiel/tree/{name}.cc" for name in ("sweep", "walk", "learn", "stream")),
)
cheat = library("ps_cfr_spiel.games.cheat._traversals", "games/cheat/traversals.cc")
samplers = library("ps_cfr_spiel.mccfr._sample", "ps_cfr_spiel/mccfr/sample.cc")
clusters = library("ps_cfr_spiel.hierarchical._clusters", "ps_cfr_spiel/hierarchical/clusters.cc")
setup(
  ext_modules=[sweep, cheat, samplers, clusters],
  cmdclass={"build_ext": BuildOnAllCores},
  options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
