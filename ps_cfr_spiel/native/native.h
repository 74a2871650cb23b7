// What the files of the native library share: one binary for all processors, and axes in front.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "xla/ffi/api/ffi.h"

// One binary for all processors: functions with this mark are compiled for several, chosen when it is loaded.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && __GNUC__ >= 12
#define FOR_EACH_PROCESSOR __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define FOR_EACH_PROCESSOR
#endif
#define INLINE inline __attribute__((always_inline))  // so that what they call is compiled with them
#define INLINE_LAMBDA __attribute__((always_inline))

namespace {

namespace ffi = xla::ffi;

// The axes in front of a result's last two: a call is as many calls as they have points.
struct Batch {
  std::vector<int64_t> sizes;
  int64_t points = 1;

  template <typename Shape>
  explicit Batch(const Shape& shape) : sizes(shape.begin(), shape.end() - 2) {
    for (int64_t size : sizes) points *= size;
  }
  size_t axes() const { return sizes.size(); }
  // Where an array begins at one point. Axes of length 1: it is shared by all points.
  template <typename Buffer>
  auto* at(Buffer& buffer, int64_t point) const {
    const auto has = buffer.dimensions();
    int64_t stride = 1, offset = 0;
    for (size_t axis = has.size(); axis-- > 0;) {
      if (axis < axes()) {
        if (has[axis] != 1) offset += stride * (point % sizes[axis]);
        point /= sizes[axis];
      }
      stride *= has[axis];
    }
    return buffer.typed_data() + offset;
  }
};

}  // namespace
