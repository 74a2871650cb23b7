"""Sections that no signal interrupts, and waits that it does."""

import contextlib
import signal
import threading
import time

import jax
import pytest

from ps_cfr_spiel.backend import uninterrupted
from ps_cfr_spiel.backend.device import Uninterrupted, block_until_ready


@pytest.fixture(autouse=True)
def handlers():
  """Ctrl-C raises KeyboardInterrupt, even in a background job, which ignores it; later all is as before."""
  numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
  before = {number: signal.getsignal(number) for number in numbers}
  signal.signal(signal.SIGINT, signal.default_int_handler)
  yield
  for number, handler in before.items():
    signal.signal(number, handler)


def test_ctrl_c_comes_after_the_block():
  reached = []
  with pytest.raises(KeyboardInterrupt), Uninterrupted():
    with Uninterrupted():
      signal.raise_signal(signal.SIGINT)
      reached.append("inner")
    reached.append("outer")
  assert reached == ["inner", "outer"]
  assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_handlers_of_the_user_are_called_once_and_stay():
  called = []

  def handler(number, _):
    called.append(number)

  for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, handler)
  with Uninterrupted():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
      signal.raise_signal(number)
    assert not called
  assert called == [signal.SIGTERM, signal.SIGINT]
  assert signal.getsignal(signal.SIGTERM) is handler


def test_what_has_no_handler_keeps_its_effect():
  signal.signal(signal.SIGTERM, signal.SIG_DFL)
  signal.signal(signal.SIGUSR1, signal.SIG_IGN)
  with Uninterrupted():
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGUSR1) is signal.SIG_IGN


def test_an_error_of_the_block_stays():
  with pytest.raises(ValueError, match="own"), Uninterrupted():
    raise ValueError("own")
  assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_are_left_alone():
  seen = []

  def work():
    with Uninterrupted():
      seen.append(signal.getsignal(signal.SIGINT))

  thread = threading.Thread(target=work)
  thread.start()
  thread.join()
  assert seen == [signal.default_int_handler]


def test_a_handler_that_raises_while_others_are_put_back_leaves_no_deaf_one(monkeypatch):
  called = []
  signal.signal(signal.SIGTERM, lambda number, _: called.append(number))
  put = uninterrupted._signal.signal

  def interrupted(number, handler):
    put(number, handler)
    if number == signal.SIGINT and handler is signal.default_int_handler:
      signal.raise_signal(signal.SIGINT)

  with pytest.raises(KeyboardInterrupt), Uninterrupted():
    monkeypatch.setattr(uninterrupted._signal, "signal", interrupted)
  monkeypatch.undo()
  signal.raise_signal(signal.SIGTERM)
  assert called == [signal.SIGTERM]


def test_a_signal_that_waits_is_noticed_until_the_end(monkeypatch):
  shown = []

  @contextlib.contextmanager
  def waiting(what):
    shown.append(what)
    yield
    shown.append("over")

  monkeypatch.setattr(uninterrupted, "waiting", waiting)
  with pytest.raises(KeyboardInterrupt), Uninterrupted("nothing is lost"):
    assert not shown
    for _ in range(2):
      signal.raise_signal(signal.SIGINT)
    assert shown == ["nothing is lost"]
  assert shown == ["nothing is lost", "over"]


def test_handlers_run_during_a_long_wait(monkeypatch):
  events = []
  signal.signal(signal.SIGUSR1, lambda *_: events.append("signal"))

  def ready(arrays):
    if threading.current_thread() is not threading.main_thread():
      time.sleep(0.3)
      events.append("ready")
    return arrays

  monkeypatch.setattr(jax, "block_until_ready", ready)
  timer = threading.Timer(0.05, signal.pthread_kill, (threading.main_thread().ident, signal.SIGUSR1))
  timer.start()
  assert block_until_ready(7) == 7
  assert events == ["signal", "ready"]
