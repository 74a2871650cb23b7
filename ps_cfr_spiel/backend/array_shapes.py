"""Annotations of arrays by shape, such as `Float[Array, "rows columns"]`: jaxtyping's, for type checkers.

Nothing reads them while the package runs, so there they are plain `Annotated`: to import jaxtyping and to
make its types would take 3% of a short command. Tests that check shapes put jaxtyping itself in this
module's place.
"""

from typing import TYPE_CHECKING, Annotated

if TYPE_CHECKING:
  from jaxtyping import Bool, Float, Int, Int32, Integer, Key, PyTree, Shaped, UInt8, UInt16, UInt32
else:
  Bool = Float = Int = Int32 = Integer = Key = Shaped = UInt8 = UInt16 = UInt32 = Annotated
  PyTree = object
