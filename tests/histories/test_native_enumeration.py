"""The walk in C++ is the walk in Python, column by column; elsewhere Python walks and says the same."""

import dataclasses
import re
from pathlib import Path

import failing
import forked
import numpy as np
import pyspiel
import pytest
from benchmark_scripts import script
from columns import assert_same_histories
from random_games import random_game

from ps_cfr_spiel import build_tree
from ps_cfr_spiel.compilation.histories import enumeration, native_enumeration
from ps_cfr_spiel.compilation.histories.limits import FaultAtError, Limits, LongEnumeration, Watch
from ps_cfr_spiel.compilation.histories.native_enumeration import (
  CROWN,
  NativeEnumeration,
  is_known,
  why_unavailable,
)
from ps_cfr_spiel.compilation.histories.recorder import Recorder
from ps_cfr_spiel.loading import sequential
from ps_cfr_spiel.memory import TooLarge

coverage = script("benchmarks.engineering.coverage")
MOST = 20_000  # histories of a game that is walked twice
PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"
SIZES = re.findall(r"(\w+) \(([\d,]+)\)", PAGE.read_text())
SMALL = sorted(name for name, size in SIZES if int(size.replace(",", "")) <= MOST)
STRINGLESS = ("nfg_game", "normal_form_extensive_game", "restricted_nash_response")


@pytest.fixture(scope="module", autouse=True)
def _compiled():
  """A library of the tests' own, compiled from the source as it is: its hash is in the file's name."""
  with pytest.MonkeyPatch.context() as patch:
    patch.setenv("PS_CFR_SPIEL_CACHE", str(Path(__file__).parents[2] / ".pytest_cache/enumeration"))
    native_enumeration.compile_library.cache_clear()
    reason = native_enumeration.compile_library(False)
    if "no C++ compiler" in reason:
      pytest.skip(reason)
    assert not reason
    yield
    native_enumeration.compile_library.cache_clear()


def watch(game, most=MOST):
  return Watch(game, Limits.create(most), False)


def in_python(game):
  return Recorder(game).run(watch(game))


@pytest.mark.parametrize("name", SMALL)
def test_columns_are_those_of_python(name, tmp_path):
  """Every registered game that is small enough with the parameters of the table of coverage."""
  given = coverage.load(name, tmp_path)
  game = sequential(given)
  if not is_known(game):
    assert not type(given).__module__.startswith("pyspiel") or name in STRINGLESS
    pytest.skip("a game in Python, or one that its own string does not load")
  with NativeEnumeration(game) as native:
    assert_same_histories(native.run(watch(game)), in_python(game))


@pytest.mark.parametrize(
  "name",
  [
    "leduc_poker(suit_isomorphism=True)",
    "kuhn_poker(players=3)",
    "liars_dice(numdice=1,dice_sides=4,bidding_rule=reset-quantity)",
    "goofspiel(players=3,num_cards=3,imp_info=True)",
    "goofspiel(num_cards=4,imp_info=True,points_order=random,returns_type=total_points)",
    "sheriff(item_penalty=1.0,max_bribe=1,max_items=1,num_rounds=1)",
  ],
)
def test_columns_with_other_parameters(name):
  game = sequential(pyspiel.load_game(name))
  most = 300_000
  with NativeEnumeration(game) as native:
    assert_same_histories(native.run(watch(game, most)), Recorder(game).run(watch(game, most)))


def test_outcomes_of_probability_zero_are_left_out(tmp_path):
  lines = ['EFG 2 R "Never" { "A" "B" }', 'c "" 1 "" { "l" 0.5 "m" 0.0 "r" 0.5 } 0']
  for n in (0, 1, 2):
    lines.append(f'p "" {1 + n % 2} 1 "" {{ "x" "y" }} 0')
    lines += [f't "" {2 * n + k} "" {{ {a} {-a} }}' for k, a in ((1, 1), (2, -1))]
  (tmp_path / "game.efg").write_text("\n".join(lines))
  game = pyspiel.load_game(f"efg_game(filename={tmp_path / 'game.efg'})")
  with NativeEnumeration(game) as native:
    histories = native.run(watch(game))
  assert histories.pruned and len(histories.parent) == 7
  assert_same_histories(histories, in_python(game))


def test_the_share_of_a_walk_is_that_of_the_ends_behind_it():
  """An end's is the product of one over the numbers of children above it; in one part and in pieces."""
  game = pyspiel.load_game("leduc_poker")
  whole = in_python(game)
  children, share = np.bincount(whole.parent[1:], minlength=len(whole.parent)), np.ones(len(whole.parent))
  for h, above in enumerate(whole.parent[1:].tolist(), start=1):
    share[h] = share[above] / children[above]
  behind = np.cumsum(np.where(children == 0, share, 0))
  with NativeEnumeration(game) as native:
    for count in (1, 5, 40, 1000, 7000):
      native._more(CROWN, 0, count)
      assert native.share() == pytest.approx(
        behind[native._count() - 2] if native._count() > 1 else 0, abs=1e-12
      )
  with NativeEnumeration(game, threads=2) as native:
    assert native._split()
    starts = np.flatnonzero(whole.depth == 3)
    assert native.library.enumeration_pieces(native.handle) == len(starts)
    for piece in (0, 3, 7):
      native._more(piece, 0, 50)
    assert native.share() == pytest.approx(
      sum(behind[starts[k] + 48] - behind[starts[k] - 1] for k in (0, 3, 7))
    )


@pytest.mark.parametrize("threads", [2, 4])
@pytest.mark.parametrize(
  "name",
  ["leduc_poker", "first_sealed_auction(max_value=3)", "goofspiel(num_cards=3,imp_info=True)", "kuhn_poker"],
)
def test_threads_walk_as_one(name, threads, monkeypatch):
  """To the last bit, with chance, ends of different lengths, general sums, and pieces of one history."""
  monkeypatch.setattr(native_enumeration, "ENOUGH", 1 if name == "kuhn_poker" else 4)
  game = sequential(pyspiel.load_game(name))
  with NativeEnumeration(game, threads=threads) as native:
    shared = native.run(watch(game))
    assert native.library.enumeration_pieces(native.handle) >= threads and native.share() == 1
  assert_same_histories(shared, in_python(game))


def test_threads_keep_to_the_limit():
  game = pyspiel.load_game("leduc_poker")
  with NativeEnumeration(game, threads=2) as native, pytest.raises(TooLarge, match="more than 9,456"):
    native.run(watch(game, 9456))
  with NativeEnumeration(game, threads=2) as native:
    assert len(native.run(watch(game, 9457)).parent) == 9457


def test_an_interrupt_ends_the_threads(monkeypatch):
  game = pyspiel.load_game("liars_dice")

  class Interrupted(Watch):
    def look(self, *_):
      raise KeyboardInterrupt

  with NativeEnumeration(game, threads=2) as native, pytest.raises(KeyboardInterrupt):
    native.run(Interrupted(game, Limits.create(), False))
  assert native.threads == 2


def test_the_first_fault_is_told_whichever_thread_finds_one(monkeypatch):
  """The soccer game faults below each of its first histories; its first fault is that of one thread."""
  game, found = pyspiel.load_game("markov_soccer(horizon=2)"), []
  for threads in (1, 2, 4):
    with NativeEnumeration(game, threads=threads) as native, pytest.raises(FaultAtError) as caught:
      native.run(watch(game))
    found.append(caught.value.path)
  assert found[0] == found[1] == found[2]


def test_names_that_are_not_kept_are_read_from_states():
  game = pyspiel.load_game("leduc_poker")
  with NativeEnumeration(game) as native:
    histories = native.run(watch(game))
  for names in histories.names:
    some = list(range(0, len(names), 97))
    kept = [names[n] for n in some]
    names.places[:] = -1
    assert [names[n] for n in some] == kept and len(set(kept)) == len(kept)


@pytest.mark.parametrize("name", ["markov_soccer(horizon=2)", "oshi_zumo(coins=4,size=1,horizon=4)"])
def test_a_fault_has_the_words_of_python(name):
  """Players who move at the same time: a fault of a sequential game, in the first one after a chance node."""
  game = pyspiel.load_game(name)
  with pytest.raises(FaultAtError), NativeEnumeration(game) as native:
    native.run(watch(game))
  said = []
  for run in (in_python, lambda game: enumeration.enumerate_watched(game, watch(game))):
    with pytest.raises(ValueError, match=r"current_player\(\) is -2") as caught:
      run(game)
    said.append((str(caught.value), caught.value.__notes__))
  assert said[0] == said[1]


def test_games_that_only_python_has_are_not_known():
  """A game made from data must not become another game that has its name."""
  named = pyspiel.create_matrix_game("matrix_rps", "Not what it says", ["a"], ["b"], [[1.0]], [[-1.0]])
  for game in (
    random_game(0),
    named,
    *map(pyspiel.load_game, ("cheat", "river_subgame", "python_kuhn_poker")),
  ):
    assert not is_known(sequential(game)) and why_unavailable(sequential(game))
  inner = pyspiel.load_game("python_iterated_prisoners_dilemma")
  assert not is_known(pyspiel.convert_to_turn_based(inner))


def test_limits_hold():
  game = pyspiel.load_game("leduc_poker")
  with pytest.raises(TooLarge, match="more than 9,000 histories"), NativeEnumeration(game) as native:
    native.run(watch(game, 9000))
  with NativeEnumeration(game) as native:
    assert len(native.run(watch(game, 9457)).parent) == 9457


def test_a_long_walk_begins_again_where_it_is_faster(monkeypatch, tmp_path):
  """Python is left when much remains, the library compiled once, and the tree is the same."""
  game, made = pyspiel.load_game("leduc_poker"), []
  monkeypatch.setattr(enumeration, "compile_library", lambda *_: made.append(why_unavailable(game)))
  monkeypatch.setattr(enumeration, "LONG", -1)
  monkeypatch.setattr("ps_cfr_spiel.compilation.histories.limits.PATIENCE", 0)
  monkeypatch.setenv("PS_CFR_SPIEL_CACHE", str(tmp_path))  # nothing is compiled here
  assert_same_histories(
    enumeration.enumerate_histories(game), dataclasses.replace(in_python(game), others=None)
  )
  assert len(made) == 1 and "not compiled" in made[0]
  with pytest.raises(LongEnumeration):
    enumeration.enumerate_watched(game, Watch(game, Limits.create(), False, -1))


def test_without_a_compiler_python_walks(monkeypatch, tmp_path):
  monkeypatch.setenv("PS_CFR_SPIEL_CACHE", str(tmp_path))
  native_enumeration.compile_library.cache_clear()
  monkeypatch.setenv("CXX", "no-such-compiler")
  assert "no C++ compiler" in native_enumeration.compile_library()
  native_enumeration.compile_library.cache_clear()
  monkeypatch.setenv("CXX", "false")
  assert "cannot be compiled" in native_enumeration.compile_library()
  native_enumeration.compile_library.cache_clear()
  monkeypatch.setenv("PS_CFR_SPIEL_CACHE", "off")
  assert "off" in native_enumeration.compile_library()
  assert build_tree(pyspiel.load_game("leduc_poker")).labels.histories == 9457


def test_a_library_that_does_not_fit_is_not_kept(monkeypatch, tmp_path):
  """The trial in a process of its own sees a wrong value, and a crash; one library does either."""
  source, kept, compiler = native_enumeration.SOURCE.read_text(), tmp_path / "kept", tmp_path / "unoptimized"
  compiler.write_text(
    '#!/bin/sh\nfor word; do [ "$last" = -o ] && made=$word; last=$word; done\n'
    f'[ -e {kept} ] || {{ g++ "$@" -O0 && cp "$made" {kept}; }} && cp {kept} "$made"\n'
  )
  compiler.chmod(0o755)
  monkeypatch.setenv("CXX", str(compiler))
  for old, new in (
    ("returns = state->Returns();", "for (double v : state->Returns()) returns.push_back(2 * v);"),
    (
      "status = piece.more(*enumeration, before + count);",
      'if (std::getenv("IS_TO_CRASH")) std::abort();\n',
    ),
  ):
    assert old in source
    source = source.replace(old, new + old * ("abort" in new))
  (tmp_path / "histories.cc").write_text(source)
  monkeypatch.setattr(native_enumeration, "SOURCE", tmp_path / "histories.cc")
  monkeypatch.setenv("PS_CFR_SPIEL_CACHE", str(tmp_path))
  for said in ("does not fit", "SIGABRT"):
    native_enumeration.compile_library.cache_clear()
    assert said in native_enumeration.compile_library()
    assert not list(tmp_path.glob("*.so"))
    monkeypatch.setenv("IS_TO_CRASH", "1")


WITHOUT_MEMORY = (
  failing.PROGRAM
  + """
import pyspiel
from ps_cfr_spiel.compilation.histories import native_enumeration
from ps_cfr_spiel.compilation.histories.limits import Limits, Watch
from ps_cfr_spiel.memory import TooLarge

game = pyspiel.load_game("kuhn_poker")
native_enumeration.ENOUGH = 1  # pieces for each thread

def enumerate_histories():
  with native_enumeration.NativeEnumeration(game, 2) as native:
    histories = native.run(Watch(game, Limits.create(1000), False))
    print(native.library.enumeration_pieces(native.handle), len(histories.parent))

enumerate_histories()  # so that OpenSpiel has all that it asks for once
errors = without_memory(enumerate_histories, TooLarge)
assert len(errors) > 100 and all("no more memory after" in error for error in errors), errors
"""
)


def test_without_memory_a_game_is_too_large(tmp_path):
  """At each request for it: at the start, in the crown, in the threads, and where columns are joined."""
  ended = forked.run(WITHOUT_MEMORY, failing.library(tmp_path))
  assert (ended.returncode, ended.stdout) == (0, "3 58\n" * 2), ended.stderr
