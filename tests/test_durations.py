"""Slow tests are marked by their recorded times: the file names existing tests, and recording keeps it so."""

import json
import os
import shutil
import subprocess
import sys

import durations

TESTS = """
import subprocess, sys, time

def burn(seconds):
  start = time.process_time()
  while time.process_time() - start < seconds:
    pass

def test_quick():
  pass

def test_slow_together(seconds):
  burn(seconds)

def test_slow_in_a_child():
  subprocess.run([sys.executable, "-c", "import time\\nwhile time.process_time() < 1.2: pass"], check=True)

def test_sleeping():
  time.sleep(1.2)

def pytest_generate_tests(metafunc):
  if "seconds" in metafunc.fixturenames:
    metafunc.parametrize("seconds", (0.6, 0.7))
"""
SLOW = {"test_it.py::test_slow_together", "test_it.py::test_slow_in_a_child"}


def test_the_record_names_tests_that_exist():
  """If not: `python -m pytest --record tests/test_durations.py` takes out those that are gone."""
  assert {*durations.recorded()} <= durations.functions()


def test_the_record_is_of_slow_tests():
  assert all(seconds >= durations.SLOW for seconds in durations.recorded().values())


def test_marks_follow_the_record(request):
  recorded = durations.recorded()
  for item in request.session.items:
    marked = item.get_closest_marker("slow") is not None
    assert marked == (durations.function(item.nodeid) in recorded), item.nodeid


def test_what_is_gone_leaves_the_record(tmp_path):
  (tmp_path / "test_it.py").write_text(TESTS)
  (tmp_path / "durations.json").write_text(
    json.dumps(
      {"test_it.py::test_gone": 9.0, "test_it.py::test_quick": 3.0, "test_it.py::test_sleeping": 2.0}
    )
  )
  durations.record({"test_it.py::test_quick": 0.1, "test_it.py::test_slow_in_a_child": 1.71828}, tmp_path)
  assert durations.recorded(tmp_path) == {
    "test_it.py::test_sleeping": 2.0,
    "test_it.py::test_slow_in_a_child": 1.7,
  }


def test_recording_and_selecting(tmp_path):
  """Children and all parameters count, waiting does not, workers report; the default leaves out the slow."""
  for name in (
    "conftest.py",
    "durations.py",
    "shared/xla_settings.py",
    "shared/lowering_contexts.py",
  ):
    shutil.copy(durations.FOLDER / name, tmp_path)
  shutil.copy(durations.FOLDER.parent / "pyproject.toml", tmp_path)
  (tmp_path / "test_it.py").write_text(TESTS)
  (tmp_path / "durations.json").write_text("{}")

  def pytest_says(*words):
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words, "test_it.py"]
    environment = {**os.environ, "PYTEST_ADDOPTS": ""}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout

  assert "5 passed" in pytest_says("-m", "", "--record", "-n", "1")
  assert {*durations.recorded(tmp_path)} == SLOW
  (tmp_path / "durations.json").write_text(
    json.dumps({"test_it.py::test_quick": 3.0, **dict.fromkeys(SLOW, 2.0)})
  )
  assert "1 passed, 4 deselected" in pytest_says()
