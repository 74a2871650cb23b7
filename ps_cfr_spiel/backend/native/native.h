// What the files of the native library share: one binary for all processors, failures in words, and axes in front.
//
// Whoever changes the arguments, the results or the meaning of a function raises INTERFACE here and in kernels.py:
// library.py then refuses a library built before.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <utility>
#include <vector>

#include "scratch.h"
#include "threads.h"
#include "xla/ffi/api/ffi.h"

// One binary for all processors: functions with this mark are compiled for several, chosen when it is loaded. GCC takes
// calls of them for calls that never throw, and catches nothing there, so they allocate nothing: callers give them room.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && __GNUC__ >= 12
#define FOR_EACH_PROCESSOR __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define FOR_EACH_PROCESSOR
#endif
#define INLINE inline __attribute__((always_inline))  // so that what they call is compiled with them
#define INLINE_LAMBDA __attribute__((always_inline))

namespace {

namespace ffi = xla::ffi;

constexpr int64_t INTERFACE = 10;

constexpr char NO_MEMORY[] = "the system has too little memory left for this call";

// What a function that ctypes calls by name returns: null, or a failure in words, for nothing may be thrown through
// ctypes. The words stay until the thread's next failure.
template <typename Work>
const char* in_words(const Work& work) noexcept {
  try {
    work();
    return nullptr;
  } catch (const std::bad_alloc&) {
    return NO_MEMORY;
  } catch (const std::exception& failure) {
    thread_local char words[1000];
    std::strncpy(words, failure.what(), sizeof words - 1);
    return words;
  }
}

// A handler whose failure is an error of its call: nothing may be thrown through XLA.
template <auto handler>
struct Guarded;
template <typename... Arguments, ffi::Error (*handler)(Arguments...)>
struct Guarded<handler> {
  static ffi::Error call(Arguments... arguments) {
    try {
      return handler(std::move(arguments)...);
    } catch (const std::bad_alloc&) {
      return ffi::Error(ffi::ErrorCode::kResourceExhausted, NO_MEMORY);
    } catch (const std::exception& failure) {
      return ffi::Error(ffi::ErrorCode::kInternal, failure.what());
    }
  }
};

// Asks for numbers before they are read or changed.
template <typename T>
INLINE void fetch(const T* from, int64_t count) {
  for (int64_t k = 0; k < count; k += 64 / static_cast<int64_t>(sizeof(T))) __builtin_prefetch(from + k);
  __builtin_prefetch(from + count - 1);
}

constexpr int64_t MANY = 1 << 20;  // numbers from which on threads share the work

// NaN stays NaN, as in jnp.maximum and jnp.minimum.
template <typename T>
INLINE T above(T x, T least) {
  return x < least ? least : x;
}

template <typename T>
INLINE T below(T x, T most) {
  return x > most ? most : x;
}

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
