"""The driver of iterations: calls end at marks and with the time, and grow towards a fraction of a second."""

import types

import pytest

from ps_cfr_spiel.backend.device import CHUNK_SECONDS, Pace, advance, compilation, driver, run_for, run_to


class Work:
  """Iterations of `each` seconds by a clock of their own, and `first` seconds more in the first call."""

  def __init__(self, each, first=0.0):
    self.time, self.each, self.first, self.calls = 0.0, each, first, []

  def clock(self):
    return self.time

  def step(self, iterations):
    self.time += self.each * iterations + (0 if self.calls else self.first)
    self.calls.append(iterations)


@pytest.mark.parametrize("each", [1e-6, 0.01, 1.0])
def test_calls_end_at_marks_and_cover_all_iterations(each):
  work = Work(each)
  pace = Pace(work.clock)
  done = list(advance(work.step, 3, 1000, pace, lambda iteration: (iteration // 100 + 1) * 100))
  assert done[-1] == 1000 and set(range(100, 1001, 100)) <= {*done}
  assert [b - a for a, b in zip([3, *done], done, strict=False)] == work.calls
  assert pace.seconds == pytest.approx(997 * each)


@pytest.mark.parametrize("each", [1e-6, 0.003, 0.02])
def test_calls_at_most_double_towards_a_fraction_of_a_second(each):
  work = Work(each)
  for _ in advance(work.step, 0, 10**6, Pace(work.clock), seconds=20):
    pass
  assert all(after <= max(2 * before, 4) for before, after in zip(work.calls, work.calls[1:], strict=False))
  assert max(work.calls) * each <= CHUNK_SECONDS + 1e-9
  assert sum(work.calls) == 10**6 or max(work.calls) * each > CHUNK_SECONDS / 2


@pytest.mark.parametrize(("each", "first", "seconds"), [(0.01, 0.0, 1.0), (0.01, 0.9, 1.0), (0.3, 0.0, 1.0)])
def test_time_ends_calls(each, first, seconds):
  """The last call is over in time but for an iteration; a long first call leaves the rest to others."""
  work = Work(each, first)
  (*_, done) = advance(work.step, 0, 10**6, Pace(work.clock), seconds=seconds)
  assert seconds <= work.time < seconds + each + 1e-9
  assert done == sum(work.calls)


def test_a_first_call_is_always_made():
  calls = []
  run_for(calls.append, 100, 0.0, 16)
  run_for(calls.append, 100, None, 16)
  run_for(calls.append, 7, 0.0, 16)
  assert calls == [16, 100, 7]


def test_a_first_call_that_compiles_leaves_others_their_time(monkeypatch):
  """Tracing takes a minute by this clock, an iteration 10 ms: a second is a hundred of them."""
  work = Work(0.01)
  monkeypatch.setattr(compilation, "time", types.SimpleNamespace(monotonic=work.clock))

  @compilation.jit()
  def iterate(x):
    work.time += 60
    return x

  def step(iterations):
    iterate(0.0)
    work.step(iterations)

  run_for(step, 10**6, 1.0, 16)
  assert work.time >= 60 and 100 <= sum(work.calls) <= 101


def test_marks_are_met_in_a_call_each_unless_it_is_slow(monkeypatch):
  work = Work(0.01)
  monkeypatch.setattr(driver, "Pace", lambda chunk: Pace(work.clock, chunk))
  assert list(run_to(work.step, [1, 4, 20, 200])) == [1, 4, 20, 200]
  assert work.calls[:3] == [1, 3, 16] and sum(work.calls) == 200
  work = Work(0.2, first=5.0)  # slow ones in between, the first of them compiles
  assert list(run_to(work.step, [50, 60])) == [50, 60]
  assert work.calls[0] == 50 and max(work.calls[1:]) == 4 and sum(work.calls) == 60
