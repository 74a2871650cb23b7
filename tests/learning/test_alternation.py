"""Learning in turns, interrupted and taken up again; teachers that look one decision ahead."""

import dataclasses
import functools

import jax
import numpy as np
import pyspiel
import pytest

from ps_cfr_spiel.batches import RandomSituations
from ps_cfr_spiel.learning import (
  Examples,
  LearnOptions,
  NetworkValues,
  TrainingOptions,
  alternation,
  fitting,
  generate_examples,
  learn,
  resume,
  teaching,
  train,
  training,
)
from ps_cfr_spiel.values import CFRValues

DICE = "liars_dice(dice_sides=2)"
SMALL = {"steps": 800, "batch": 64, "width": 16, "layers": 1, "patience": 50}


def options_of(turns, draws=20, chains=3, **others):
  """Options of few and quick situations."""
  return LearnOptions(draws=draws, turns=turns, chains=chains, iterations=10, **{**SMALL, **others})


@functools.cache
def situations():
  return generate_examples(pyspiel.load_game("kuhn_poker"), 40, iterations=30, progress=False)


def same(one, other):
  return all(
    np.array_equal(a, b)
    for a, b in zip(jax.tree.leaves(one.network), jax.tree.leaves(other.network), strict=True)
  )


def interrupt(monkeypatch, after):
  """Ctrl-C while the network takes its steps, after some looks at the loss."""
  original, calls = training.take_steps, []

  def steps(*args):
    calls.append(0)
    if len(calls) > after:
      raise KeyboardInterrupt
    return original(*args)

  monkeypatch.setattr(training, "take_steps", steps)


def test_ctrl_c_keeps_the_best_and_resume_goes_on(monkeypatch, tmp_path):
  drawn, step = [], training.take_steps
  monkeypatch.setattr(training, "take_steps", lambda *args: drawn.append(args[3]) or step(*args))
  with monkeypatch.context() as patch:
    interrupt(patch, 2)
    file = tmp_path / "values.safetensors"
    found = train(situations(), progress=False, checkpoint=file, checkpoint_seconds=0, **SMALL)
  assert not found.card["finished"] and found.losses[:, 0].tolist() == [200, 400]
  kept = NetworkValues.load(file)
  assert same(kept, found) and found.card.items() <= kept.card.items()
  done = resume(situations(), kept, progress=False)
  assert done.card["finished"] and done.losses[:, 0].tolist() == [200, 400, 600, 800]
  np.testing.assert_array_equal(done.losses[:2], found.losses)
  assert done.card["loss"] == pytest.approx(done.losses[:, 2].min(), rel=1e-5)
  assert len(drawn) == 4 and not np.array_equal(drawn[0], drawn[2])  # it draws other batches
  assert same(resume(situations(), done, progress=False), done)  # nothing is left to do


def test_patience_ends_training_and_the_best_is_kept(monkeypatch):
  """Losses are made up, one for 200 steps each: the second is the least, and two more are waited for."""
  made, measure, step = [], training.measure_errors, training.take_steps
  losses = [3.0, 2.0, 4.0, 5.0, 1.0]

  def steps(*args):
    made.append(step(*args))
    return made[-1]

  monkeypatch.setattr(training, "take_steps", steps)
  monkeypatch.setattr(
    training, "measure_errors", lambda *args: measure(*args)._replace(loss=losses[max(len(made) - 1, 0)])
  )
  found = train(situations(), progress=False, **{**SMALL, "steps": 1000, "patience": 2})
  assert found.losses[:, 2].tolist() == losses[:4] and found.card["finished"]
  networks = [jax.tree.leaves(network) for network, *_ in made]
  leaves = jax.tree.leaves(found.network)
  same = [all(np.array_equal(a, b) for a, b in zip(leaves, x, strict=True)) for x in networks]
  assert same == [False, True, False, False]


def test_the_checkpoint_is_written_at_once_and_at_the_end(monkeypatch, tmp_path):
  file, call = (
    tmp_path / "values.safetensors",
    functools.partial(train, situations(), progress=False, **SMALL),
  )
  with monkeypatch.context() as patch:
    original, kept = training.take_steps, []
    looked = lambda *args: kept.append(NetworkValues.load(file)) or original(*args)  # noqa: E731
    patch.setattr(training, "take_steps", looked)
    done = call(checkpoint=file)  # faster than checkpoint_seconds
  assert [len(values.losses) for values in kept] == [0] * 4  # what it began with
  again = NetworkValues.load(file)
  assert same(again, done) and again.card == done.card
  assert same(resume(situations(), kept[0], progress=False), done)
  with monkeypatch.context() as patch:
    interrupt(patch, 2)
    found = call(checkpoint=file)
  again = NetworkValues.load(file)
  assert same(again, found) and again.losses[:, 0].tolist() == [200, 400]
  done = resume(situations(), again, file, progress=False)
  assert same(NetworkValues.load(file), done) and done.card["finished"]


@pytest.mark.parametrize("name", ["train", "resume"])
def test_a_checkpoint_that_cannot_be_written_fails_at_once(monkeypatch, tmp_path, name):
  values = train(situations(), progress=False, **{**SMALL, "steps": 200})
  monkeypatch.setattr(training, "take_steps", None)  # nobody trains
  call = {"train": train, "resume": functools.partial(resume, values=values)}[name]
  with pytest.raises(FileNotFoundError):
    call(situations(), progress=False, checkpoint=tmp_path / "none" / "values.safetensors")


def test_what_can_not_be_resumed():
  values = train(situations(), progress=False, **{**SMALL, "steps": 200})
  other = generate_examples(pyspiel.load_game("kuhn_poker"), 40, seed=1, iterations=30, progress=False)
  with pytest.raises(ValueError, match="were trained on other examples"):
    resume(other, values)
  chase = generate_examples(pyspiel.load_game(DICE), 2, iterations=2, progress=False)
  with pytest.raises(ValueError, match=r"The values are for kuhn_poker\(\), the examples of liars_dice"):
    train(chase, start=values)


def test_training_further_starts_where_the_other_ended():
  first = train(situations(), progress=False, **SMALL)
  again = train(situations(), seed=1, steps=200, batch=64, start=first, learning_rate=1e-5, progress=False)
  assert again.card["training"]["width"] == 16 and len(again.losses) == 1
  assert again.card["loss"] == pytest.approx(first.card["loss"], rel=0.05)


def test_mixed_data():
  game = pyspiel.load_game("kuhn_poker")
  some, more = (generate_examples(game, 5, seed=seed, iterations=30, progress=False) for seed in (0, 3))
  both = Examples.mixed([some, more])
  assert len(both) == len(some) + len(more)
  assert sorted(set(both.draw.tolist())) == list(range(10))
  assert [part["seed"] for part in both.card["mixed"]] == [0, 3]
  assert [part["seed"] for part in Examples.mixed([both, more]).card["mixed"]] == [0, 3, 3]
  with pytest.raises(ValueError, match="Data set 1 has another teacher: CFRValues"):
    Examples.mixed([more, dataclasses.replace(some, card={**some.card, "teacher": "CFRValues()"})])
  with pytest.raises(ValueError, match="Data set 1 has another game: liars_dice"):
    Examples.mixed([more, dataclasses.replace(some, card={**some.card, "game": DICE})])
  with pytest.raises(ValueError, match="sets is empty"):
    Examples.mixed([])


def test_one_ahead_of_right_values_is_right():
  """Where what lies beyond is solved too, looking one decision ahead gives what solving to the end does."""
  game = pyspiel.load_game(DICE)
  beyond = CFRValues(150, beyond=CFRValues(60), lookahead=1)
  teachers = (CFRValues(300), beyond, CFRValues(150, lookahead=1))
  taught = [generate_examples(game, 2, 5, teacher=teacher, progress=False) for teacher in teachers]
  totals = [(s.ranges[0] * s.values[0]).sum(1) for s in taught]
  for i in (0, 1):
    np.testing.assert_array_equal(taught[0].ranges[i], taught[1].ranges[i])
  size = np.abs(totals[0]).max()
  assert np.abs(totals[1] - totals[0]).max() < 0.02 * size
  assert np.abs(totals[2] - totals[0]).max() > 0.2 * size  # with nothing beyond it is wrong


def test_turns_are_kept_and_not_done_again(tmp_path, monkeypatch):
  game, seen = pyspiel.load_game("kuhn_poker"), []
  call = functools.partial(learn, game, options_of(1), folder=tmp_path, progress=False)
  values = call(callback=seen.append)
  assert len(seen) == 2 and values.card["learned_from"] > seen[0].card["learned_from"]
  names = {"examples-0.safetensors", "examples-1.safetensors", "values-0.safetensors", "values-1.safetensors"}
  assert {path.name for path in tmp_path.iterdir()} == names
  with monkeypatch.context() as patch:
    patch.setattr(training, "take_steps", None)  # nobody trains
    assert same(call(), values)
  leduc = pyspiel.load_game("leduc_poker")
  for others, message in (
    ({"seed": 1}, r"examples-0.safetensors is of another call: its seed: 0, not 1;"),
    ({"draws": 10}, r"examples-0.safetensors is of another call: its draws: 0 to 19, not 0 to 9"),
    (
      {"steps": 7},
      r"values-0.safetensors is of another call: its steps: \d+, not 7;",
    ),
    ({"chains": 2}, r"examples-1.safetensors is of another call: its draws: 0 to 2, not 0 to 1"),
  ):
    with pytest.raises(ValueError, match=message):
      learn(game, options_of(1, **others), folder=tmp_path, progress=False)
  with pytest.raises(
    ValueError, match=r"examples-0.safetensors is of another call: its game: kuhn_poker\(\), not leduc"
  ):
    learn(leduc, options_of(1), folder=tmp_path, progress=False)


def test_more_draws_are_added_and_all_are_learned_from(tmp_path, monkeypatch):
  game = pyspiel.load_game("kuhn_poker")
  learn(game, options_of(0), folder=tmp_path, progress=False)
  solved, call = [], alternation.solve_draws

  def counting(frontier, draws, *more):
    solved.append(draws)
    return call(frontier, draws, *more)

  monkeypatch.setattr(alternation, "solve_draws", counting)
  values = learn(game, options_of(0, draws=25), folder=tmp_path, progress=False)
  whole = generate_examples(game, 25, iterations=10, progress=False)
  kept = Examples.load(tmp_path / "examples-0.safetensors")
  assert solved == [5] and values.card["learned_from"] == len(whole) == len(kept)
  one, other = (np.lexsort((s.inputs["place"], s.draw)) for s in (kept, whole))
  np.testing.assert_array_equal(kept.draw[one], whole.draw[other])
  np.testing.assert_allclose(kept.values[0][one], whole.values[0][other], atol=1e-6)


def test_ctrl_c_keeps_the_draws_that_are_solved(tmp_path, monkeypatch):
  """All but the last begun one; the same call solves the rest, and has the same draws."""
  game, solve = pyspiel.load_game("kuhn_poker"), teaching._solved
  calls = []

  def pressed(*args):
    calls.append(0)
    if len(calls) > 2:
      raise KeyboardInterrupt
    return solve(*args)

  options = options_of(0, draws=120)
  with monkeypatch.context() as patch:
    patch.setattr(teaching, "_solved", pressed)
    with pytest.raises(KeyboardInterrupt):
      learn(game, options, folder=tmp_path, progress=False)
  begun = Examples.load(tmp_path / "examples-0.safetensors")
  draws = np.unique(begun.draw)
  assert 0 < len(draws) < 120 and np.array_equal(draws, np.arange(len(draws)))
  values = learn(game, options, folder=tmp_path, progress=False)
  whole = generate_examples(game, 120, iterations=10, progress=False)
  assert values.card["learned_from"] == len(whole)
  assert np.array_equal(
    np.bincount(Examples.load(tmp_path / "examples-0.safetensors").draw), np.bincount(whole.draw)
  )


def test_ctrl_c_ends_all_turns(tmp_path, monkeypatch):
  game, seen = pyspiel.load_game("kuhn_poker"), []
  with monkeypatch.context() as patch:
    interrupt(patch, 1)
    values = learn(game, options_of(2), folder=tmp_path, progress=False, callback=seen.append)
  assert len(seen) == 1 and not values.card["finished"]
  values = learn(game, options_of(2), folder=tmp_path, progress=False)
  assert values.card["finished"] and len(list(tmp_path.iterdir())) == 6


def test_searches_teach_upwards():
  """Each turn solves one decision ahead only; the values come nearer to those of whole solutions."""
  game, errors = pyspiel.load_game(DICE), []
  truth = generate_examples(game, 20, 99, iterations=200, progress=False)

  def measure(values):
    own = values.tensors(truth, np.arange(len(truth)))
    errors.append(float(fitting.measure_errors(values.network, own).total_error))

  network = {"steps": 400, "batch": 128, "width": 48, "layers": 1}
  options = LearnOptions(draws=40, turns=2, chains=8, teacher="search", iterations=60, **network)
  learn(game, options, progress=False, callback=measure)
  assert len(errors) == 3 and errors[0] > errors[1] > errors[2] and errors[2] < 0.9 * errors[0], errors


def test_its_folder_is_made_and_tried_first(tmp_path, monkeypatch):
  game = pyspiel.load_game("kuhn_poker")
  learn(game, options_of(0), folder=tmp_path / "a" / "b", progress=False)
  assert {path.name for path in (tmp_path / "a" / "b").iterdir()} == {
    "examples-0.safetensors",
    "values-0.safetensors",
  }
  monkeypatch.setattr(alternation, "solve_draws", None)  # solving would fail
  (tmp_path / "file").touch()
  with pytest.raises(OSError, match="file"):
    learn(game, options_of(0), folder=tmp_path / "file", progress=False)


@pytest.mark.parametrize(
  ("options", "message"),
  [
    (
      {"width": 30_000},
      "Training with width=30000, layers=3 and batch=1000 needs about .* GB of memory .* are",
    ),
    ({"layers": 10**9}, "Training with width=192, layers=1000000000 and batch=1000 needs"),
    (
      {"batch": 2 * 10**9},
      "layers=3 and batch=2000000000 needs about .* for batches.* To use less memory: a smaller width",
    ),
  ],
)
def test_trainings_too_large_for_the_machine(monkeypatch, options, message):
  monkeypatch.setattr("ps_cfr_spiel.memory.free_memory", lambda: 16e9)
  monkeypatch.setattr(NetworkValues, "untrained", None)  # nothing is allocated
  with pytest.raises(ValueError, match=message):
    train(situations(), **options)
  monkeypatch.setattr(alternation, "solve_draws", None)
  with pytest.raises(ValueError, match=message):
    learn(pyspiel.load_game("kuhn_poker"), LearnOptions(**options))


@pytest.mark.parametrize(
  ("call", "message"),
  [
    (lambda: train("x"), "examples must be Examples, got str"),
    (lambda: train(situations(), start="x"), "start must be NetworkValues, got str"),
    (lambda: train(situations(), start=situations()), "start must be .*, got Examples"),
    (
      lambda: resume(situations(), None),
      "values must be NetworkValues, got NoneType",
    ),
    (lambda: train(situations(), checkpoint_seconds=-1), "checkpoint_seconds must be a number of at least 0"),
    (lambda: train(situations(), width=0), "width must be an integer of at least 1, got 0"),
  ],
)
def test_wrong_kinds(call, message):
  with pytest.raises(ValueError, match=message):
    call()


@pytest.mark.parametrize(
  ("options", "message"),
  [
    ({"turns": -1}, "turns must be an integer of at least 0"),
    ({"chains": 0}, "chains must be an integer of at least 1"),
    ({"teacher": "guess"}, "Unknown teacher 'guess'"),
  ],
)
def test_bad_options(options, message):
  with pytest.raises(ValueError, match=message):
    LearnOptions(**options)


@pytest.mark.parametrize(
  ("options", "message"),
  [
    ({"steps": "x"}, "steps must be an integer of at least 1, got 'x'"),
    ({"learning_rate": 2}, "learning_rate must be a number from 0 to 1, got 2"),
    ({"seed": -1}, "seed must be an integer from 0 to"),
  ],
)
def test_bad_options_of_training(options, message):
  with pytest.raises(ValueError, match=message):
    TrainingOptions(**options)


BOARDS = RandomSituations(2, bets="a", ratios=(0.5,))


@pytest.mark.parametrize(
  ("source", "more", "message"),
  [
    ("kuhn_poker", {"callback": "x"}, "callback must be a function of the values, got 'x'"),
    ("kuhn_poker", {"options": LearnOptions(seed=2**32 - 1, turns=1)}, "seed must be an integer from 0 to"),
    ("kuhn_poker", {"options": TrainingOptions()}, "Expected LearnOptions, got TrainingOptions"),
    ("kuhn_poker", {"checkpoint_seconds": "x"}, "checkpoint_seconds must be a number"),
    ("kuhn_poker", {"values": 5}, "values, chunk and target are for boards of hold'em"),
    ("kuhn_poker", {"options": LearnOptions(target="1%")}, "values, chunk and target are for boards"),
    (BOARDS, {"limit": 5}, "rivers have no options of a tree; leave out limit"),
    (BOARDS, {"values": 5}, "values belong to turns and flops"),
    (BOARDS, {"options": LearnOptions(teacher="search")}, "teacher='search' is for games"),
    (
      RandomSituations(2, bets="a", ratios=(0.5,), cards=4),
      {"options": LearnOptions(turns=0)},
      "values belong to turns",
    ),
    (
      RandomSituations(2, bets="a", ratios=(0.5,), cards=4),
      {"values": 5, "options": LearnOptions(turns=1)},
      "turns=1: searches of turns ask about rivers alone",
    ),
  ],
)
def test_bad_input(monkeypatch, source, more, message):
  monkeypatch.setattr(alternation, "solve_draws", None)  # solving would fail
  monkeypatch.setattr(alternation, "solve_batch", None)
  with pytest.raises(ValueError, match=message):
    learn(pyspiel.load_game(source) if isinstance(source, str) else source, **more)


def test_rivers_are_learned_in_turns_and_extended(tmp_path):
  """Random ones, then those of searches of turns by the network so far; files are used again."""
  drawn, extended = (RandomSituations(count, ratios=(0.5,), bets="a;x") for count in (8, 16))
  network = {"steps": 200, "batch": 8, "width": 8, "layers": 1}
  options = LearnOptions(turns=1, chains=1, iterations=5, **network)
  values = learn(drawn, options, folder=tmp_path, progress=False)
  assert values.cards == 5 and values.card["learned_from"] == 8 + 20
  stamps = {path: path.stat().st_mtime_ns for path in tmp_path.glob("examples-*/*")}
  assert same(learn(drawn, options, folder=tmp_path, progress=False), values)
  assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("examples-*/*")} == stamps
  more = options.changed(turns=0)
  longer = learn(extended, more, folder=tmp_path, progress=False)
  whole = learn(extended, more, progress=False)
  assert longer.card["learned_from"] == 16 and same(longer, whole)
