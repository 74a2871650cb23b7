"""Learning in turns, interrupted and taken up again; teachers that look one decision ahead."""

import functools

import jax
import numpy as np
import pyspiel
import pytest

from ps_cfr_spiel import CFRValues
from ps_cfr_spiel.learning import (
  LearnedValues,
  OneAhead,
  Situations,
  fitting,
  generate,
  resume,
  self_play,
  train,
  training,
)

DICE = "liars_dice(dice_sides=2)"
SMALL = {"steps": 800, "batch": 64, "width": 16, "layers": 1, "patience": 50}


@functools.cache
def situations():
  return generate(pyspiel.load_game("kuhn_poker"), 40, iterations=30, progress=False)


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
    file = tmp_path / "values.npz"
    found = train(situations(), progress=False, checkpoint=file, checkpoint_seconds=0, **SMALL)
  assert not found.card["finished"] and found.losses[:, 0].tolist() == [200, 400]
  kept = LearnedValues.load(file)
  assert same(kept, found) and found.card.items() <= kept.card.items()
  done = resume(situations(), kept, progress=False)
  assert done.card["finished"] and done.losses[:, 0].tolist() == [200, 400, 600, 800]
  np.testing.assert_array_equal(done.losses[:2], found.losses)
  assert done.card["loss"] == pytest.approx(done.losses[:, 2].min(), rel=1e-5)
  assert same(resume(situations(), done, progress=False), done)  # nothing is left to do


def test_what_can_not_be_resumed():
  values = train(situations(), progress=False, **{**SMALL, "steps": 200})
  other = generate(pyspiel.load_game("kuhn_poker"), 40, seed=1, iterations=30, progress=False)
  with pytest.raises(ValueError, match="have learned from other situations"):
    resume(other, values)
  chase = generate(pyspiel.load_game(DICE), 2, iterations=2, progress=False)
  with pytest.raises(ValueError, match=r"The values are of kuhn_poker\(\), the situations of liars_dice"):
    train(chase, start=values)


def test_training_further_starts_where_the_other_ended():
  first = train(situations(), progress=False, **SMALL)
  again = train(situations(), 1, 200, 64, start=first, learning_rate=1e-5, progress=False)
  assert again.card["training"]["width"] == 16 and len(again.losses) == 1
  assert again.card["loss"] == pytest.approx(first.card["loss"], rel=0.05)


def test_mixed_data():
  game = pyspiel.load_game("kuhn_poker")
  more = generate(game, 5, seed=3, iterations=30, progress=False)
  both = Situations.mixed([situations(), more])
  assert len(both) == len(situations()) + len(more)
  assert sorted(set(both.draw.tolist())) == list(range(45))
  assert [part["seed"] for part in both.card["mixed"]] == [0, 3]
  assert [part["seed"] for part in Situations.mixed([both, more]).card["mixed"]] == [0, 3, 3]
  with pytest.raises(ValueError, match="Data set 1 has another teacher: CFRValues"):
    Situations.mixed([more, generate(game, 1, iterations=31, progress=False)])
  with pytest.raises(ValueError, match="Data set 1 has another game: liars_dice"):
    Situations.mixed([more, generate(pyspiel.load_game(DICE), 1, iterations=30, progress=False)])
  with pytest.raises(ValueError, match="There are no situations"):
    Situations.mixed([])


def test_one_ahead_of_right_values_is_right():
  """Where what lies beyond is solved too, looking one decision ahead gives what solving to the end does."""
  game = pyspiel.load_game(DICE)
  beyond = OneAhead(150, CFRValues(60))
  teachers = (CFRValues(300), beyond, OneAhead(150))
  taught = [generate(game, 2, 5, teacher=teacher, progress=False) for teacher in teachers]
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
  names = {"situations-0.npz", "situations-1.npz", "values-0.npz", "values-1.npz"}
  assert {path.name for path in tmp_path.iterdir()} == names
  with monkeypatch.context() as patch:
    patch.setattr(training, "take_steps", None)  # nobody trains
    assert same(call(), values)
  with pytest.raises(ValueError, match=r"situations-0.npz is of another call: .*'seed': 0"):
    call(seed=1)


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


@pytest.mark.slow
def test_searches_teach_upwards():
  """Each turn solves one decision ahead only; the values come nearer to those of whole solutions."""
  game, errors = pyspiel.load_game(DICE), []
  truth = generate(game, 6, 99, iterations=200, progress=False)

  def measure(values):
    own = fitting.tensors_of(truth, values.scale, np.arange(len(truth)))
    errors.append(float(fitting.measure(values.network, own).total_error))

  self_play(
    game, 2, 60, 12, "search", iterations=60, progress=False, callback=measure,
    training={"steps": 600, "batch": 128, "width": 48, "layers": 1},
  )  # fmt: skip
  assert len(errors) == 3 and errors[0] > errors[1] > errors[2] and errors[2] < 0.9 * errors[0], errors


@pytest.mark.parametrize(
  ("options", "message"),
  [
    ({"turns": -1}, "turns must be an integer of at least 0"),
    ({"chains": 0}, "chains must be an integer of at least 1"),
    ({"teacher": "guess"}, "Unknown teacher 'guess'"),
  ],
)
def test_bad_input(options, message):
  with pytest.raises(ValueError, match=message):
    self_play(pyspiel.load_game("kuhn_poker"), **options)
