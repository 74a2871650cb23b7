"""Bars and notices where the output is neither a terminal nor a notebook: a line now and then."""

import time

import pyspiel

import ps_cfr_spiel
from ps_cfr_spiel import reports


def test_a_line_a_minute(monkeypatch, capsys):
  monkeypatch.setattr(reports, "MINUTE", 0.05)
  for _ in (bar := reports.progress_bar(None, iterable=range(4), desc="Walking", unit=" states")):
    bar.refresh()
    time.sleep(0.06)
  lines = capsys.readouterr().err.splitlines()
  assert any(line.startswith("Walking: 2/4 states after 00:00, 00:0") for line in lines) and len(lines) < 6
  assert all(line.endswith(" to go") for line in lines)
  with reports.waiting("Compiling"):
    time.sleep(0.12)
  assert capsys.readouterr().err.startswith("Compiling ... 0 s\n")


class Output:
  """An output of a notebook, with all that it has shown."""

  shown: list[str]

  def __init__(self, data, raw, display_id):
    assert raw and display_id
    self.shown = []
    self.update(data, raw)

  def update(self, data, raw):
    self.shown.append(data["text/plain"])


def test_a_line_has_one_colon_after_its_description(monkeypatch, capsys):
  """Also where the description changes, as that of an enumeration does."""
  monkeypatch.setattr(reports, "MINUTE", 1e-9)
  with reports.progress_bar(None, total=4, desc="Enumerating", unit=" histories") as bar:
    bar.update()
    bar.refresh()
    bar.set_description("Enumerating about 4, 3 min", refresh=False)
    bar.update()
    bar.refresh()
  first, second = capsys.readouterr().err.splitlines()
  assert first.startswith("Enumerating: 1/4 histories after ")
  assert second.startswith("Enumerating about 4, 3 min: 2/4 histories after ")


def test_a_notebook_has_one_output_that_ends_empty(monkeypatch, capsys):
  outputs = []
  monkeypatch.setattr(reports, "in_notebook", lambda: True)
  monkeypatch.setattr(
    "IPython.display.display", lambda *data, **how: outputs.append(Output(*data, **how)) or outputs[-1]
  )
  for progress in (True, None):
    monkeypatch.setattr(reports, "PATIENCE", 0.0)
    with reports.progress_bar(progress, total=3, desc="Walking", mininterval=0, leave=False) as bar:
      for _ in range(3):
        bar.update()
      bar.clear()
  with reports.waiting("Compiling"):
    time.sleep(0.05)
  assert [output.shown[0].split()[0] for output in outputs] == ["Walking:", "Walking:", "Compiling"]
  assert len(outputs[0].shown) > 3 and all(output.shown[-1] == "" for output in outputs)
  assert capsys.readouterr() == ("", "")


def test_a_process_that_imports_a_kernel_is_no_notebook():
  import ipykernel  # noqa: F401

  assert not reports.in_notebook()


def test_short_work_and_silence(capsys):
  for progress in (None, False):
    assert list(reports.progress_bar(progress, iterable=range(3))) == [0, 1, 2]
    with reports.waiting("Compiling", progress), reports.progress_bar(progress, total=3) as bar:
      bar.set_description("Walking")
  assert capsys.readouterr().err == ""


def test_the_lines_of_a_run_have_the_saved_iteration(monkeypatch, tmp_path, capsys):
  """So a death that prints nothing, such as kill -9, loses the iterations since."""
  monkeypatch.setattr(reports, "MINUTE", 0.005)
  solver = ps_cfr_spiel.PSCFRSolver(pyspiel.load_game("kuhn_poker"))
  solver.pace.chunk = 10
  saved: list[int] = []
  solver.run(
    100,
    checkpoint=lambda: saved.append(solver.iteration),
    checkpoint_seconds=0,
    every=10,
    callback=lambda _: time.sleep(0.01),
  )
  lines = capsys.readouterr().err.splitlines()
  named = [int(line.split(", ")[2].removesuffix(" saved")) for line in lines if "saved" in line]
  assert named and set(named) <= set(saved)
