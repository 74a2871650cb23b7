"""Programs in processes of their own, each a copy of one process that has imported the package and no more.

A new Python takes two seconds of processor for these imports, a copy hardly any time. JAX has not started in
a copy, so it takes devices, cores and XLA's flags as in a new process, and variables of the environment that
JAX reads at its import are given to it again. What a test says of imports, of the installed program or of
closed streams needs a new Python. Both outputs go to files: a copy may write as much as it likes.
"""

import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import durations

PROGRAM = "from ps_cfr_spiel.apps.commands.program import main; main()"  # the program, with its words
PATIENCE = 600  # seconds
SERVER = """
import contextlib, json, os, signal, sys, types

import scipy.optimize, scipy.sparse.csgraph, scipy.spatial
import ps_cfr_spiel, ps_cfr_spiel.apps.commands.program
from ps_cfr_spiel import ContinualResolving, PSCFRSolver, learning, matches, values
from ps_cfr_spiel.abstractions import HierarchicalMCCFRSolver
from ps_cfr_spiel.apps.commands import check, match, play, resolve, show, solve
with contextlib.suppress(ImportError):
  import matplotlib.pyplot
  from ps_cfr_spiel.apps import pictures
with contextlib.suppress(ImportError):
  import equinox, optax

import jax

def asked_of_a_copy():
  print(json.dumps(sum(os.times()[:2])), flush=True)
  for line in sys.stdin:
    asked = json.loads(line)
    if "start" in asked:
      copy = os.fork()
      if not copy:
        return asked
      answer = copy
    else:
      copy, status, used = os.wait4(asked["poll"], os.WNOHANG)
      answer = [os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime] if copy else [None, 0]
    print(json.dumps(answer), flush=True)
  os._exit(0)

asked = asked_of_a_copy()
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.alarm(600)
for number, file in enumerate([os.devnull, *asked["outputs"]]):
  descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
  os.dup2(descriptor, number)
  os.close(descriptor)
os.chdir(asked["folder"])
os.environ.clear()
os.environ.update(asked["environment"])
for name, value in jax.config.values.items():
  text = os.environ.get(name.upper())
  if text is not None and name != "jax_platforms":
    kind = type(value) if isinstance(value, int | float) else str
    jax.config.update(name, text.lower() in ("1", "true") if kind is bool else kind(text))
sys.argv = ["-c", *asked["words"]]
sys.modules["__main__"] = types.ModuleType("__main__")
exec(compile(asked["start"], "<string>", "exec"), vars(sys.modules["__main__"]))
"""


@functools.cache
def _server():
  words = [sys.executable, "-W", "ignore:os.fork:RuntimeWarning", "-c", SERVER]
  plain = {name: text for name, text in os.environ.items() if not name.startswith("JAX_")}
  settings = {"JAX_PLATFORMS": "cpu", "MPLBACKEND": "Agg"}
  pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
  server = subprocess.Popen(words, env={**plain, **settings}, **pipes)
  atexit.register(server.communicate)
  assert server.stdout is not None
  durations.elsewhere += json.loads(server.stdout.readline())
  return server


def _ask(question):
  server = _server()
  assert server.stdin is not None and server.stdout is not None
  print(json.dumps(question), file=server.stdin, flush=True)
  return json.loads(server.stdout.readline())


class Copy:
  """A process that runs a program's code, with words in `sys.argv`; its methods are those of `Popen`."""

  def __init__(self, code, *words, environment=None, folder="."):
    self._outputs = tempfile.TemporaryDirectory()
    files = [os.path.join(self._outputs.name, name) for name in ("out", "err")]
    self._out, self._err = map(Path, files)
    for file in (self._out, self._err):
      file.touch()
    self.returncode = None
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"} if environment is None else environment
    question = {"start": code, "words": [*map(str, words)], "outputs": files}
    self.pid = _ask({**question, "environment": environment, "folder": os.path.abspath(folder)})

  @property
  def out(self):
    return self._out.read_text()

  @property
  def err(self):
    return self._err.read_text()

  def poll(self):
    if self.returncode is None:
      self.returncode, seconds = _ask({"poll": self.pid})
      durations.elsewhere += seconds
    return self.returncode

  def until_it_says(self, text, timeout=PATIENCE):
    """Waits for a text in its output."""
    until = time.monotonic() + timeout
    while text not in self.out and self.poll() is None and time.monotonic() < until:
      time.sleep(0.02)
    assert text in self.out, self.err

  def wait(self, timeout=PATIENCE):
    until = time.monotonic() + timeout
    while self.poll() is None:
      if time.monotonic() > until:
        raise subprocess.TimeoutExpired(f"copy {self.pid}", timeout)
      time.sleep(0.01)
    return self.returncode

  def send_signal(self, number):
    if self.poll() is None:
      os.kill(self.pid, number)

  def kill(self):
    self.send_signal(9)

  def __enter__(self):
    return self

  def __exit__(self, *_):
    self.kill()
    self.wait()
    self._outputs.cleanup()


def run(code, *words, **settings):
  """A program that has ended: its exit code and what it said."""
  with Copy(code, *words, **settings) as copy:
    copy.wait()
    return subprocess.CompletedProcess([*map(str, words)], copy.returncode, copy.out, copy.err)
