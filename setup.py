"""The native library, built where there is a C++ compiler; pyproject.toml says all the rest.

It is a library of its own that calls nothing of Python, so that one serves all versions of it ("abi3"). A
library built with old headers of XLA runs under a newer one, not the other way round, so those come with the
oldest jaxlib of pyproject.toml.
"""

from importlib.util import find_spec

from setuptools import Extension, setup

jaxlib = find_spec("jaxlib")
sweep = Extension(
  "ps_cfr_spiel.tree._sweep",
  ["ps_cfr_spiel/tree/sweep.cc", "ps_cfr_spiel/tree/walk.cc"],
  depends=["ps_cfr_spiel/tree/native.h"],
  include_dirs=[f"{place}/include" for place in (jaxlib.submodule_search_locations or () if jaxlib else ())],
  extra_compile_args=["-std=c++17", "-O3", "-g0", "-Wno-psabi"],
  language="c++",
  optional=True,  # without a compiler the package is installed without it
  py_limited_api=True,
)
setup(ext_modules=[sweep], options={"bdist_wheel": {"py_limited_api": "cp311"}})
