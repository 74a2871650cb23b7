"""Runs that split an abstraction, in damaged files."""

import numpy as np
import pyspiel
import pytest
from edited_files import packed, unpacked

import ps_cfr_spiel
from ps_cfr_spiel.abstractions import CFRPlusIRASolver, FPIRASolver

KUHN = pyspiel.load_game("kuhn_poker")
SOLVERS = {
  "cfr+ira": lambda: CFRPlusIRASolver(KUHN, seed=3, averaging_delay=0, dtype="float64"),
  "fpira": lambda: FPIRASolver(KUHN),
}


def edited(path, name, value):
  """Writes the file again with the first number of one array changed; with a fraction all become floats."""
  header, arrays = unpacked(path.read_bytes())
  arrays[name] = np.append(np.array(value), arrays[name][1:])
  if isinstance(value, int):
    arrays[name] = arrays[name].astype(np.int32)
  edit = path.with_name("edited.safetensors")
  edit.write_bytes(packed(header, arrays))
  return edit


@pytest.mark.parametrize("value", [-5, -1, 1000, 0.5])
@pytest.mark.parametrize("kind", SOLVERS)
def test_sets_of_no_partition_are_refused(kind, value, tmp_path):
  """Whichever integer of the sets is wrong: members, tables, columns, origins, of the start or of now."""
  solver = SOLVERS[kind]()
  solver.run(3)
  solver.save(tmp_path / "run.safetensors")
  header, arrays = unpacked((tmp_path / "run.safetensors").read_bytes())
  integers = [name for name, array in arrays.items() if array.dtype == np.int32 and array.ndim == 1]
  assert header["solver"] == type(solver).__name__
  assert len(integers) == 12
  for name in integers:
    with pytest.raises(ValueError, match=r"is damaged|must number its \d+ sets"):
      ps_cfr_spiel.load_solver(edited(tmp_path / "run.safetensors", name, value))
