// What samplers share: the random numbers of jax.random, regret matching, and draws from a policy.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>

#include "native.h"

namespace {

constexpr int kLanes = 16;  // random numbers made together
typedef uint32_t Lanes __attribute__((vector_size(4 * kLanes)));

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

// Zeros, whose pages the system provides when they are first touched.
template <typename T>
using Zeros = std::unique_ptr<T[], Free>;

template <typename T>
Zeros<T> zeros(int64_t size) {
  return Zeros<T>(static_cast<T*>(std::calloc(std::max<int64_t>(size, 1), sizeof(T))));
}

// `averages.weight`.
template <typename T>
T weight(int64_t t, T gamma) {
  int64_t power = 1;
  while (2 * power <= t) power *= 2;
  return gamma ? std::pow(T(t) / T(power), gamma) : T(1);
}

inline float unit(uint32_t high, uint32_t low, float) {
  const uint32_t bits = (high ^ low) >> 9 | 0x3F800000u;
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x - 1;
}

inline double unit(uint32_t high, uint32_t low, double) {
  const uint64_t bits = (uint64_t(high) << 32 | low) >> 12 | 0x3FF0000000000000u;
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x - 1;
}

// Threefry-2x32 of 20 rounds (Salmon et al. 2011) at kLanes counters, `step` apart: `jax.random.uniform`, partitionable.
template <typename T>
INLINE void threefry(uint32_t first_key, uint32_t second_key, uint64_t counter, uint64_t step, T* __restrict out) {
  constexpr int kTurns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t keys[3] = {first_key, second_key, first_key ^ second_key ^ 0x1BD11BDAu};
  Lanes x, y;
  for (int k = 0; k < kLanes; ++k) {
    const uint64_t here = counter + k * step;
    x[k] = uint32_t(here >> 32) + keys[0];
    y[k] = uint32_t(here) + keys[1];
  }
#pragma GCC unroll 5
  for (uint32_t group = 0; group < 5; ++group) {
    for (int turn : kTurns[group % 2]) {
      x += y;
      y = (y << turn | y >> (32 - turn)) ^ x;
    }
    x += keys[(group + 1) % 3];
    y += keys[(group + 2) % 3] + group + 1;
  }
  for (int k = 0; k < kLanes; ++k) out[k] = unit(x[k], y[k], T());
}

FOR_EACH_PROCESSOR void uniform(const uint32_t* key, uint64_t counter, uint64_t step, float* out) {
  threefry(key[0], key[1], counter, step, out);
}

FOR_EACH_PROCESSOR void uniform(const uint32_t* key, uint64_t counter, uint64_t step, double* out) {
  threefry(key[0], key[1], counter, step, out);
}

// The uniform numbers [draws] of one trajectory, a column of an array [turns, draws, batch].
template <typename T>
class Uniforms {
 public:
  Uniforms(const uint32_t* key, int64_t draws, int64_t batch)
      : key_(key), draws_(draws), batch_(batch), numbers_((draws / kLanes + 1) * kLanes), made_(draws / kLanes + 1, -1) {}

  void use(const uint32_t* key) {
    key_ = key;
    std::fill(made_.begin(), made_.end(), -1);
  }
  void begin(int64_t turn, int64_t trajectory) {
    own_ = turn * draws_ * batch_ + trajectory;
  }

  T operator[](int64_t draw) {
    const int64_t group = draw / kLanes;
    if (made_[group] != own_) {
      made_[group] = own_;
      uniform(key_, own_ + group * kLanes * batch_, batch_, &numbers_[group * kLanes]);
    }
    return numbers_[draw];
  }

 private:
  const uint32_t* key_;
  int64_t draws_, batch_, own_ = -1;
  std::vector<T> numbers_;
  std::vector<int64_t> made_;  // by group, the trajectory whose numbers it holds
};

// `columns.regret_matching` of the regrets of `count` actions, `step` apart.
template <typename T>
INLINE void regret_matching(const T* regrets, int64_t step, int64_t count, T* __restrict p) {
  T total = 0;
  for (int64_t a = 0; a < count; ++a) total += p[a] = above(regrets[a * step], T(0));
  if (total < std::numeric_limits<T>::min()) {
    std::fill_n(p, count, T(1) / count);
  } else if (!(total <= std::numeric_limits<T>::max())) {  // a run is watched for NaN, and ends there
    std::fill_n(p, count, std::numeric_limits<T>::quiet_NaN());
  } else {
    const T scale = 1 / total;
    for (int64_t a = 0; a < count; ++a) p[a] *= scale;
  }
}

// A move by the probabilities xi(a); those of probability 0 are not chosen.
template <typename T, typename Probability>
INLINE int64_t sample(int64_t count, T u, const Probability& xi) {
  T total = 0, passed = 0;
  for (int64_t a = 0; a < count; ++a) total += xi(a);
  const T height = u * total;
  int64_t a = 0;
  for (; a < count - 1; ++a) {
    passed += xi(a);
    if (!(height >= passed)) break;
  }
  return a;
}

}  // namespace
