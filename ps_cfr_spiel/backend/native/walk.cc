// A player's decisions as one walk, a custom call of XLA; player_passes.py says what goes in and out. At the end of the
// file another, sums of long rows, for public_tree.py.
//
// XLA makes some kernels of each level and number of actions; here each pass is two loops over rows. Rows come
// level by level, so what a row needs of those above it is there before it on the way down, and what it needs of
// those below it on the way up.

#include <cstring>

#include "walk.h"

namespace {

// Reach of the leaves' parts, from that of all sequences.
template <typename T>
void reach_leaves(const Walk<T>& walk, const T* reach) {
  const int32_t* above = walk.above + walk.rows();
  for (auto [to, size] : walk.leaves) {
    for (const T* end = to + size * walk.width; to < end; to += walk.width) {
      const T* from = reach + *above++ * walk.width;
      for (int64_t h = 0; h < walk.width; ++h) to[h] = from[h];
    }
  }
}

// What a row is worth: the mean of its actions under the tables, or without tables the best of them.
template <typename T>
struct Worth {
  const Walk<T>& walk;

  INLINE void operator()(const Block& b, int64_t cell, int64_t count, const T* values, T* __restrict sum) const {
    const int64_t next = b.height * walk.width;
    const T* from = values + b.first * walk.width + cell;
    if (!walk.tables.empty()) {
      mean(b.actions, count, walk.tables[b.table] + b.row * walk.width + cell, next, from, next, sum);
      return;
    }
    best(b.actions, count, from, next, sum);
  }
};

FOR_EACH_PROCESSOR void down(const Walk<float>& walk, float* reach) { go_down_by_width(walk, reach); }
FOR_EACH_PROCESSOR void down(const Walk<double>& walk, double* reach) { go_down_by_width(walk, reach); }

FOR_EACH_PROCESSOR void up(const Walk<float>& walk, float* values, float* sum) {
  const Worth<float> worth{walk};
  walk.width == 1 ? go_up<float, 1>(walk, worth, values, sum) : go_up<float, 0>(walk, worth, values, sum);
}

FOR_EACH_PROCESSOR void up(const Walk<double>& walk, double* values, double* sum) {
  const Worth<double> worth{walk};
  walk.width == 1 ? go_up<double, 1>(walk, worth, values, sum) : go_up<double, 0>(walk, worth, values, sum);
}

// Down the strategy's tables: reach of the sequences, then of the leaves' parts.
template <ffi::DataType type>
void walk_down(Call<type>& call) {
  auto& tables = call.walk.tables;
  auto& leaves = call.walk.leaves;
  call.each(call.given, 0, call.given.size(), [&](auto* table, int64_t) { tables.push_back(table); });
  call.each(call.returned, 0, call.returned.size(), [&](auto* part, int64_t n) { leaves.push_back({part, n}); });
  if (!call.error.success()) return;
  if (call.walk.large()) {
    Team team(cores());
    down_large(team, call.walk, call.sequences, [](const auto*, int64_t) {});
  } else {
    down(call.walk, call.sequences);
  }
  reach_leaves(call.walk, call.sequences);
}

// Up from the leaves' parts, which come after the tables: values of the sequences.
template <ffi::DataType type>
void walk_up(Call<type>& call) {
  auto& tables = call.walk.tables;
  auto& leaves = call.walk.leaves;
  call.each(call.given, 0, call.tables, [&](auto* table, int64_t) { tables.push_back(table); });
  call.each(call.given, call.tables, call.given.size(), [&](auto* part, int64_t n) { leaves.push_back({part, n}); });
  if (call.error.success()) up(call.walk, call.sequences, kept_room<ffi::NativeType<type>>(call.walk.summed_cells()));
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

XLA_FFI_DEFINE_HANDLER_SYMBOL(WalkDown32, (Guarded<on_points<ffi::F32, walk_down>>::call), bind<ffi::F32>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(WalkDown64, (Guarded<on_points<ffi::F64, walk_down>>::call), bind<ffi::F64>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(WalkUp32, (Guarded<on_points<ffi::F32, walk_up>>::call), bind<ffi::F32>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(WalkUp64, (Guarded<on_points<ffi::F64, walk_up>>::call), bind<ffi::F64>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(Rows32, Guarded<sum_rows<ffi::F32>>::call, bind_rows<ffi::F32>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(Rows64, Guarded<sum_rows<ffi::F64>>::call, bind_rows<ffi::F64>());
