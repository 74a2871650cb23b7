"""Programs for accelerators, counted without one: kernels, scatters and memory of a turn's iteration.

XLA's CPU compiler always counts the program that an accelerator gets. XLA's GPU compiler, which needs no GPU
and no driver, counts that of an H100 and of a T4 if its wheels are there:

  pip install --no-deps jax-cuda12-plugin jax-cuda12-pjrt nvidia-cuda-nvcc-cu12
"""

import importlib.util

import jax
import numpy as np
import pyspiel
import pytest

from benchmarks.engineering.gpu_programs import card_device, compiled, game_loop, loop_body
from benchmarks.engineering.streets import PRESET
from ps_cfr_spiel import build_tree
from ps_cfr_spiel.cfr import make_rule
from ps_cfr_spiel.tree import BoardLeaves

TURN = "holdem_subgame(stack=1000)"
wheels = pytest.mark.skipif(
  not (importlib.util.find_spec("jax_cuda12_plugin") and importlib.util.find_spec("nvidia")),
  reason="the wheels of XLA's GPU compiler are not there",
)


def lowered(rule, device=None, **equip):
  return game_loop(pyspiel.load_game(TURN), make_rule(rule), device, **equip)


@pytest.mark.parametrize("rule", ["rm+", "nrm+"])
def test_nothing_is_scattered(rule):
  """Numbers that are scattered to one place are added in no fixed order on a GPU."""
  for loop in (lowered(rule), lowered(rule, equip=lambda tree, _: tree)):
    assert "stablehlo.scatter" not in loop.lowered.as_text()
  leaves = build_tree(pyspiel.load_game(TURN), "showdown").leaves
  assert isinstance(leaves, BoardLeaves)
  reach = [np.ones((n * b, 1128)) for b, each in zip(leaves.boards, leaves.leaves, strict=True) for n in each]
  evaluator = jax.jit(lambda leaves, reach: leaves(0, reach)).lower(leaves, reach).as_text()
  assert "scatter" not in evaluator and "stablehlo.gather" in evaluator


@pytest.mark.usefixtures("optimized")
def test_a_turn_takes_less_than_three_tables_besides():
  """Counted by the compiler for CPUs, which fuses less than that for GPUs.

  XLA gives arrays their places before LLVM optimizes, which takes two thirds of the time and changes none.
  """
  loop = lowered("rm+")
  fast = {"xla_llvm_disable_expensive_passes": True, "xla_backend_optimization_level": 0}
  memory = loop.lowered.compile(compiler_options=fast).memory_analysis()
  assert memory is not None
  assert memory.temp_size_in_bytes < 3 * loop.tables
  assert memory.alias_size_in_bytes >= loop.tables  # in place


@wheels
@pytest.mark.usefixtures("optimized")
@pytest.mark.parametrize(("name", "most"), [("H100", 6e8), ("T4", 6.5e8)])
def test_a_turn_is_few_kernels_of_a_gpu(name, most, monkeypatch):
  monkeypatch.setenv("JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "1")
  loop = lowered("rm+", card_device(name))
  _, body, temporary, in_place = compiled(loop)
  assert 20 < len(body.kernels) <= 100 and 2e8 < body.bytes <= most
  assert temporary < 2 * loop.tables and in_place >= loop.tables


@wheels
@pytest.mark.usefixtures("optimized")
def test_a_flop_is_few_kernels_of_a_gpu(monkeypatch):
  """The least bytes are 9.3 GB: numbers of each action six times, and leaves of each hand eight times."""
  monkeypatch.setenv("JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "1")
  loop = game_loop(pyspiel.load_game("holdem_subgame", PRESET), make_rule("rm+"), card_device("H100"))
  text, body, temporary, in_place = compiled(loop)
  assert 20 < len(body.kernels) <= 150 and 9.3e9 < body.bytes < 3 * 9.3e9
  assert " scatter(" not in text and " sort(" not in text
  assert temporary < 2 * loop.tables and in_place >= loop.tables


def test_bytes_of_a_program_written_by_hand():
  """A gather reads the rows that it returns, a product its operands, and each kernel writes its result."""
  text = """
%fused (a: f32[100,8], b: s32[4,1]) -> f32[4,8] {
  %a = f32[100,8]{1,0} parameter(0)
  %b = s32[4,1]{1,0} parameter(1)
  %rows = f32[4,8]{1,0} gather(%a, %b), offset_dims={1}
  ROOT %twice = f32[4,8]{1,0} add(%rows, %rows)
}

ENTRY %main (x: f32[100,8], i: s32[4,1], y: f32[8,3]) -> f32[4,3] {
  %x = f32[100,8]{1,0} parameter(0)
  %i = s32[4,1]{1,0} parameter(1)
  %y = f32[8,3]{1,0} parameter(2)
  %picked = f32[4,8]{1,0} fusion(%x, %i), kind=kLoop, calls=%fused
  ROOT %product = f32[4,3]{1,0} dot(%picked, %y), lhs_contracting_dims={1}
}
"""
  gathered, product = loop_body(text).kernels
  assert (gathered.read, gathered.written) == (4 * 8 * 4 + 4 * 4, 4 * 8 * 4)
  assert (product.read, product.written) == ((4 * 8 + 8 * 3) * 4, 4 * 3 * 4)
