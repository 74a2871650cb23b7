"""The native library, built where there is a C++ compiler; pyproject.toml says all the rest.

It calls nothing of Python, so that one serves all versions of it ("abi3"). A library built with old headers
of XLA runs under a newer one, not the other way round, so those come with pyproject.toml's oldest jaxlib.
histories.cc is not part of it: histories/native_enumeration.py compiles that on the user's machine.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import chain

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

FOLDER = "ps_cfr_spiel/backend/native"
# The largest first: they take a minute each.
SOURCES = ("stream", "learn", "clusters", "cheat", "sampled_turns", "walk", "sweep", "direct")
HEADERS = ("cards", "learn", "native", "sampling", "scratch", "sweep", "threads", "walk")
jaxlib = find_spec("jaxlib")
places = (jaxlib.submodule_search_locations or ()) if jaxlib else ()


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


library = Extension(
  "ps_cfr_spiel.backend.native._native",
  [f"{FOLDER}/{name}.cc" for name in SOURCES],
  depends=[f"{FOLDER}/{name}.h" for name in HEADERS],
  include_dirs=[f"{place}/include" for place in places],
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
setup(
  ext_modules=[library],
  cmdclass={"build_ext": BuildOnAllCores},
  options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
