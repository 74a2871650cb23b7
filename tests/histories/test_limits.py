"""Limits on what is walked: estimates of a game's size, refusals, memory, and what is shown meanwhile."""

import io
import math
import sys
import threading
import tracemalloc

import faulty_games  # noqa: F401  (registers its game)
import forked
import pyspiel
import pytest
from random_games import random_game

from ps_cfr_spiel import PSCFRSolver, build_tree, check_game, reports
from ps_cfr_spiel.compilation.compiler.from_histories import build_general, own_choices
from ps_cfr_spiel.compilation.histories import limits, size_estimate
from ps_cfr_spiel.compilation.histories.enumeration import enumerate_histories
from ps_cfr_spiel.compilation.histories.public_states import public_partition
from ps_cfr_spiel.compilation.histories.recorder import Recorder
from ps_cfr_spiel.compilation.histories.size_estimate import STAKE, estimate_size, probe
from ps_cfr_spiel.memory import HISTORY, TooLarge, free_memory


class Script:
  """In the place of a random generator: chooses what it is told, then the first, and notes the choices."""

  def __init__(self, told):
    self.told, self.made, self.widths = list(told), [], []

  def choice(self, options):
    chosen = self.told[len(self.made)] if len(self.made) < len(self.told) else 0
    self.made.append(chosen)
    self.widths.append(len(options))
    return options[chosen]


def all_probes(game):
  """The estimate of every possible probe, with its probability."""
  scripts = [[]]
  while scripts:
    script = Script(scripts.pop())
    yield probe(game.new_initial_state(), script, math.inf), 1 / math.prod(script.widths)
    for depth in range(len(script.told), len(script.made)):
      scripts += [[*script.made[:depth], k] for k in range(1, script.widths[depth])]


@pytest.mark.parametrize("game", ["kuhn_poker", "liars_dice(dice_sides=2)", *range(6)])
def test_probes_are_unbiased_and_bets_on_the_truth_are_fair(game):
  """By enumeration of all probes."""
  game = random_game(game) if isinstance(game, int) else pyspiel.load_game(game)
  count = build_tree(game, public_states="none").labels.histories
  probes = list(all_probes(game))
  assert sum(chance for _, chance in probes) == pytest.approx(1)
  assert sum(chance * size for size, chance in probes) == pytest.approx(count)
  assert sum(chance * (1 - STAKE + STAKE * size / count) for size, chance in probes) == pytest.approx(1)


@pytest.mark.parametrize("game, count", [("leduc_poker", 9457), ("liars_dice(dice_sides=4)", 8181)])
def test_an_estimate_refutes_small_sizes_and_no_true_one(game, count):
  game = pyspiel.load_game(game)
  assert not estimate_size(game, count).exceeds
  assert estimate_size(game, count / 50).exceeds
  assert estimate_size(game, count).count == pytest.approx(count, rel=0.5)


HUGE = (
  "chess", "go", "hex", "phantom_ttt", "liars_dice_ir(numdice=3)", "cheat", "cheat(ranks=13,hand_size=26)",
  "universal_poker(betting=limit,numPlayers=2,numRounds=4,blind=1 2,raiseSize=2 2 4 4,firstPlayer=2 1 1 1,"
  "maxRaises=3 4 4 4,numSuits=4,numRanks=13,numHoleCards=2,numBoardCards=0 3 1 1)",
)  # fmt: skip


@pytest.mark.parametrize("name", HUGE)
def test_a_huge_game_is_refused_at_the_first_estimate(name, monkeypatch):
  monkeypatch.setattr(limits, "PATIENCE", 0)  # do not walk for half a second first
  looks = []
  look = limits.Watch.look
  monkeypatch.setattr(limits.Watch, "look", lambda *given: looks.append(given[1]) or look(*given))
  with pytest.raises(
    TooLarge, match=r"more than .* (histories|of memory), the limit: .* random paths .*Choose smaller"
  ):
    build_tree(pyspiel.load_game(name))
  assert looks == [0]


def test_a_game_without_an_end_is_refused_in_a_line(monkeypatch):
  """Without choices neither the size nor the number of histories would ever tell."""
  monkeypatch.setattr(limits, "PATIENCE", 0)
  monkeypatch.setattr(size_estimate, "LONGEST", 500)
  with pytest.raises(TooLarge, match=r"does not end: each of .* random paths has more than") as error:
    build_tree(pyspiel.load_game("faulty_game(fault=endless)"))
  assert "\n" not in str(error.value)


def test_a_game_that_is_a_little_too_large_is_walked_to_the_limit():
  with pytest.raises(
    TooLarge, match=r"more than 9,000 .*about [\d,]+ histories in .* MB, \d+ s of enumeration, .*limit=\.\.\."
  ):
    build_tree(pyspiel.load_game("leduc_poker"), limit=9000)
  assert build_tree(pyspiel.load_game("leduc_poker"), limit=9457).labels.histories == 9457


def test_the_bar_tells_the_size_once_it_is_estimated(monkeypatch):
  monkeypatch.setattr(sys, "stderr", io.StringIO())
  game = pyspiel.load_game("leduc_poker")
  size = estimate_size(game, 1e6)
  with limits.Watch(game, limits.Limits.create(), True, size=size) as watch:
    assert watch.bar.desc == f"Enumerating about {limits.readable_count(size.count)} in 1 MB: "
  with limits.Watch(game, limits.Limits.create(), True) as watch:
    assert watch.bar.desc == "Enumerating"
    monkeypatch.setattr(limits, "PATIENCE", 0)
    Recorder(game).run(watch)
    assert watch.bar.desc.startswith("Enumerating about")


def test_patience_is_a_limit_of_walks_in_python(monkeypatch):
  """After a second with one history, ten seconds are too few for 58, unless the user gives a limit."""
  monkeypatch.setattr(limits, "PATIENCE_SECONDS", 10)
  game = pyspiel.load_game("kuhn_poker")

  def look(limit, in_python):
    recorder = Recorder(game)
    recorder.run(limits.Watch(game, limits.Limits.create(), False))
    with limits.Watch(game, limits.Limits.create(limit), False, in_python=in_python) as watch:
      watch.start -= 1
      watch.look(1, recorder)

  with pytest.raises(
    TooLarge, match=r"takes more than 10 s to enumerate, the limit .* 5\d histories .*limit=\.\.\."
  ):
    look(limits.LIMIT, True)
  for given in ((10**6, True), (limits.LIMIT, False)):
    look(*given)


@pytest.mark.parametrize(("seconds", "refused"), [(59, False), (61, True)])
def test_an_estimate_a_little_above_the_limit_decides_where_the_walk_is_long(seconds, refused):
  """9,457 histories of which 9,000 are allowed, at a pace at which these take so long."""
  game = pyspiel.load_game("leduc_poker")
  recorder = Recorder(game)
  recorder.run(limits.Watch(game, limits.Limits.create(), False))
  size = estimate_size(game, 9000)
  assert size.count > 9000 and not size.exceeds
  with limits.Watch(game, limits.Limits.create(9000), False) as watch:
    watch.start -= seconds * 6 / 9  # for 6,000 of them
    if refused:
      message = r"more than 9,000 histories, the limit: about 11,000 .*, \d+ s of enumeration.* --limit"
      with pytest.raises(TooLarge, match=message):
        watch.look(6000, recorder)
    else:
      watch.look(6000, recorder)


def test_memory_is_a_limit():
  game = pyspiel.load_game("leduc_poker")
  for use in (build_tree, PSCFRSolver):
    with pytest.raises(ValueError, match=r"needs more than 1 MB of memory, the limit: .*memory=\.\.\."):
      use(game, memory=1e6)
  assert "needs more than 1 MB" in str(check_game(game, memory=1e6))
  assert build_tree(game, memory=1e7).labels.histories == 9457
  histories = enumerate_histories(game)
  choices = own_choices(histories)[0]
  found = public_partition("leduc", histories, choices, "closure")
  with pytest.raises(ValueError, match=r"'blocks' needs .* for the utilities of .* leaves with 6 x 6 types"):
    build_general(game, histories, choices, found, "blocks", memory=1000)
  for wrong in (0, -1, "4 GB", True, math.nan):
    with pytest.raises(ValueError, match="memory must be a number of at least 1, got"):
      build_tree(game, memory=wrong)


def test_bytes_are_counted_as_python_counts_them():
  """What a walk is said to take is what compiling takes at its peak, by `tracemalloc`."""
  game = pyspiel.load_game("liars_dice(dice_sides=5)")
  build_tree(pyspiel.load_game("kuhn_poker"))  # imports what the closure needs
  tracemalloc.start()
  tree = build_tree(game)
  peak = tracemalloc.get_traced_memory()[1]
  tracemalloc.stop()
  names = tree.labels.source.histories.names
  said = HISTORY * tree.labels.histories + sum(100 + sys.getsizeof(name) for some in names for name in some)
  assert 0.4 * said < peak < said


@pytest.mark.skipif(sys.platform != "linux", reason="a process's memory is limited in this way on Linux only")
def test_under_a_process_limit_the_refusal_comes_before_the_memory_is_gone():
  """With 200 MB left, goofspiel with 6 cards, which takes more, ends in a refusal, not in a MemoryError."""
  code = """if True:
    import os, resource
    import pyspiel, scipy.sparse.csgraph
    import ps_cfr_spiel
    ps_cfr_spiel.build_tree(pyspiel.load_game("kuhn_poker"))  # imports what it needs, before the limit
    from pathlib import Path
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + 200_000_000, -1))
    goofspiel = "goofspiel(num_cards=6,imp_info=True,points_order=descending)"
    try:
      ps_cfr_spiel.build_tree(pyspiel.load_game(f"turn_based_simultaneous_game(game={goofspiel})"))
    except ValueError as error:
      print(error)
  """
  result = forked.run(code)
  assert result.returncode == 0, result
  assert "needs more than 100 MB of memory" in result.stdout
  assert free_memory() > 1e6


def test_the_share_grows_from_nothing_to_all(monkeypatch):
  shares = []

  def look(self, count, walk):
    if count:
      shares.append(walk.share())
    return count + 1

  monkeypatch.setattr(limits.Watch, "look", look)
  enumerate_histories(pyspiel.load_game("leduc_poker"))
  assert shares == sorted(shares)
  assert shares[0] == 0 and 0.999 < shares[-1] < 1


@pytest.mark.parametrize(
  "progress, terminal, shown",
  [(None, True, True), (None, False, False), (True, False, True), (False, True, False)],
)
def test_bars_are_shown_to_people(progress, terminal, shown, monkeypatch):
  stream = io.StringIO()
  stream.isatty = lambda: terminal
  monkeypatch.setattr(sys, "stderr", stream)
  monkeypatch.setattr(reports, "PATIENCE", 0)
  with reports.progress_bar(progress, total=3, desc="Waiting", mininterval=0) as bar:
    bar.update(2)
  assert ("Waiting" in stream.getvalue()) == shown


@pytest.mark.parametrize(
  "progress, terminal, patience, shown",
  [(None, True, 0, True), (None, True, 60, False), (None, False, 0, False), (False, True, 0, False)],
)
def test_who_waits_is_told_for_what(progress, terminal, patience, shown, monkeypatch):
  stream, said = io.StringIO(), threading.Event()
  stream.isatty = lambda: terminal
  write = stream.write
  stream.write = lambda text: (write(text), "Compiling ... " in text and said.set())[0]
  monkeypatch.setattr(sys, "stderr", stream)
  monkeypatch.setattr(reports, "PATIENCE", patience)
  with reports.waiting("Compiling", progress):
    assert not shown or said.wait(60)
  assert said.is_set() == shown
  assert stream.getvalue() == "" or stream.getvalue().endswith("\r")  # cleared away
