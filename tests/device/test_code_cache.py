"""Compiled code is kept between processes, in a folder of the user's own, unless that is switched off."""

import os
import sys

import forked
import pytest

from ps_cfr_spiel.backend.device import code_cache

# Of Kuhn poker all programs may be compiled in less than `LEAST_SECONDS`, so none is kept.
SOLVE = (
  "import sys; from ps_cfr_spiel.apps.commands.program import main; "
  "main(['ps-cfr-spiel', 'solve', 'leduc_poker', '--iterations=10', '--noplot', '--quiet', *sys.argv[1:]])"
)
COMPILED = (  # what a process compiles itself, instead of reading it
  "import jax, ps_cfr_spiel, pyspiel, sys\n"
  "from jax import monitoring\n"
  "names = []\n"
  "monitoring.register_event_listener(lambda name, **_: names.append(name))\n"
  "print(ps_cfr_spiel.runtime.keep_compiled_code(*sys.argv[1:]))\n"
  "ps_cfr_spiel.PSCFRSolver(pyspiel.load_game('leduc_poker'), ps_cfr_spiel.rules.Hedge()).run(5)\n"
  "print(names.count('/jax/compilation_cache/cache_hits'))\n"
)


def run(code, *words, **variables):
  """The lines that a new process prints, without the cache that the tests may run with."""
  environment = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "XLA_", code_cache.SWITCH))}
  environment |= {"JAX_PLATFORMS": "cpu", **{k: str(v) for k, v in variables.items()}}
  done = forked.run(code, *words, environment=environment)
  assert done.returncode == 0, done.stderr
  return done.stdout.splitlines()


def kept(folder):
  return sorted(path.name for path in folder.rglob("*-cache"))


def test_a_second_process_compiles_nothing_long(tmp_path):
  """It may keep more, which took just too little time before."""
  assert run(COMPILED, tmp_path) == [str(tmp_path), "0"]
  files = kept(tmp_path)
  folder, hits = run(COMPILED, tmp_path)
  assert folder == str(tmp_path) and int(hits) >= len(files) > 0
  assert {*files} <= {*kept(tmp_path)}


def test_the_program_keeps_its_code_where_caches_belong(tmp_path):
  run(SOLVE, f"--output={tmp_path / 'run'}", XDG_CACHE_HOME=tmp_path / "caches", HOME=tmp_path)
  assert kept(tmp_path)


def test_the_switch(tmp_path):
  run(SOLVE, f"--output={tmp_path / 'run'}", PS_CFR_SPIEL_CACHE="off", HOME=tmp_path, XDG_CACHE_HOME=tmp_path)
  assert not kept(tmp_path)


def test_where_it_is(monkeypatch, tmp_path):
  monkeypatch.setenv(code_cache.SWITCH, str(tmp_path))
  assert code_cache.cache_folder() == tmp_path
  monkeypatch.setenv(code_cache.SWITCH, "OFF")
  assert code_cache.cache_folder() is None
  monkeypatch.delenv(code_cache.SWITCH)
  monkeypatch.setattr(sys, "platform", "linux")
  monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
  assert code_cache.cache_folder() == tmp_path / "ps_cfr_spiel"


def test_homes_that_do_not_exist(monkeypatch):
  """A folder in the home of an unknown user is a mistake; a user without a home has no cache."""
  monkeypatch.setenv(code_cache.SWITCH, "~nosuchuser/x")
  with pytest.raises(ValueError, match="PS_CFR_SPIEL_CACHE=~nosuchuser/x: no such user"):
    code_cache.cache_folder()
  monkeypatch.delenv(code_cache.SWITCH)
  for name in ("HOME", "XDG_CACHE_HOME"):
    monkeypatch.delenv(name, raising=False)
  monkeypatch.setattr(code_cache.Path, "home", lambda: code_cache.Path("~nosuchuser").expanduser())
  assert code_cache.cache_folder() is None


def test_a_cache_of_the_users_own_stays(tmp_path):
  code = (
    "import jax, ps_cfr_spiel, sys; jax.config.update('jax_compilation_cache_dir', sys.argv[1])\n"
    "print(ps_cfr_spiel.runtime.keep_compiled_code(sys.argv[2]))"
  )
  assert run(code, tmp_path / "own", tmp_path / "other") == [str(tmp_path / "own")]
  assert not (tmp_path / "other").exists()


def test_a_folder_that_cannot_be_written(tmp_path):
  (tmp_path / "file").write_text("")
  code = "import ps_cfr_spiel, sys; print(ps_cfr_spiel.runtime.keep_compiled_code(sys.argv[1]))"
  assert run(code, tmp_path / "file" / "below") == ["None"]


def test_half_entries_of_the_killed_are_swept(tmp_path):
  """JAX writes an entry and then its time of use; without that it would warn at every compilation."""
  names = ("whole-cache", "whole-atime", "half-cache", "begun-cache")
  for name in names:
    (tmp_path / name).write_bytes(b"x")
  for name in names[:3]:
    os.utime(tmp_path / name, (0, 0))
  code_cache._sweep(tmp_path)
  assert sorted(path.name for path in tmp_path.iterdir()) == ["begun-cache", "whole-atime", "whole-cache"]
