"""A C++ library whose memory runs out when a test says so; for a program in a copy (`forked`).

It defines `operator new`, so that it is loaded before the library that is to fail, for all to see.
"""

import shutil
import subprocess

import pytest

SOURCE = r"""
#include <cstddef>
#include <cstdlib>
#include <new>

static long left = -1;  // requests until there is no more memory; none fails if it is negative

extern "C" void fail_after(long requests) { left = requests; }

static void* memory(std::size_t size, std::size_t alignment) {
  if (left == 0) throw std::bad_alloc();
  if (left > 0) --left;
  return std::aligned_alloc(alignment, (size + alignment) / alignment * alignment);
}

void* operator new(std::size_t size) { return memory(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return memory(size, static_cast<std::size_t>(alignment));
}
"""
# The beginning of a program. `without_memory` does work again and again, with memory for no request, for one,
# for two, and so on, until it has enough, and gives the errors before.
PROGRAM = """
import ctypes, itertools, sys

failing = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)

def without_memory(work, error):
  errors = []
  for requests in itertools.count():
    failing.fail_after(requests)
    try:
      work()
      return errors
    except error as failure:
      errors.append(str(failure))
    finally:
      failing.fail_after(-1)
"""


def library(folder):
  """The path of the library, compiled there."""
  compiler = shutil.which("g++")
  if compiler is None:
    pytest.skip("needs a C++ compiler")
  (folder / "failing.cc").write_text(SOURCE)
  command = f"{compiler} -std=c++17 -O1 -shared -fPIC failing.cc -o failing.so"
  subprocess.run(command.split(), cwd=folder, check=True)
  return folder / "failing.so"
