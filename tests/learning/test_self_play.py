"""Learning in turns, interrupted and taken up again; teachers that look one decision ahead."""

import functools
import importlib

import jax
import numpy as np
import pyspiel
import pytest

from ps_cfr_spiel.learning import (
  Examples,
  LearnedValues,
  OneAhead,
  fitting,
  generate_examples,
  resume,
  self_play,
  train,
  training,
)
from ps_cfr_spiel.values import CFRValues

TURNS = importlib.import_module("ps_cfr_spiel.learning.self_play")  # the function hides it
DICE = "liars_dice(dice_sides=2)"
SMALL = {"steps": 800, "batch": 64, "width": 16, "layers": 1, "patience": 50}


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
  with monkeypatch.context() as patch:
    interrupt(patch, 2)
    file = tmp_path / "values.safetensors"
    found = train(situations(), progress=False, checkpoint=file, checkpoint_seconds=0, **SMALL)
  assert not found.card["finished"] and found.losses[:, 0].tolist() == [200, 400]
  kept = LearnedValues.load(file)
  assert same(kept, found) and found.card.items() <= kept.card.items()
  done = resume(situations(), kept, progress=False)
  assert done.card["finished"] and done.losses[:, 0].tolist() == [200, 400, 600, 800]
  np.testing.assert_array_equal(done.losses[:2], found.losses)
  assert done.card["loss"] == pytest.approx(done.losses[:, 2].min(), rel=1e-5)
  assert same(resume(situations(), done, progress=False), done)  # nothing is left to do


def test_training_that_goes_on_draws_other_batches(monkeypatch):
  drawn, step = [], training.take_steps
  monkeypatch.setattr(training, "take_steps", lambda *args: drawn.append(args[3]) or step(*args))
  with monkeypatch.context() as patch:
    interrupt(patch, 1)
    kept = train(situations(), progress=False, **{**SMALL, "steps": 400})
  resume(situations(), kept, progress=False)
  first, second = drawn
  assert not np.array_equal(first, second)


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
    looked = lambda *args: kept.append(LearnedValues.load(file)) or original(*args)  # noqa: E731
    patch.setattr(training, "take_steps", looked)
    done = call(checkpoint=file)  # faster than checkpoint_seconds
  assert [len(values.losses) for values in kept] == [0] * 4  # what it began with
  again = LearnedValues.load(file)
  assert same(again, done) and again.card == done.card
  assert same(resume(situations(), kept[0], progress=False), done)
  with monkeypatch.context() as patch:
    interrupt(patch, 2)
    found = call(checkpoint=file)
  again = LearnedValues.load(file)
  assert same(again, found) and again.losses[:, 0].tolist() == [200, 400]
  done = resume(situations(), again, file, progress=False)
  assert same(LearnedValues.load(file), done) and done.card["finished"]


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
  again = train(situations(), 1, 200, 64, start=first, learning_rate=1e-5, progress=False)
  assert again.card["training"]["width"] == 16 and len(again.losses) == 1
  assert again.card["loss"] == pytest.approx(first.card["loss"], rel=0.05)


def test_mixed_data():
  game = pyspiel.load_game("kuhn_poker")
  more = generate_examples(game, 5, seed=3, iterations=30, progress=False)
  both = Examples.mixed([situations(), more])
  assert len(both) == len(situations()) + len(more)
  assert sorted(set(both.draw.tolist())) == list(range(45))
  assert [part["seed"] for part in both.card["mixed"]] == [0, 3]
  assert [part["seed"] for part in Examples.mixed([both, more]).card["mixed"]] == [0, 3, 3]
  with pytest.raises(ValueError, match="Data set 1 has another teacher: CFRValues"):
    Examples.mixed([more, generate_examples(game, 1, iterations=31, progress=False)])
  with pytest.raises(ValueError, match="Data set 1 has another game: liars_dice"):
    Examples.mixed([more, generate_examples(pyspiel.load_game(DICE), 1, iterations=30, progress=False)])
  with pytest.raises(ValueError, match="sets is empty"):
    Examples.mixed([])


def test_one_ahead_of_right_values_is_right():
  """Where what lies beyond is solved too, looking one decision ahead gives what solving to the end does."""
  game = pyspiel.load_game(DICE)
  beyond = OneAhead(150, CFRValues(60))
  teachers = (CFRValues(300), beyond, OneAhead(150))
  taught = [generate_examples(game, 2, 5, teacher=teacher, progress=False) for teacher in teachers]
  totals = [(s.ranges[0] * s.values[0]).sum(1) for s in taught]
  for i in (0, 1):
    np.testing.assert_array_equal(taught[0].ranges[i], taught[1].ranges[i])
  size = np.abs(totals[0]).max()
  assert np.abs(totals[1] - totals[0]).max() < 0.02 * size
  assert np.abs(totals[2] - totals[0]).max() > 0.2 * size  # with nothing beyond it is wrong


def test_turns_are_kept_and_not_done_again(tmp_path, monkeypatch):
  game, seen = pyspiel.load_game("kuhn_poker"), []
  call = functools.partial(
    self_play, game, 1, 20, 3, folder=tmp_path, iterations=10, progress=False, training=SMALL
  )
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
    ({"draws": 40}, r"examples-0.safetensors is of another call: its draws: 0 to 19, not 0 to 39"),
    (
      {"training": {**SMALL, "steps": 7}},
      r"values-0.safetensors is of another call: its steps: \d+, not 7;",
    ),
    ({"chains": 4}, r"examples-1.safetensors is of another call: its draws: 0 to 2, not 0 to 3"),
  ):
    options = {"turns": 1, "draws": 20, "chains": 3, "training": SMALL, **others}
    with pytest.raises(ValueError, match=message):
      self_play(game, folder=tmp_path, iterations=10, progress=False, **options)
  with pytest.raises(
    ValueError, match=r"examples-0.safetensors is of another call: its game: kuhn_poker\(\), not leduc"
  ):
    self_play(leduc, 1, 20, 3, folder=tmp_path, iterations=10, progress=False, training=SMALL)


def test_ctrl_c_ends_all_turns(tmp_path, monkeypatch):
  game, seen = pyspiel.load_game("kuhn_poker"), []
  with monkeypatch.context() as patch:
    interrupt(patch, 1)
    values = self_play(
      game, 2, 20, 3, folder=tmp_path, iterations=10, progress=False, callback=seen.append, training=SMALL
    )
  assert len(seen) == 1 and not values.card["finished"]
  values = self_play(game, 2, 20, 3, folder=tmp_path, iterations=10, progress=False, training=SMALL)
  assert values.card["finished"] and len(list(tmp_path.iterdir())) == 6


def test_searches_teach_upwards():
  """Each turn solves one decision ahead only; the values come nearer to those of whole solutions."""
  game, errors = pyspiel.load_game("liars_dice(dice_sides=3)"), []
  truth = generate_examples(game, 20, 99, iterations=200, progress=False)

  def measure(values):
    own = values.tensors(truth, np.arange(len(truth)))
    errors.append(float(fitting.measure_errors(values.network, own).total_error))

  self_play(
    game, 2, 60, 12, "search", iterations=60, progress=False, callback=measure,
    training={"steps": 600, "batch": 128, "width": 48, "layers": 1},
  )  # fmt: skip
  assert len(errors) == 3 and errors[0] > errors[1] > errors[2] and errors[2] < 0.9 * errors[0], errors


def test_its_folder_is_made_and_tried_first(tmp_path, monkeypatch):
  game, quick = pyspiel.load_game("kuhn_poker"), {"iterations": 5, "progress": False, "training": SMALL}
  self_play(game, 0, 20, folder=tmp_path / "a" / "b", **quick)
  assert {path.name for path in (tmp_path / "a" / "b").iterdir()} == {
    "examples-0.safetensors",
    "values-0.safetensors",
  }
  monkeypatch.setattr(TURNS, "generate_examples", None)  # nobody solves
  (tmp_path / "file").touch()
  with pytest.raises(OSError, match="file"):
    self_play(game, 0, 20, folder=tmp_path / "file", **quick)


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
  monkeypatch.setattr("ps_cfr_spiel.compiler.memory.free_memory", lambda: 16e9)
  monkeypatch.setattr(LearnedValues, "untrained", None)  # nothing is allocated
  with pytest.raises(ValueError, match=message):
    train(situations(), **options)
  monkeypatch.setattr(TURNS, "generate_examples", None)
  with pytest.raises(ValueError, match=message):
    self_play(pyspiel.load_game("kuhn_poker"), training=options)


@pytest.mark.parametrize(
  ("call", "message"),
  [
    (lambda: train("x"), "examples must be Examples or BoardExamples, got str"),
    (lambda: train(situations(), start="x"), "start must be LearnedValues or BoardValues, got str"),
    (lambda: train(situations(), start=situations()), "start must be .*, got Examples"),
    (
      lambda: resume(situations(), None),
      "values must be LearnedValues or BoardValues, got NoneType",
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
    ({"callback": "x"}, "callback must be a function of the values, got 'x'"),
    ({"training": "x"}, "training must be dict, got str"),
    *[
      ({"training": {n: 1}}, f"entry of training '{n}'; choose") for n in ("foo", "seed", "progress", "start")
    ],
    ({"training": {"checkpoint": "x"}}, "entry of training 'checkpoint'; choose one of 'steps', 'batch'"),
    ({"training": {"steps": "x"}}, "steps must be an integer of at least 1, got 'x'"),
    ({"training": {"learning_rate": 2}}, "learning_rate must be a number from 0 to 1, got 2"),
    ({"training": {"checkpoint_seconds": "x"}}, "checkpoint_seconds must be a number"),
    ({"seed": 2**32 - 1, "turns": 1}, r"seed \+ turns must be an integer from 0 to"),
    ({"turns": -1}, "turns must be an integer of at least 0"),
    ({"chains": 0}, "chains must be an integer of at least 1"),
    ({"teacher": "guess"}, "Unknown teacher 'guess'"),
  ],
)
def test_bad_input(monkeypatch, options, message):
  monkeypatch.setattr(TURNS, "generate_examples", None)  # nobody solves
  with pytest.raises(ValueError, match=message):
    self_play(pyspiel.load_game("kuhn_poker"), **options)
