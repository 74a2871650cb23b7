"""The command `ps-cfr-spiel explore`: a spot of hold'em is made, solved and looked at in the browser.

The fields of the page are flags of the command solve, with their names, help and defaults; a spot is read by
it, as if typed there.
"""

from __future__ import annotations

import json
import math
import re
import shlex
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence

import pyspiel
from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel.apps.commands import solve
from ps_cfr_spiel.apps.commands.framework.command import Command
from ps_cfr_spiel.apps.commands.framework.flags import memory_text
from ps_cfr_spiel.apps.commands.framework.methods import AT, check_locks, new_solver
from ps_cfr_spiel.apps.commands.framework.run import RUN, Run
from ps_cfr_spiel.apps.commands.framework.server import PORT, answers, parsed, serve
from ps_cfr_spiel.apps.commands.framework.user_input import (
  SPOT_FLAGS,
  answer_to,
  default_folders,
  load_game,
  results_folder,
)
from ps_cfr_spiel.apps.commands.show import made_by_lines
from ps_cfr_spiel.arguments import JSON, check_target
from ps_cfr_spiel.cards.poker import board_of, describe
from ps_cfr_spiel.games import poker
from ps_cfr_spiel.reports import Stopwatch

METHOD = ("iterations", "target", "bits", "tremble", "lock", "memory")
FIELDS = tuple(flag for flag in solve.COMMAND.options if flag.name in (*SPOT_FLAGS, *METHOD))
# A spot to begin with, which is solved within seconds.
START = {
  "board": "Kh Kd 8c 4s 2h",
  "ranges": "22+, A2s+, KTs+, QTs+, JTs, ATo+, KQo; 22-JJ, A2s-AJs, K9s+, Q9s+, J9s+, T9s, ATo-AQo, KJo+",
  "bets": "50%, pot, a",
  "pot": "20",
  "stack": "90",
  "target": "0.3%",
}
MOST_SENT = 200_000  # bytes of a request: two ranges of single hands with weights
# Rough seconds of an iteration for a megabyte of a run, less those of its programs, by the cards of the board
# (`summary --measure` has the time of an iteration). A solve corrects it for the next one.
PROGRAMS, PACE = 157e6, {5: 4e-5, 4: 2e-3, 3: 8e-4}

KEPT_SECONDS = 60  # between saves of a long solve, which take a twentieth of the time at most

GONE = '<!doctype html><p>This strategy is no longer kept; <a href="/">the spot</a> has the last one.</p>'

Fields = Mapping[str, str]  # texts by the names of flags; several of a flag are lines


def _run(values: flags.FlagValues, words: Sequence[str]) -> int | None:
  if words:
    raise ValueError(
      f"explore makes a new spot and takes no {words[0]!r}; look at a saved run by show {words[0]} --serve."
    )
  spot = {name: str(values[name].value) for name in SPOT_FLAGS if values[name].present}
  more = {name: values[name].value for name in METHOD if values[name].present}
  texts = {name: "\n".join(map(str, v)) if isinstance(v, list) else str(v) for name, v in more.items()}
  fields = ({"board": START["board"]} | spot if spot else START) | texts
  explorer = Explorer(fields)
  explorer.check(fields)  # a mistake is answered before the browser is opened
  try:
    return serve(explorer.answer, values.port, MOST_SENT)
  finally:
    explorer.stop()


def words_of(fields: Fields) -> list[str]:
  """The words of the command solve for the fields of a page; those at their defaults are left out."""
  if not isinstance(fields, Mapping):
    raise ValueError(f"fields={fields!r}: expected texts by the names of fields.")
  known, words = {flag.name: flag for flag in FIELDS}, []
  for name, text in fields.items():
    if name not in known:
      raise ValueError(f"unknown field {name!r}; the fields are {', '.join(known)}.")
    if not isinstance(text, str):
      raise ValueError(f"{name}={text!r}: a field is a text.")
    flag, text = known[name], text.strip()
    lines = text.splitlines() if flag.type is tuple else [" ".join(text.split())]
    default = "" if flag.default is None else str(flag.default)
    words += [f"--{name}={line.strip()}" for line in lines if line.strip() and line.strip() != default]
  return words


class Explorer:
  """The spot of a page, its solver at work in a thread, and the answers of a server about both."""

  def __init__(self, fields: Fields):
    """Begin with the texts of some fields; nothing is solved yet."""
    self._fields = dict(fields)
    self._run: Run | None = None
    self._policy: ps.TreePolicy | None = None
    self._page, self._number = "", 0  # of the strategy that can be looked at
    self._solved: dict[str, str] = {}  # the fields that it is of
    self._unsaved = ""  # why a solve could not be saved on the way
    self._stage, self._error = "", ""  # "", "building", "solving", "done" or "failed"
    self._building, self._stopped = threading.Lock(), threading.Event()
    self._thread: threading.Thread | None = None
    self._values: flags.FlagValues | None = None
    self._paces: dict[int, float] = {}  # measured times of an iteration over the rough ones, by cards

  # --- Answers --------------------------------------------------------------------------------

  def answer(self, path: str, sent: bytes | None) -> tuple[int, str, str] | None:
    """See `server.serve`."""
    place = re.fullmatch(r"/strategy/([0-9]{1,9})(/.*)", path)
    if sent is None:
      if path == "/":
        return 200, "text/html", ps.views.spot_page(self._form() | {"state": self.state()})
      if place is None:
        return None
      if self._policy is None or int(place[1]) != self._number:
        return 404, "text/html", GONE
      return answers(self._policy, self._page)(place[2], None)
    asks = {
      "/check": lambda asked: self.check(asked["fields"]),
      "/range": lambda asked: ps.views.painted(str(asked["text"]), str(asked["board"]), asked["paint"]),
      "/solve": lambda asked: self.solve(asked["fields"]),
      "/progress": lambda _: self.state(),
      "/stop": lambda _: self._stop_soon(),
      "/save": lambda _: self._save(),
    }
    if place is not None and place[2] == "/lock":
      asks[path] = lambda asked: self.lock(int(place[1]), str(asked["lock"]))
    if path not in asks:
      return None
    status, data = 200, {}
    try:
      data = asks[path](parsed(sent))
    except KeyError as error:
      status, data = 400, {"error": f"The request lacks {error}."}
    except Exception as error:
      message = answer_to(error)
      if message is None:
        traceback.print_exc()
      status, data = 400 if message else 500, {"error": message or f"{type(error).__name__}: {error}"}
    return status, "application/json", json.dumps(data)

  def _form(self) -> dict[str, JSON]:
    """The fields of the page with their help and their texts."""
    fields = [
      {
        "name": flag.name,
        "help": flag.text,
        "choices": list(flag.choices),
        "lines": flag.type is tuple,
        "text": self._fields.get(flag.name, "" if flag.default is None else str(flag.default)),
        "group": "spot" if flag.name in SPOT_FLAGS else "method",
      }
      for flag in FIELDS
    ]
    return {"fields": fields, "seats": ["out of position (OOP)", "in position (IP)"]}

  def state(self) -> dict[str, JSON]:
    """The stage of the solve, and its last measurement."""
    run, data = self._run, {"stage": self._stage, "error": self._error, "number": self._number}
    if run is None:
      return data
    game, wanted = run.solver.game, self._values.iterations if self._values else 0
    pot, done = ps.views.pot_of(game), run.done
    data |= {"title": describe(str(game)), "iteration": done, "iterations": wanted, "seconds": run.seconds}
    points = [[p.iteration, p.seconds, 100 * p.exploitability / pot if pot else None] for p in run.points]
    left = run.seconds / done * (wanted - done) if done else None
    saved = str(run.file) if run.saved is not None else ""
    if run.saved is not None and (self._stage != "done" or run.saved < done):
      goal = [f"--target={self._values.target}"] if self._values and self._values.target else []
      rest = [f"--iterations={wanted - run.saved}", *goal]
      again = shlex.join(["ps-cfr-spiel", "solve", f"--resume={run.file}", *rest])
      saved += f" up to iteration {run.saved:,}; after an interruption: {again}"
    target = 100 * run.target / pot if pot and math.isfinite(run.target) else None
    data |= {"points": points, "left": left, "saved": saved, "target": target}
    return data | {"unsaved": f"The solve could not be saved: {self._unsaved}" if self._unsaved else ""}

  # --- The spot ---------------------------------------------------------------------------------

  def check(self, fields: Fields) -> dict[str, JSON]:
    """A spot in words, the memory and the rough time of its solve, and the same as a command.

    ValueError, or an error of a flag, for a field that is not understood.
    """
    words = words_of(fields)
    if not fields.get("board", "").strip():  # solve has a default, which the page does not show
      raise ValueError("The board is empty; choose three cards of a flop, four of a turn or five of a river.")
    with self._building:
      values = _values(words)
      game = load_game((), values)
      check_target("--target", values.target, ps.views.pot_of(game))
      check_locks(game, values.lock or ())
      needs = ps.PSCFRSolver.memory_needs(game, int(values.bits))
      assert needs is not None, "every spot describes itself"
      return {
        "title": describe(str(game)),
        "memory": memory_text(game, needs.run, without=""),
        "time": self._time(game, needs.run, values.iterations),
        "warning": game.left_out() if isinstance(game, poker.holdem_subgame.HoldemSubgameGame) else "",
        "command": shlex.join(["ps-cfr-spiel", "solve", *words]),
      }

  def _time(self, game: pyspiel.Game, run: int, iterations: int) -> str:
    """The expected time of some iterations, in words."""
    count = _cards(game)
    rough = max(run - PROGRAMS, 1e5) / 1e6 * PACE[count] * iterations
    seconds, measured = rough * self._paces.get(count, 1), count in self._paces
    amount = f"{seconds:,.0f} s" if seconds < 120 else f"{seconds / 60:,.0f} min"
    said = f"about {'a second' if seconds < 1.5 else amount} for {iterations:,} iterations"
    how = ", as the last solve" if measured else ", roughly, and some seconds for the first compilation"
    return said + how

  def solve(self, fields: Fields) -> dict[str, JSON]:
    """Begin to solve a spot; a mistake in it raises before the thread starts."""
    self._check_idle()
    self.check(fields)
    self._fields, self._error, self._unsaved, self._run = dict(fields), "", "", None
    self._values, self._stage = _values(words_of(fields)), "building"
    self._stopped.clear()
    self._thread = threading.Thread(target=self._solve, args=(self._values,), daemon=True)
    begun = self.state()  # the error of a solve that fails at once is no refusal; /progress has it
    self._thread.start()
    return begun

  def _check_idle(self) -> None:
    if self._thread is not None and self._thread.is_alive():
      raise ValueError("A solve is under way; stop it first, or wait for its end.")

  def lock(self, number: int, text: str) -> dict[str, JSON]:
    """Solve the spot of the strategy with a number again, with one more lock.

    It replaces the earlier locks of its line; if it is of some hands, those of other hands remain.
    """
    if number != self._number or self._policy is None:
      raise ValueError("This strategy is no longer kept; go to the spot, and lock in its last one.")
    find = self._policy.labels.find_line  # a line has several spellings
    line, _, how = text.rpartition("=")
    hands, kept = _hands(how), []
    for old in filter(str.strip, self._solved.get("lock", "").splitlines()):
      place, _, earlier = old.rpartition("=")
      if find(place) != find(line):
        kept.append(old)
      elif hands:
        how = "; ".join([*(part.strip() for part in earlier.split(";") if _hands(part) != hands), how])
    return self.solve(self._solved | {"lock": "\n".join([*kept, f"{line}={how}"])})

  # --- The thread -------------------------------------------------------------------------------

  def _solve(self, values: flags.FlagValues) -> None:
    try:
      self._work(values)
      self._stage = "done"
    except Exception as error:  # the page shows it
      self._error, self._stage = answer_to(error) or f"{type(error).__name__}: {error}", "failed"
      if answer_to(error) is None:
        traceback.print_exc()

  def _work(self, values: flags.FlagValues) -> None:
    """Build, solve, and make the page of the strategy."""
    with self._building, Stopwatch() as building:
      solver = new_solver(values, ())
      solver.values_fit(values.memory)  # or it is refused now: the page of the strategy has them
    target = check_target("--target", values.target, ps.views.pot_of(solver.game))
    folder = next(default_folders(solver.game))
    run = Run(solver, [], folder, target, values.checkpoint_seconds, True, building)
    with run.building:
      solver.compile(False)
    self._run, self._stage = run, "solving"
    run.iterate_until(values.iterations, self._keeps_until_stopped(run))
    if run.saved is not None:
      self._keep(run)
    self._note_pace(run)
    policy = solver.average_policy()
    if not isinstance(policy, ps.TreePolicy):
      raise ValueError(f"{solver.game} has no public tree to look at.")
    note = f"exploitability {ps.views.with_unit(run.points[-1].exploitability, solver.game)}"
    origin = "; ".join([*made_by_lines(policy), note])
    page = ps.views.explore_page(policy, origin, served=True, lockable=True)
    self._solved, self._policy, self._page, self._number = self._fields, policy, page, self._number + 1

  def _keeps_until_stopped(self, run: Run) -> Callable[[], bool]:
    """A question whether to stop the solve; asking saves a long run now and then, for `solve --resume`."""
    saving, begun = Stopwatch(), time.monotonic()

    def stopped() -> bool:
      nonlocal begun
      if time.monotonic() - begun >= max(KEPT_SECONDS, 20 * saving.last):
        with saving:
          self._keep(run)
        begun = time.monotonic()
      return self._stopped.is_set()

    return stopped

  def _keep(self, run: Run) -> None:
    """Save a run unasked: a run of more iterations is not replaced, and a failure is only noted."""
    assert self._values is not None, "a run has flags"
    if self._unsaved:
      return
    try:
      if run.saved is None:
        run.folder = results_folder(self._values, run.solver, RUN, run.solver.iteration)
      run.checkpoint()
    except (OSError, ValueError) as error:
      self._unsaved = answer_to(error) or str(error)

  def _note_pace(self, run: Run) -> None:
    """Remember how much slower than the rough time a solve was."""
    game, done = run.solver.game, run.solver.iteration
    needs = ps.PSCFRSolver.memory_needs(game, run.solver.options.bits)
    if needs is not None and done and run.seconds:
      rough = max(needs.run - PROGRAMS, 1e5) / 1e6 * PACE[_cards(game)]
      self._paces[_cards(game)] = run.seconds / done / rough

  def _stop_soon(self) -> dict[str, JSON]:
    self._stopped.set()
    return self.state()

  def stop(self) -> None:
    """Stop the thread, and wait for its end: JAX may crash a process that leaves while it works."""
    self._stopped.set()
    self.wait()

  def wait(self) -> None:
    """Wait for the end of the solve, if one is under way."""
    if self._thread is not None:
      self._thread.join()

  def _save(self) -> dict[str, JSON]:
    """Save the run as the command solve does."""
    self._check_idle()
    if self._run is None or self._stage != "done" or self._values is None:
      raise ValueError("Nothing is solved yet; press Solve first.")
    if self._run.saved is None:
      self._run.folder = results_folder(self._values, self._run.solver, RUN)
      self._run.checkpoint()
    return self.state()


def _values(words: Sequence[str]) -> flags.FlagValues:
  """The flags of the command solve as some words set them."""
  values = solve.COMMAND.flags()
  rest = values(["ps-cfr-spiel", *words, "--quiet"])[1:]
  assert not rest, "each word is a flag"
  return values


def _hands(part: str) -> str:
  """The hands of a part of a lock, "" if it is of all."""
  return part.partition(AT)[2].strip()


def _cards(game: pyspiel.Game) -> int:
  """The cards of a spot's board."""
  return len(board_of(game) or "") // 2


COMMAND = Command(
  name="explore",
  arguments="",
  summary="Make a spot of hold'em in the browser, solve it and look at it",
  text="A page on this machine: click a board, paint both ranges, write pot, stack and bet sizes, see memory "
  "and time, solve, look at the strategy, lock a decision and solve again. Flags fill in the page's fields. "
  "Save saves it, and a long solve is saved every minute; Ctrl-C ends it. A saved run is looked at with show "
  "--serve.",
  examples=(
    "explore",
    "explore --board='Ks 7d 2c' --pot=6 --stack=20 --bets='33%; a' --ranges='77+, AT+; 22+, A2s+'",
  ),
  options=(*FIELDS, PORT),
  run=_run,
)
