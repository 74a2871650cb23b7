import contextlib
import gc
import os
import shutil
import signal
import sys
from pathlib import Path

import xla_settings

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.update(xla_settings.quick_environment())
# Workers and processes that tests start share two cores: BLAS's own threads would turn on them and wait.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# What one file or worker has compiled, others read, small programs too; so do the processes that tests start.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache/compiled"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
# So it is with bytecode, for those who want none beside sources: each process that a test starts would take
# half a second more, each worker five to rewrite all assertions.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
  sys.dont_write_bytecode, folder = False, Path(__file__).parents[1] / ".pytest_cache/bytecode"
  sys.pycache_prefix = os.environ.setdefault("PYTHONPYCACHEPREFIX", str(folder))

if packages := os.environ.get("CHECKED_SHAPES"):  # see test_shapes_of_arrays
  import shape_checks

  shape_checks.install(packages.split())

import durations
import jax
import lowering_contexts
import pytest
from hypothesis import HealthCheck, settings
from jax._src import compiler

# A part of the key of all that JAX caches, if this JAX has it and lets it be set for good (0.7.2 does not).
KEY = jax.make_user_context() if hasattr(jax, "make_user_context") else None
if not hasattr(KEY, "set_global"):
  KEY = None
jax.config.update("jax_enable_x64", True)  # an array made without a dtype must not slip into a float32 run
jax.config.update("jax_numpy_rank_promotion", "raise")

lowering_contexts.share()

# Property tests (tests/properties): the same few examples each time in CI; by hand as many new ones as there
# is time for, with --hypothesis-profile=hour.
QUIET = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
settings.register_profile("ci", max_examples=5, derandomize=True, database=None, **QUIET)
settings.register_profile("hour", max_examples=1500, **QUIET)
settings.load_profile("ci")


def pytest_sessionstart(session):
  """Empties the folder of compiled code when it has grown large.

  JAX would keep it small by itself, but then processes wait for each other, and warn on a busy machine.
  """
  folder = Path(__file__).parents[1] / ".pytest_cache/compiled"
  is_worker = hasattr(session.config, "workerinput")
  if not is_worker and sum(file.stat().st_size for file in folder.glob("*")) > 2 * 2**30:
    shutil.rmtree(folder)


# --- The quick tests are those that durations.json does not name -------------------------------------------

MOST_MAPS = 20_000  # of memory, of 65,530 that Linux allows a process
START = pytest.StashKey[float]()
spent = {}  # {test function: processor seconds} in this session


def pytest_addoption(parser):
  parser.addoption("--record", action="store_true", help="write times of slow tests to tests/durations.json")


def pytest_collection_modifyitems(items):
  """Marks the slow tests, before `-m` selects; the longest come first, so that no worker ends with one."""
  seconds = durations.recorded()
  for item in items:
    if durations.function(item.nodeid) in seconds:
      item.add_marker("slow")
  items.sort(key=lambda item: -max(durations.LONG, seconds.get(durations.function(item.nodeid), 0)))


def pytest_collection_finish():
  """Takes imports and tests out of every later collection of garbage, which they made a tenth of all time.

  Collections are rarer, too: tracing makes many objects, and few cycles.
  """
  gc.freeze()
  gc.set_threshold(20_000)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
  item.stash[START] = durations.processor_time()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
  """Adds processor seconds, fixtures included, to the report of a test that passed; workers send it on."""
  report = yield
  if call.when == "call" and report.passed:
    report.processor_seconds = durations.processor_time() - item.stash[START]
  return report


def pytest_runtest_logreport(report):
  if hasattr(report, "processor_seconds"):
    name = durations.function(report.nodeid)
    spent[name] = spent.get(name, 0) + report.processor_seconds


def pytest_sessionfinish(session):
  if session.config.option.record and not hasattr(session.config, "workerinput"):
    durations.record(spent)


def pytest_terminal_summary(terminalreporter):
  """Names tests that are far from quick and not recorded: new ones, or ones that a change has made slow."""
  far = {name for name, seconds in spent.items() if seconds > 4 * durations.SLOW}
  for name in sorted(far - {*durations.recorded()}):
    terminalreporter.line(f"{name} took {spent[name]:.1f} s: mark it by python -m pytest --record")


@pytest.fixture(autouse=True, scope="module")
def forget_compiled_code():
  """After a file, if need be. Each program that XLA compiles takes some of the process's 65,530 memory maps.

  Thousands of them, as in all tests together, end in a segmentation fault. Until then the next files find
  operations compiled that all of them use.
  """
  yield
  maps = Path("/proc/self/maps")
  if not maps.exists() or maps.read_bytes().count(b"\n") > MOST_MAPS:
    jax.clear_caches()
    gc.collect()


def compile_under(key):
  """Find only programs that were compiled under this key; older JAX, without keys, forgets all programs."""
  if KEY is None:
    jax.clear_caches()
  else:
    KEY.set_global(key)


@pytest.fixture
def optimized(monkeypatch):
  """XLA's own settings, also in processes that a test starts: for long runs, and laws of compiled code.

  A program keeps the settings that it was compiled with, so the test shares none with others. The value is a
  function that makes a context for a part of the test, in which all is as in other tests.
  """
  usual = jax.config.values["jax_disable_most_optimizations"]
  users_options = xla_settings.users_options(compiler.get_compile_options)

  def set_optimizations(on):
    compile_under("optimized" if on else None)
    jax.config.update("jax_disable_most_optimizations", False if on else usual)

  @contextlib.contextmanager
  def as_elsewhere():
    set_optimizations(False)
    yield
    set_optimizations(True)

  monkeypatch.setattr(compiler, "get_compile_options", users_options)
  monkeypatch.setenv("XLA_FLAGS", xla_settings.users_environment()["XLA_FLAGS"])
  monkeypatch.delenv("JAX_DISABLE_MOST_OPTIMIZATIONS", raising=False)
  set_optimizations(True)
  yield as_elsewhere
  set_optimizations(False)


@pytest.fixture
def on_cores():
  """A function that leaves this process so many cores, by which the native library counts its threads."""
  if sys.platform != "linux" or os.cpu_count() == 1:
    pytest.skip("threads are counted by cores")
  cores = os.sched_getaffinity(0)
  yield lambda count: os.sched_setaffinity(0, sorted(cores)[:count])
  os.sched_setaffinity(0, cores)


@pytest.fixture
def ctrl_c():
  """Ctrl-C raises KeyboardInterrupt, even in a shell's background job, which would ignore it."""
  before = signal.signal(signal.SIGINT, signal.default_int_handler)
  yield
  signal.signal(signal.SIGINT, before)
