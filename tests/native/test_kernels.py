"""The table of kernels: complete, each with its reference and a test; and what a faulty library says."""

import _ctypes
import ast
import ctypes
import importlib
import logging
import re
import shutil
from pathlib import Path

import jax
import pytest

from ps_cfr_spiel.backend.native import FOLDER, KERNELS, library, why_unavailable

TESTS = Path(__file__).parents[1]
needs_library = pytest.mark.skipif(why_unavailable() != "", reason=why_unavailable() or "it is there")
kernels = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


def defined(file):
  """The functions and classes of a test file, {name: source}."""
  source = (TESTS.parent / file).read_text()
  nodes = ast.parse(source).body
  return {n.name: source for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}


def exported(source):
  """The names of the functions that a source in C++ exports."""
  handlers = re.findall(r"XLA_FFI_DEFINE_HANDLER_SYMBOL\((\w+),", source)
  return handlers + re.findall(r'extern "C" const char\* (\w+)\(', source)


@pytest.mark.skipif(not (FOLDER / "native.h").exists(), reason="outside the checkout")
def test_all_that_the_sources_export_is_in_the_table():
  sources = [path for path in FOLDER.glob("*.cc") if path.name != "histories.cc"]  # not of the library
  found = sorted(name for path in sources for name in exported(path.read_text()))
  expected = [f"{k.name}{bits}" for k in KERNELS.values() if k.custom_call for bits in ("32", "64")]
  assert found == sorted([*expected, *(k.name for k in KERNELS.values() if not k.custom_call)])


def compiled(name):
  """A program with a custom call of this name."""
  return jax.jit(lambda: jax.ffi.ffi_call(name, (), has_side_effect=True)()).lower().compile()


@kernels
def test_the_reference_is_there(kernel):
  where, name = kernel.reference.split(":")
  if where.startswith("tests/"):
    assert name in defined(where)
  else:
    assert callable(getattr(importlib.import_module(where), name))


@kernels
def test_the_test_is_there(kernel):
  file, name = kernel.test.split("::")
  assert name.startswith("test_") and name in defined(file)
  assert kernel.computes and kernel.needs


@needs_library
@kernels
def test_it_is_registered(kernel):
  """A custom call is known to XLA, which compiles no call of another name; a plain function is exported."""
  if not kernel.custom_call:
    assert ctypes.CDLL(str(library.LIBRARY))[kernel.name]
    return
  for bits in ("32", "64"):
    compiled(kernel.name + bits)
  with pytest.raises(jax.errors.JaxRuntimeError, match="No FFI handler registered"):
    compiled(f"{kernel.name}16")


def test_a_library_that_cannot_be_loaded(tmp_path, caplog):
  """None, one that is none, one of something else; each is said in one line."""
  path = tmp_path / "_native.abi3.so"
  caplog.set_level(logging.INFO, library.__name__)
  load = library._load.__wrapped__
  functions = library._functions
  functions.cache_clear()
  assert load(path) == "it was not built"
  path.write_text("no library")
  assert "cannot be used" in load(path)
  shutil.copy(_ctypes.__file__, path)
  assert "version 0 of the interface" in load(path)
  assert [record.levelname for record in caplog.records] == ["INFO"] * 3
  assert caplog.records[0].getMessage().startswith("No native library: it was not built.")


def test_a_library_of_another_interface_is_refused(monkeypatch):
  """The sources beside it have the version of Python's table; the message has the command that builds it."""
  if (FOLDER / "native.h").exists():
    assert f"int64_t INTERFACE = {library.INTERFACE};" in (FOLDER / "native.h").read_text()
  if reason := why_unavailable():
    pytest.skip(reason)
  built = library.INTERFACE
  monkeypatch.setattr(library, "INTERFACE", built + 1)
  reason = library._load.__wrapped__(library.LIBRARY)
  assert f"version {built} of the interface" in reason and f"needs version {built + 1}" in reason
  assert library.REBUILD in reason
