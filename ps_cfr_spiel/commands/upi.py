"""The command `ps-cfr-spiel upi`: PioSOLVER's text interface, so that its tools can drive this solver.

A line on stdin is a command, and each is answered on stdout, in order, by lines and the end string. A node is
written as "r:0:b50:c:2d:c", with the chips that a player has put in since the root; 1,326 numbers belong to
the hands in the order of `cards.ALL_HANDS`. Source: PioSOLVER, UPI documentation (2015 to 2023).
"""

from __future__ import annotations

import inspect
import shlex
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel.commands.command import Command
from ps_cfr_spiel.poker import betting, cards, range_text
from ps_cfr_spiel.version import __version__

SEATS = ("OOP", "IP")
# Settings of a solver that this one does not have: they change no result.
SETTINGS = (
  *("set_threads", "set_recalc_accuracy", "set_always_recalc", "set_isomorphism", "set_info_freq", "set_mes"),
  *("set_algorithm", "small_strats", "set_first_iteration_player", "add_info_line", "reset_tree_info"),
  *("rebuild_forgotten_streets", "load_all_nodes", "take_a_break"),
)
UPDATE = 5.0  # seconds between two messages of a solver at work
PAUSE = 0.25  # seconds of iterations between two looks at the other thread


class _Session:
  """The set-up, tree and solution of a client."""

  def __init__(self, write: Callable[[str], Any]):
    """`write` prints a text at once."""
    self.write, self.end = write, ""
    self.board, self.bets, self.lines = "", "1 a", list[str]()
    self.ranges = np.ones((2, len(cards.ALL_HANDS)))
    self.pot, self.stack, self.accuracy = 0.0, 0.0, -np.inf
    self.solver: ps.PSCFRSolver | None = None
    self.fixed: dict[int, np.ndarray] = {}  # strategies [A, H] by set_strategy, at public states
    self.locked = set[int]()
    self.locks_changed, self.seconds = False, 0.0
    self._policy: tuple[int, ps.TreePolicy] | None = None
    self.thread: threading.Thread | None = None
    self.asked, self.turn, self.waiting = threading.Event(), threading.Lock(), threading.Event()

  # --- Commands: each is a method of its name, and returns the lines of its answer, None for "ok!" ---------

  def answer(self, line: str) -> bool:
    """Answer a line of the client; False after exit."""
    try:
      words = shlex.split(line)
    except ValueError:
      words = line.split()
    if not words or line.startswith("#"):
      return True
    name, *rest = words
    if name == "exit":
      return False
    command = getattr(self, f"do_{name}", None)
    if command is None and name not in SETTINGS:
      found = [f"ERROR: {name}: unknown command"]
    elif name in ("stop", "wait_for_solver"):
      found = self._answered(command, name, rest)
    else:
      self.waiting.set()
      with self.turn:
        self.waiting.clear()
        found = self._answered(command, name, rest)
    self.write("".join(f"{text}\n" for text in [*found, *([self.end] if self.end else [])]))
    if name == "go" and not found[0].startswith("ERROR"):
      self._start()
    return True

  def _answered(self, command: Callable[..., Any] | None, name: str, rest: Sequence[str]) -> list[str]:
    try:
      inspect.signature(command or (lambda *_: None)).bind(*rest)
    except TypeError as error:
      return [f"ERROR: {name}: {error}"]
    try:
      found = command(*rest) if command else None
    except (ValueError, OSError, FloatingPointError, MemoryError) as error:
      return [f"ERROR: {name}: {' '.join(str(error).split())}"]
    return [f"{name} ok!"] if found is None else found

  def do_is_ready(self):
    """Nothing to do."""

  def do_set_end_string(self, text: str):
    self.end = text

  def do_reset_end_string(self):
    self.end = ""

  def do_show_version(self):
    return [__version__]

  def do_echo(self, *words: str):
    return [" ".join(words)]

  def do_load_script_silent(self, path: str):
    for line in Path(path).read_text().splitlines():
      words = shlex.split(line)
      if words and (command := getattr(self, f"do_{words[0]}", None)):
        command(*words[1:])

  def do_show_hand_order(self):
    return [" ".join(cards.card_names(hand) for hand in cards.ALL_HANDS.tolist())]

  # --- The spot -------------------------------------------------------------------------------------------

  def do_set_board(self, *words: str):
    cards.parse_cards("".join(words))
    self.board = "".join(words)

  def do_set_range(self, seat: str, *words: str):
    if len(words) == len(cards.ALL_HANDS):
      weights = _numbers(words)
    else:
      held, weights = cards.parse_range(" ".join(words).replace(",", " "), ()), np.zeros(len(cards.ALL_HANDS))
      weights[cards.hand_numbers(held.cards)] = held.weights
    if not (weights >= 0).all() or not weights.any():
      raise ValueError("weights must be at least 0, and not all of them 0")
    self.ranges[_player(seat)] = weights

  def do_set_pot(self, oop: str, ip: str, dead: str):
    first, second, dead_money = _numbers((oop, ip, dead))
    if first != second:
      raise ValueError(f"both players must have put in the same, got {oop} and {ip}")
    self.pot = 2 * first + dead_money

  def do_set_rake(self, share: str, cap: str = "0"):
    if _numbers([share, cap])[0]:
      raise ValueError(f"rake {share}: games of this program are zero-sum; give 0")

  def do_set_eff_stack(self, stack: str):
    self.stack = _numbers([stack])[0]

  def do_set_accuracy(self, amount: str, unit: str = "chips"):
    (self.accuracy,) = _numbers([amount]) * (self.pot if unit == "fraction" else 1)

  def do_set_bets(self, *words: str):
    """Ours: sizes as for --bets, for all lines."""
    self.bets, self.lines = " ".join(words), []

  def do_add_line(self, *words: str):
    if not words or not all(word.isdecimal() for word in words):
      raise ValueError(f"a line is whole numbers of chips, got {' '.join(words)!r}")
    self.lines.append(" ".join(words))

  def do_remove_line(self, *words: str):
    self.lines.remove(" ".join(words))

  def do_clear_lines(self):
    self.lines = []

  def do_build_tree(self):
    ranges = self.ranges * cards.unblocked(cards.parse_cards(self.board))
    first, second = (range_text(np.where(r < cards.MIN_WEIGHT * r.max(), 0, r)) for r in ranges)
    pot, stack, bets = int(self.pot), int(self.stack), self.bets
    if pot != self.pot or stack != self.stack:
      raise ValueError(f"pot {self.pot:g} and stack {self.stack:g} must be whole chips")
    if self.lines:
      unit = 10 if pot % 2 else 1  # half of an odd pot has a decimal
      amounts = ([str(unit * int(word)) for word in line.split()] for line in self.lines)
      bets = f"{betting.LINES} {';'.join(map(' '.join, amounts))}"
    self._use(ps.PSCFRSolver(ps.holdem(self.board, pot, stack, bets, (first, second))))

  def _use(self, solver: ps.PSCFRSolver):
    self._wait(True)
    self.solver, self._policy, self.seconds = solver, None, 0.0
    self.fixed, self.locked, self.locks_changed = {}, set(), False

  def do_free_tree(self):
    self._wait(True)
    self.solver = self._policy = None

  def do_is_tree_present(self):
    return [str(self.solver is not None).lower()]

  def do_dump_tree(self, path: str, _kind: str = "full"):
    self._tree.save(path)

  def do_load_tree(self, path: str, _kind: str = "full"):
    solver = ps.load_solver(path)
    if not isinstance(solver, ps.PSCFRSolver) or not ps.views.pot_of(solver.game):
      raise ValueError(f"{path} is not a run of a hold'em game")
    self._use(solver)
    self.board, self.pot = str(ps.views.board_of(solver.game)), ps.views.pot_of(solver.game) or 0.0
    self.stack, self.locked = self._behind, set[int](solver.locks.public_states if solver.locks else ())

  # --- Solving ----------------------------------------------------------------------------------------------

  def do_go(self, amount: str = "", unit: str = "steps"):
    tree = self._tree
    if self.thread is not None and self.thread.is_alive():
      raise ValueError("it is running; stop it first")
    if unit not in ("steps", "seconds"):
      raise ValueError(f"unit {unit!r}: give steps or seconds")
    self.limit = _numbers([amount])[0] if amount else np.inf
    self.limit_unit = unit
    if self.locks_changed:  # a run with other locks begins anew
      numbers = sorted(self.locked)
      flat = [np.zeros(0), *(self._strategy(n).ravel() for n in numbers)]
      locks = ps.policy.PartialStrategy(tuple(numbers), np.concatenate(flat)) if numbers else None
      self.solver, self.locks_changed = ps.PSCFRSolver(tree.game, tree.rule, locks=locks), False
      self.seconds = 0.0
    self.fixed, self._policy = {n: s for n, s in self.fixed.items() if n in self.locked}, None

  def _start(self):
    self.asked.clear()
    self.thread = threading.Thread(target=self._run, daemon=True)
    self.thread.start()

  def _run(self):
    """Iterates until a limit, the accuracy, or stop."""
    self.write("SOLVER: started\n")
    solver, begun, first, chunk, why = self._tree, time.monotonic(), self._tree.iteration, 1, ""
    look, said = ps.evaluation.next_measurement(first), begun
    while not why:
      with self.turn:
        started = time.monotonic()
        left = self.limit - (solver.iteration - first) if self.limit_unit == "steps" else np.inf
        try:
          solver.run(int(min(chunk, left, look - solver.iteration)), progress=False)
        except (ValueError, FloatingPointError) as error:
          why = str(error)
        now = time.monotonic()
        self.seconds += now - started
        chunk = max(1, min(2 * chunk, int(chunk * PAUSE / max(now - started, 1e-6))))
        done = solver.iteration - first if self.limit_unit == "steps" else now - begun
        if not why and (solver.iteration >= look or done >= self.limit):
          look = ps.evaluation.next_measurement(solver.iteration)
          why = "accuracy reached" if solver.exploitability() <= self.accuracy else why
        if done >= self.limit:
          why = why or f"{self.limit_unit} limit reached"
        if self.asked.is_set():
          why = why or "requested"
        if why or now - said >= UPDATE:
          said = now
          self.write("\n".join(["SOLVER:", *self.do_calc_results(), self.end or "END", ""]))
      while self.waiting.is_set():  # a command wants its turn
        time.sleep(1e-3)
    self.write(f"SOLVER: stopped ({why})\n")

  def _wait(self, stop: bool):
    if stop:
      self.asked.set()
    if self.thread is not None and self.thread is not threading.current_thread():
      self.thread.join()

  def do_stop(self):
    self._wait(True)

  def do_wait_for_solver(self):
    self._wait(False)

  def do_solver_time(self):
    return [f"{self.seconds:.3f}"]

  # --- The tree ---------------------------------------------------------------------------------------------

  @property
  def _tree(self) -> ps.PSCFRSolver:
    if self.solver is None:
      raise ValueError("there is no tree; build or load one")
    return self.solver

  @property
  def _names(self) -> Any:
    return self._tree.tree.names

  @property
  def _behind(self) -> float:
    """The stack behind at the root, in units."""
    given = self._tree.game.get_parameters()
    return (given["stack"] - given["pot"] // 2) / given["unit"]

  def _invested(self, number: int, player: int) -> float:
    """The chips that a player has put in since the root."""
    return self._names.source.spent(number, player) - self.pot / 2

  def _children(self, number: int) -> list[int]:
    """The public states below; none after a called all-in, where no player acts any more."""
    below, states = self._names.children[number], self._names.public_states
    while below and states[below[0]].player == ps.tree.CHANCE and states[number].player == ps.tree.CHANCE:
      number, below = below[0], self._names.children[below[0]]
    ended = states[number].player == ps.tree.CHANCE and states[below[0]].player == ps.tree.TERMINAL
    return [] if ended else [c for c in below if self._names.source.count(c)]

  def _step(self, number: int) -> str:
    """The last move to a public state."""
    state = self._names.public_states[number]
    player = self._names.public_states[state.parent].player
    if player == ps.tree.CHANCE:
      return cards.card_names([state.action])
    named = {betting.FOLD: "f", betting.CALL: "c"}.get(state.action)
    return named or f"b{self._invested(number, player):g}"

  def _id(self, number: int) -> str:
    steps: list[str] = []
    while (parent := self._names.public_states[number].parent) >= 0:
      steps.append(self._step(number))
      number = parent
    return ":".join(["r", "0", *steps[::-1]])

  def _find(self, node: str) -> int:
    start, *steps = [word for word in node.removeprefix("r").split(":") if word] or ["0"]
    number = 0
    for step in steps if start == "0" else [start, *steps]:
      below = {self._step(child): child for child in self._children(number)}
      if step not in below:
        raise ValueError(f"no node {node}; after {self._id(number)} come {', '.join(below) or 'none'}")
      number = below[step]
    return number

  def _acting(self, node: str) -> tuple[int, Any]:
    """The public state of a node, and its decision."""
    number = self._find(node)
    decisions = self._names.public_states[number].decisions
    if not decisions:
      raise ValueError(f"no player acts at {node}")
    return number, self._names.decisions[decisions[0]]

  def _shown(self, number: int, root: bool = False) -> list[str]:
    player, below = self._names.public_states[number].player, self._children(number)
    kind = f"{SEATS[player]}_DEC" if player >= 0 else "SPLIT_NODE" if below else "END_NODE"
    line, runout = self._names.source.lines.place(number)
    dealt = self._names.source.lines.runouts[self._names.source.lines.street[line]][runout].tolist()
    board = [*cards.parse_cards(str(ps.views.board_of(self._tree.game)).replace(" ", "")), *dealt]
    pot = [*(self._invested(number, i) for i in (0, 1)), self.pot]
    return [
      "r" if root else self._id(number),
      "ROOT" if root else kind,
      " ".join(cards.card_names([card]) for card in board),
      " ".join(f"{amount:g}" for amount in pot),
      f"{1 if root else len(below)} children",
      "flags:" + " LOCKED" * (number in self.locked and not root),
    ]

  def do_show_node(self, node: str):
    return self._shown(self._find(node), node == "r")

  def do_show_children(self, node: str):
    below = [0] if node == "r" else self._children(self._find(node))
    return [line for k, n in enumerate(below) for line in (f"child {k}:", *self._shown(n), "")]

  def do_show_all_lines(self):
    starts = self._names.source.lines.starts[:-1].tolist()
    lines = (self._id(number).split(":") for number in starts)
    return list(dict.fromkeys(":".join(w for w in words if w not in _CARDS) for words in lines))

  def do_show_effective_stack(self):
    return [f"{self._behind:g}"]

  def do_show_memory(self):
    tables = sum(2 * 4 * np.prod(shape) for p in self._tree.tree.players for shape in p.block_shapes)
    return [f"strategies and averages: {tables / 1e6:.1f} MB"]

  def do_show_tree_info(self):
    shown = {"Type": "NoLimit", "Board": self._shown(0)[2], "Pot": f"{self.pot:g}"}
    shown |= {"EffectiveStacks": f"{self._behind:g}", "Bets": self._tree.game.get_parameters()["bets"]}
    return [f"#{key}#{value}" for key, value in shown.items()]

  # --- Strategies and values --------------------------------------------------------------------------------

  def _result(self) -> ps.TreePolicy:
    """The average policy, with the strategies that were set."""
    solver = self._tree
    if self._policy is None or self._policy[0] != solver.iteration:
      policy = solver.average_policy()
      for number, strategy in self.fixed.items():
        decision = policy.labels.decisions[policy.labels.public_states[number].decisions[0]]
        policy.table(decision)[:] = strategy
      self._policy = solver.iteration, policy
    return self._policy[1]

  def _strategy(self, number: int) -> np.ndarray:
    labels = self._names
    return self._result().table(labels.decisions[labels.public_states[number].decisions[0]])

  def _by_hands(self, player: int, values: np.ndarray, number: int, none: float = 0.0) -> np.ndarray:
    """Values [..., H] of a player's types as [..., 1326]; `none` for hands that cannot be here."""
    lines = self._names.source.lines
    line, runout = lines.place(number)
    alive = lines.alive[player][lines.street[line]][runout]
    found = np.full((*values.shape[:-1], len(cards.ALL_HANDS)), none)
    found[..., cards.hand_numbers(lines.form.cards[player][alive])] = values[..., alive]
    return found

  def do_show_strategy(self, node: str):
    number, decision = self._acting(node)
    return [_text(row) for row in self._by_hands(decision.player, self._strategy(number), number)]

  def do_show_range(self, seat: str, node: str = "r:0"):
    player = _player(seat)
    if self.solver is None:
      return [_text(self.ranges[player])]
    number = self._find(node)
    return [_text(self._by_hands(player, self._range(number)[player], number))]

  def _range(self, number: int) -> list[np.ndarray]:
    """For each player [H]: the weight of each hand, as written in the range, times its choices."""
    own = ps.policy.choices_to(self._names, self._result().strategies, number)
    weights = self._names.source.lines.form.weights
    return [own[i][0] * weights[i] for i in (0, 1)]

  def _matchups(self, player: int, number: int) -> np.ndarray:
    """[H]: the weight of the opponent's hands that each hand can meet."""
    lines = self._names.source.lines
    line, runout = lines.place(number)
    theirs = self._range(number)[1 - player] * ~lines.dead[1 - player][lines.street[line]][runout]
    return (lines.disjoint if player == 0 else lines.disjoint.T) @ theirs

  def _values(self, player: int, number: int) -> np.ndarray:
    """[H]: the values of a player's hands, weighted by the probability that the others come here."""
    policy, labels = self._result(), self._names
    state = labels.public_states[number]
    if state.player == player:
      decision = labels.decisions[state.decisions[0]]
      values = policy.worths.values[player][decision.block][:, decision.row]
      return (policy.table(decision) * values).sum(0)
    if state.player != ps.tree.TERMINAL:
      return np.sum([self._values(player, child) for child in labels.children[number]], 0)
    lines, reach = labels.source.lines, ps.policy.choices_to(labels, policy.strategies, number)[1 - player]
    line, sign = lines.place(number)[0], 1 - 2 * player
    if stake := float(lines.form.stake[line]):
      return stake * labels.source.ahead(player, reach, [number])[0]
    return sign * float(lines.form.constant[line]) * labels.source.weight(player, reach, [number])[0]

  def _weight(self, player: int, number: int) -> np.ndarray:
    """[H]: the probability that chance and the opponent come here."""
    reach = ps.policy.choices_to(self._names, self._result().strategies, number)[1 - player]
    return self._names.source.weight(player, reach, [number])[0]

  def do_calc_ev(self, seat: str, node: str):
    player, number = _player(seat), self._find(node)
    ev = _ratio(self._values(player, number), self._weight(player, number)) + self.pot / 2
    matchups = self._by_hands(player, self._matchups(player, number), number)
    return [_text(self._by_hands(player, ev, number, np.nan)), _text(matchups)]

  def do_calc_eq_node(self, seat: str, node: str):
    player, number = _player(seat), self._find(node)
    reach = ps.policy.choices_to(self._names, self._result().strategies, number)[1 - player]
    ahead = self._names.source.ahead(player, reach, [number])[0]
    equity = (1 + _ratio(ahead, self._weight(player, number))) / 2
    matchups = self._matchups(player, number)
    weight = np.where(np.isfinite(equity), matchups * self._range(number)[player], 0)
    total = np.nansum(weight * np.nan_to_num(equity)) / weight.sum() if weight.any() else np.nan
    shown = self._by_hands(player, equity, number, np.nan), self._by_hands(player, matchups, number)
    return [*map(_text, shown), f"{total:.6g}"]

  def do_calc_global_freq(self, node: str):
    number = self._find(node)
    own = ps.policy.choices_to(self._names, self._result().strategies, number)[0][0]
    return [f"{float((own * self._weight(0, number)).sum()):.6g}"]

  def do_calc_results(self):
    found = self._tree.evaluation()
    ev = self.pot / 2 + np.array([1, -1]) * found.value
    best = ev + np.array(found.gains)
    return [
      f"running time: {self.seconds:.3f}",
      *(f"EV {seat}: {value:.6g}" for seat, value in zip(SEATS, ev, strict=True)),
      *(f"{seat}'s MES: {value:.6g}" for seat, value in zip(SEATS, best, strict=True)),
      f"Exploitable for: {found.exploitability:.6g}",
    ]

  # --- Locks ------------------------------------------------------------------------------------------------

  def do_set_strategy(self, node: str, *words: str):
    number, decision = self._acting(node)
    shape = (len(decision.legal_actions), len(cards.ALL_HANDS))
    if len(words) != shape[0] * shape[1]:
      raise ValueError(f"give {shape[0]} x {shape[1]:,} numbers, one line of hands for each child")
    given = _numbers(words).reshape(shape)
    held = cards.hand_numbers(self._names.source.lines.form.cards[decision.player])
    strategy = self._strategy(number).copy()
    new, total = given[:, held], given[:, held].sum(0)
    if (given < 0).any() or not np.isfinite(given).all():
      raise ValueError("probabilities must be at least 0")
    strategy[:, total > 0] = (new / np.where(total > 0, total, 1))[:, total > 0]
    self.fixed[number], self._policy = strategy, None
    self.locks_changed |= number in self.locked

  def do_lock_node(self, node: str):
    number, _ = self._acting(node)
    self.fixed[number] = self._strategy(number).copy()
    self.locked.add(number)
    self.locks_changed = True

  def do_unlock_node(self, node: str):
    number, _ = self._acting(node)
    self.locks_changed |= number in self.locked
    self.locked.discard(number)


_CARDS = {cards.card_names([card]) for card in cards.WHOLE_DECK}


def _player(seat: str) -> int:
  if seat.upper() not in SEATS:
    raise ValueError(f"seat {seat!r}: give OOP or IP")
  return SEATS.index(seat.upper())


def _numbers(words: Sequence[str]) -> np.ndarray:
  try:
    return np.array(words, float)
  except ValueError:
    raise ValueError(f"expected numbers, got {' '.join(words)[:60]!r}") from None


def _text(values: np.ndarray) -> str:
  return " ".join(f"{value:.6g}" for value in values)


def _ratio(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
  return np.divide(values, weight, out=np.full_like(values, np.nan), where=weight > 0)


def _run(values: flags.FlagValues, words: Sequence[str]) -> None:
  if words:
    raise ValueError("upi takes no arguments: its commands come by stdin.")
  printing = threading.Lock()

  def write(text: str) -> None:
    with printing:
      sys.stdout.write(text)
      sys.stdout.flush()

  write(f"ps_cfr_spiel {__version__}\nPublic-state CFR, spoken to as PioSOLVER\nregistered to everyone\n")
  session = _Session(write)
  while (line := sys.stdin.readline()) and session.answer(line.strip()):
    pass


COMMAND = Command(
  name="upi",
  arguments="",
  summary="Answer tools made for PioSOLVER",
  text="Answers PioSOLVER's text interface (UPI) by stdin and stdout: start it in place of PioSOLVER's "
  "program. A command of its own, set_bets, takes sizes as --bets does; trees are saved as runs.",
  examples=("upi", "upi < script.txt"),
  own=(),
  run=_run,
)
