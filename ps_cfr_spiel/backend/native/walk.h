// A player's decisions as the native library sees them, and the way from the leaves up.

#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "learn.h"
#include "native.h"

namespace {

// The rows of a player that have equally many actions and stand on one level: a line of `blocks` in walk.py.
struct Block {
  int32_t actions, rows, table, row, height, first, trembles;
};
static_assert(sizeof(Block) == 7 * sizeof(int32_t), "Block must be laid out as a line of int32[blocks, 7]");

constexpr int64_t PIECE = 4096;  // of a block, that a thread takes at a time
constexpr int64_t TOLD = 1024;   // numbers that are in the first-level cache when they are used again

// Calls `job` with the ends of all pieces of [0, count).
template <typename Job>
void in_pieces(Team& team, int64_t count, const Job& job) {
  share_out(team, (count + PIECE - 1) / PIECE, [&](int64_t k) { job(k * PIECE, std::min((k + 1) * PIECE, count)); });
}

// A player's forest at one point of a batch; the names are walk.py's. Items are all rows, then all leaves.
template <typename T>
struct Walk {
  int64_t roots, sequences, width, count;
  const Block* blocks;
  const int32_t* above;                             // the sequence above each item
  const int32_t *start, *parent, *swap, *columns;   // on the way up: `Walk.members`; no start if none folded
  std::vector<T*> tables;                           // [A, rows, H] each, for each number of actions
  std::vector<std::pair<T*, int64_t>> leaves;       // each part and its size
  T tremble = 0;                                    // of the strategies in the tables

  Floor<T> floor(const Block& b) const { return {b.trembles ? tremble : T(0), b.actions}; }
  int64_t rows() const {
    int64_t all = 0;
    for (int64_t k = 0; k < count; ++k) all += blocks[k].rows;
    return all;
  }
  int64_t most_cells() const {  // of a block
    int64_t most = 0;
    for (int64_t k = 0; k < count; ++k) most = std::max<int64_t>(most, blocks[k].rows * width);
    return most;
  }
  int64_t summed_cells() const { return STRIP + width; }  // at most, of rows that go up together
  bool large() const { return sequences * width >= MANY; }
};

// Calls `pass` with the width, if it is one of small games, so that loops over it have a known length; else with 0.
template <typename Pass>
INLINE void by_width(int64_t width, Pass pass) {
  if (width == 1) pass(std::integral_constant<int, 1>());
  else if (width == 3) pass(std::integral_constant<int, 3>());
  else if (width == 6) pass(std::integral_constant<int, 6>());
  else pass(std::integral_constant<int, 0>());
}

// Reach of all sequences, from the roots down. W: the width, 0 if it is not known here.
template <typename T, int W>
INLINE void go_down(const Walk<T>& walk, T* reach) {
  const int64_t width = W ? W : walk.width;
  std::fill_n(reach, walk.roots * width, T(1));
  const int32_t* above = walk.above;
  for (const Block* b = walk.blocks; b < walk.blocks + walk.count; above += b++->rows) {
    const Floor<T> floor = walk.floor(*b);
    for (int64_t a = 0; a < b->actions; ++a) {
      const T* chance = walk.tables[b->table] + (a * b->height + b->row) * width;
      T* __restrict to = reach + (b->first + a * b->height) * width;
      for (int64_t r = 0; r < b->rows; ++r, chance += width, to += width) {
        const T* from = reach + above[r] * width;
        for (int64_t h = 0; h < width; ++h) to[h] = from[h] * (floor.own * chance[h] + floor.least);
      }
    }
  }
}

template <typename T>
INLINE void go_down_by_width(const Walk<T>& walk, T* reach) {
  by_width(walk.width, [&](auto w) INLINE_LAMBDA { go_down<T, decltype(w)::value>(walk, reach); });
}

// The same in threads. `then(reach, count)` is told of numbers as soon as they are there, some rows' at a time.
template <typename T, typename Then>
void down_large(Team& team, const Walk<T>& walk, T* reach, const Then& then) {
  const int64_t width = walk.width;
  std::fill_n(reach, walk.roots * width, T(1));
  const int32_t* above = walk.above;
  for (const Block* b = walk.blocks; b < walk.blocks + walk.count; above += b++->rows) {
    const Floor<T> floor = walk.floor(*b);
    in_pieces(team, b->rows, [&](int64_t begin, int64_t end) {
      for (int64_t a = 0; a < b->actions; ++a) {
        const T* chance = walk.tables[b->table] + (a * b->height + b->row + begin) * width;
        T *to = reach + (b->first + a * b->height + begin) * width, *told = to;
        for (int64_t r = begin; r < end; ++r, chance += width, to += width) {
          if (to - told >= TOLD) then(told, to - told), told = to;
          const T* from = reach + above[r] * width;
          if (b->actions == 1) {  // it is played: nothing is read of large tables
            for (int64_t h = 0; h < width; ++h) to[h] = from[h] * (floor.own + floor.least);
            continue;
          }
          for (int64_t h = 0; h < width; ++h) to[h] = from[h] * (floor.own * chance[h] + floor.least);
        }
        then(told, to - told);
      }
    });
  }
}

// Adds an item's values to the sequences above it and above those that it stands for, in their columns.
template <typename T, int W>
INLINE void push(const Walk<T>& walk, int64_t item, const T* from, T* values) {
  const int64_t width = W ? W : walk.width;
  if (!walk.start) {  // no item stands for others: its one member is itself
    T* __restrict to = values + walk.above[item] * width;
    for (int64_t h = 0; h < width; ++h) to[h] += from[h];
    return;
  }
  for (int32_t m = walk.start[item]; m < walk.start[item + 1]; ++m) {
    T* __restrict to = values + walk.parent[m] * width;
    if (walk.swap[m]) {
      const int32_t* column = walk.columns + walk.swap[m] * width;
      for (int64_t h = 0; h < width; ++h) to[h] += from[column[h]];
    } else {
      for (int64_t h = 0; h < width; ++h) to[h] += from[h];
    }
  }
}

// Values of the sequences above leaves, zero for the others.
template <typename T, int W>
INLINE void push_leaves(const Walk<T>& walk, T* values) {
  const int64_t width = W ? W : walk.width;
  std::fill_n(values, walk.sequences * width, T(0));
  int64_t leaf = walk.rows();
  for (const auto& part : walk.leaves) {
    for (int64_t k = 0; k < part.second; ++k) push<T, W>(walk, leaf++, part.first + k * width, values);
  }
}

// Values of all sequences, from the leaves up. `row(block, cell, count, values, sum)` says what `count` cells of a
// block from `cell` on are worth; they are a piece of one row or several short rows. `sum`: room for `summed_cells`.
template <typename T, int W, typename Row>
INLINE void go_up(const Walk<T>& walk, const Row& row, T* values, T* __restrict sum) {
  const int64_t width = W ? W : walk.width;
  push_leaves<T, W>(walk, values);
  int64_t item = walk.rows();
  const int64_t together = std::max<int64_t>(STRIP / width, 1);
  for (const Block* b = walk.blocks + walk.count; b-- > walk.blocks;) {
    item -= b->rows;
    for (int64_t r = 0; r < b->rows; r += together) {
      const int64_t rows = std::min(together, b->rows - r), cells = rows * width;
      for (int64_t c = 0; c < cells; c += STRIP) {
        row(*b, r * width + c, std::min(STRIP, cells - c), values, sum + c);
      }
      for (int64_t k = 0; k < rows; ++k) push<T, W>(walk, item + r + k, sum + k * width, values);
    }
  }
}

// What a walk is given at one point of a batch, for the three handlers alike.
template <ffi::DataType type>
struct Call {
  using T = ffi::NativeType<type>;
  const Batch& batch;
  const int64_t point, tables, rule;
  ffi::RemainingArgs& given;
  ffi::RemainingRets& returned;
  Walk<T> walk;
  T* sequences;
  ffi::Error error = ffi::Error::Success();

  // Arrays [first, last) of those that are given or returned: the place of each, and its size on the first axis.
  template <typename Arrays, typename Take>
  void each(Arrays& arrays, int64_t first, int64_t last, Take take) {
    for (int64_t k = first; k < last && error.success(); ++k) {
      auto found = arrays.template get<ffi::Buffer<type>>(k);
      if (found.has_error()) error = found.error();
      else take(batch.at(buffer(*found), point), buffer(*found).dimensions()[batch.axes()]);
    }
  }
  static ffi::Buffer<type>& buffer(ffi::Buffer<type>& array) { return array; }
  static ffi::Buffer<type>& buffer(ffi::ResultBuffer<type>& array) { return *array; }
};

using Integers = ffi::Buffer<ffi::S32>;

// A handler: `run` at each point of a batch.
template <ffi::DataType type, void (*run)(Call<type>&)>
ffi::Error on_points(Integers blocks, Integers above, Integers start, Integers parent, Integers swap,
                     Integers columns, ffi::RemainingArgs given, ffi::ResultBuffer<type> sequences,
                     ffi::RemainingRets returned, int64_t roots, int64_t tables, int64_t rule) {
  const auto shape = sequences->dimensions();
  const Batch batch(shape);
  const size_t axes = batch.axes();
  for (int64_t point = 0; point < batch.points; ++point) {
    const auto at = [&](auto& array) { return batch.at(array, point); };
    Call<type> call{batch, point, tables, rule, given, returned,
                    {roots, shape[axes], shape[axes + 1], blocks.dimensions()[axes],
                     reinterpret_cast<const Block*>(at(blocks)), at(above),
                     start.dimensions()[axes] ? at(start) : nullptr, at(parent), at(swap),
                     at(columns), {}, {}},
                    at(*sequences)};
    run(call);
    if (!call.error.success()) return call.error;
  }
  return ffi::Error::Success();
}

template <ffi::DataType type>
auto bind() {
  return ffi::Ffi::Bind().template Arg<Integers>().template Arg<Integers>().template Arg<Integers>()
      .template Arg<Integers>().template Arg<Integers>().template Arg<Integers>().RemainingArgs()
      .template Ret<ffi::Buffer<type>>().RemainingRets().template Attr<int64_t>("roots")
      .template Attr<int64_t>("tables").template Attr<int64_t>("rule");
}

}  // namespace
