// A player's decisions as one walk, a custom call of XLA; walk.py says what goes in and out. At the end of the
// file another, sums of long rows, for public_tree.py.
//
// XLA makes some kernels of each level and number of actions; here each pass is two loops over rows. Rows come
// level by level, so what a row needs of those above it is there before it on the way down, and what it needs of
// those below it on the way up.
//
// Rename the exported handlers when what goes in changes: library.py then refuses a library that is too old.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "native.h"

namespace {

// The rows of a player that have equally many actions and stand on one level: a line of `blocks` in walk.py.
struct Block {
  int32_t actions, rows, table, row, height, first;
};

// A player's forest at one point of a batch, and the player's tables; the names are walk.py's.
template <typename T>
struct Walk {
  int64_t roots, sequences, width, count;
  const Block* blocks;
  const int32_t *above, *leaf;
  std::vector<const T*> tables;
  std::vector<std::pair<T*, int64_t>> leaves;  // each part and its size
};

// Reach of all sequences, from the roots down, then of the leaves. W: the width, 0 if it is not known here.
template <typename T, int W>
INLINE void go_down(const Walk<T>& walk, T* reach) {
  const int64_t width = W ? W : walk.width;
  std::fill_n(reach, walk.roots * width, T(1));
  const int32_t* above = walk.above;
  for (const Block* b = walk.blocks; b < walk.blocks + walk.count; above += b++->rows) {
    for (int64_t a = 0; a < b->actions; ++a) {
      const T* chance = walk.tables[b->table] + (a * b->height + b->row) * width;
      T* __restrict to = reach + (b->first + a * b->height) * width;
      for (int64_t r = 0; r < b->rows; ++r, chance += width, to += width) {
        const T* from = reach + above[r] * width;
        for (int64_t h = 0; h < width; ++h) to[h] = from[h] * chance[h];
      }
    }
  }
  const int32_t* leaf = walk.leaf;
  for (auto [to, size] : walk.leaves) {
    for (const T* end = to + size * width; to < end; to += width) {
      const T* from = reach + *leaf++ * width;
      for (int64_t h = 0; h < width; ++h) to[h] = from[h];
    }
  }
}

// Values of all sequences, from the leaves up. Without tables a row is worth its best action.
template <typename T, int W>
INLINE void go_up(const Walk<T>& walk, T* values) {
  const int64_t width = W ? W : walk.width;
  std::fill_n(values, walk.sequences * width, T(0));
  const int32_t* leaf = walk.leaf;
  for (auto [part, size] : walk.leaves) {
    for (const T* from = part; from < part + size * width; from += width) {
      T* __restrict to = values + *leaf++ * width;
      for (int64_t h = 0; h < width; ++h) to[h] += from[h];
    }
  }
  thread_local std::vector<T> memory;
  memory.resize(std::max<size_t>(memory.size(), width));
  T* __restrict sum = memory.data();
  const int32_t* above = walk.above;
  for (int64_t k = 0; k < walk.count; ++k) above += walk.blocks[k].rows;
  for (const Block* b = walk.blocks + walk.count; b-- > walk.blocks;) {
    above -= b->rows;
    const int64_t next = b->height * width;
    for (int64_t r = 0; r < b->rows; ++r) {
      const T* from = values + (b->first + r) * width;
      if (walk.tables.empty()) {
        for (int64_t h = 0; h < width; ++h) sum[h] = from[h];
        for (int64_t a = 1; a < b->actions; ++a) {
          for (int64_t h = 0; h < width; ++h) sum[h] = std::max(sum[h], from[a * next + h]);
        }
      } else {
        const T* chance = walk.tables[b->table] + (b->row + r) * width;
        for (int64_t h = 0; h < width; ++h) sum[h] = chance[h] * from[h];
        for (int64_t a = 1; a < b->actions; ++a) {
          for (int64_t h = 0; h < width; ++h) sum[h] += chance[a * next + h] * from[a * next + h];
        }
      }
      T* __restrict to = values + above[r] * width;
      for (int64_t h = 0; h < width; ++h) to[h] += sum[h];
    }
  }
}

FOR_EACH_PROCESSOR void down(const Walk<float>& walk, float* reach) {
  walk.width == 1 ? go_down<float, 1>(walk, reach) : go_down<float, 0>(walk, reach);
}

FOR_EACH_PROCESSOR void down(const Walk<double>& walk, double* reach) {
  walk.width == 1 ? go_down<double, 1>(walk, reach) : go_down<double, 0>(walk, reach);
}

FOR_EACH_PROCESSOR void up(const Walk<float>& walk, float* values) {
  walk.width == 1 ? go_up<float, 1>(walk, values) : go_up<float, 0>(walk, values);
}

FOR_EACH_PROCESSOR void up(const Walk<double>& walk, double* values) {
  walk.width == 1 ? go_up<double, 1>(walk, values) : go_up<double, 0>(walk, values);
}

// A walk down, whose results after the first are the leaves, or up, whose arguments after the tables are.
template <ffi::DataType type, bool downwards>
ffi::Error walk(ffi::Buffer<ffi::S32> blocks, ffi::Buffer<ffi::S32> above, ffi::Buffer<ffi::S32> leaf,
                ffi::RemainingArgs given, ffi::ResultBuffer<type> sequences, ffi::RemainingRets leaves,
                int64_t roots, int64_t tables) {
  using T = ffi::NativeType<type>;
  const auto shape = sequences->dimensions();
  const Batch batch(shape);
  const size_t axes = batch.axes();
  Walk<T> walk{roots, shape[axes], shape[axes + 1], blocks.dimensions()[axes]};
  for (int64_t point = 0; point < batch.points; ++point) {
    walk.blocks = reinterpret_cast<const Block*>(batch.at(blocks, point));
    walk.above = batch.at(above, point);
    walk.leaf = batch.at(leaf, point);
    walk.tables.clear();
    walk.leaves.clear();
    for (size_t k = 0; k < given.size(); ++k) {
      auto buffer = given.get<ffi::Buffer<type>>(k);
      if (buffer.has_error()) return buffer.error();
      T* data = batch.at(*buffer, point);
      if (int64_t(k) < tables) walk.tables.push_back(data);
      else walk.leaves.emplace_back(data, buffer->dimensions()[axes]);
    }
    for (size_t k = 0; k < leaves.size(); ++k) {
      auto buffer = leaves.get<ffi::Buffer<type>>(k);
      if (buffer.has_error()) return buffer.error();
      walk.leaves.emplace_back(batch.at(**buffer, point), (*buffer)->dimensions()[axes]);
    }
    T* all = batch.at(*sequences, point);
    if constexpr (downwards) down(walk, all);
    else up(walk, all);
  }
  return ffi::Error::Success();
}

template <ffi::DataType type>
auto bind_walk() {
  using Integers = ffi::Buffer<ffi::S32>;
  return ffi::Ffi::Bind().template Arg<Integers>().template Arg<Integers>().template Arg<Integers>()
      .RemainingArgs().template Ret<ffi::Buffer<type>>().RemainingRets().template Attr<int64_t>("roots")
      .template Attr<int64_t>("tables");
}

template <typename T>
INLINE void add_rows(const T* rows, const int32_t* sum, int64_t count, int64_t width, int64_t sums, T* to) {
  std::memset(to, 0, sizeof(T) * sums * width);
  for (int64_t r = 0; r < count; ++r) {
    const T* from = rows + r * width;
    T* __restrict row = to + sum[r] * width;
    for (int64_t h = 0; h < width; ++h) row[h] += from[h];
  }
}

FOR_EACH_PROCESSOR void add(const float* rows, const int32_t* sum, int64_t count, int64_t width, int64_t sums,
                            float* to) {
  add_rows(rows, sum, count, width, sums, to);
}

FOR_EACH_PROCESSOR void add(const double* rows, const int32_t* sum, int64_t count, int64_t width, int64_t sums,
                            double* to) {
  add_rows(rows, sum, count, width, sums, to);
}

// Rows [m, H] added up in sums [n, H]; `sum` [m] says in which. XLA's own scatter is a loop of tiny kernels.
template <ffi::DataType type>
ffi::Error sum_rows(ffi::Buffer<type> rows, ffi::Buffer<ffi::S32> sum, ffi::ResultBuffer<type> sums) {
  const auto shape = sums->dimensions();
  const Batch batch(shape);
  const size_t axes = batch.axes();
  for (int64_t point = 0; point < batch.points; ++point) {
    add(batch.at(rows, point), batch.at(sum, point), rows.dimensions()[axes], shape[axes + 1], shape[axes],
        batch.at(*sums, point));
  }
  return ffi::Error::Success();
}

template <ffi::DataType type>
auto bind_rows() {
  return ffi::Ffi::Bind().template Arg<ffi::Buffer<type>>().template Arg<ffi::Buffer<ffi::S32>>()
      .template Ret<ffi::Buffer<type>>();
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(Down32, (walk<ffi::F32, true>), bind_walk<ffi::F32>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(Down64, (walk<ffi::F64, true>), bind_walk<ffi::F64>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(Up32, (walk<ffi::F32, false>), bind_walk<ffi::F32>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(Up64, (walk<ffi::F64, false>), bind_walk<ffi::F64>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(Rows32, sum_rows<ffi::F32>, bind_rows<ffi::F32>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(Rows64, sum_rows<ffi::F64>, bind_rows<ffi::F64>());
