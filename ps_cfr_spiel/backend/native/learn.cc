// A player's turn in one pass, a custom call of XLA; player_passes.py says what goes in and out: values up, and while a row's
// are in the cache its regrets, the rule, the next strategy, and the sum of the average.
//
// XLA goes through memory several times for this: values, regrets, each step of a rule. The rules are in
// learn.h.

#include <cstring>

#include "learn.h"
#include "walk.h"

namespace {

constexpr int64_t AHEAD = 8;  // items for which numbers that lie apart are asked before they are read

// The tables of a player: for each number of actions the strategy and the rule's arrays; the average in a column.
template <typename T>
struct Tables {
  T* const* arrays;
  int64_t each;  // 1 and the rule's one or two
  T* compensation;
  const T* reach;  // null if what it adds to the average is there already
  T share;         // of this iteration in the average
  T* average = nullptr;  // what the compensation is carried over into, unless it is the whole sum
};

template <typename T>
INLINE void add_reach(T* compensation, const T* reach, int64_t count, T share) {
  for (int64_t h = 0; h < count; ++h) compensation[h] -= share * reach[h];
}

template <typename T, typename Rule>
struct Learn {
  const Walk<T>& walk;
  const Tables<T>& tables;
  const Rule& rule;

  // Asks for cells before they are read: in each strip a processor foresees too few of the arrays.
  INLINE void expect(const Block& b, int64_t cell, int64_t count, const T* values) const {
    const int64_t width = walk.width, next = b.height * width, here = b.row * width + cell;
    const int64_t column = (b.first - walk.roots) * width + cell;
    T* const* own = tables.arrays + b.table * tables.each;
    for (int64_t a = 0; a < b.actions; ++a) {
      fetch(values + b.first * width + cell + a * next, count);
      if (tables.reach) fetch(tables.reach + column + a * next, count);
      if (tables.reach) fetch(tables.compensation + column + a * next, count);
      if (b.actions > 1) fetch(own[0] + here + a * next, count);
      if (b.actions > 1) fetch(own[1] + here + a * next, count);
    }
    for (int64_t k = 0; b.actions > 1 && tables.each > 2 && k < 3; ++k) fetch(own[2] + here + k * next, count);
  }

  INLINE void operator()(const Block& b, int64_t cell, int64_t count, const T* values, T* __restrict sum) const {
    const int64_t width = walk.width, next = b.height * width, here = b.row * width + cell;
    const int64_t column = (b.first - walk.roots) * width + cell;
    T* const* own = tables.arrays + b.table * tables.each;
    const Cells<T> c{b.actions, count, next, next, values + b.first * width + cell, sum, own[0] + here,
                     own[1] + here, tables.each > 2 ? own[2] + here : nullptr};
    if (c.actions == 1) std::copy_n(c.value, count, sum);
    else mean(c.actions, count, c.strategy, next, c.value, next, sum);
    for (int64_t a = 0; tables.reach && a < c.actions; ++a) {
      add_reach(tables.compensation + column + a * next, tables.reach + column + a * next, count, tables.share);
    }
    if (c.actions > 1) {  // one action has no regret, and is played
      T total[STRIP];
      rule(c, total);
      c.normalise(total);
    }
    walk.floor(b).value(c.actions, count, c.value, next, sum);  // the rule has read the worth of its own
  }
};

template <typename T, typename Rule>
INLINE void go_up_by(const Walk<T>& walk, const Tables<T>& tables, const Rule& rule, T* values, T* sum) {
  const Learn<T, Rule> learn{walk, tables, rule};
  walk.width == 1 ? go_up<T, 1>(walk, learn, values, sum) : go_up<T, 0>(walk, learn, values, sum);
}

// Cells [from, to) of a block; `sum` is of all its cells.
template <typename T>
INLINE void turn_rows(const Walk<T>& walk, const Tables<T>& tables, int64_t rule, const T* x, const Block& b,
                      int64_t from, int64_t to, const T* values, T* sum) {
  by_rule(rule, x, [&](const auto& by) INLINE_LAMBDA {
    const Learn<T, std::decay_t<decltype(by)>> learn{walk, tables, by};
    for (; from < to; from += STRIP) {
      if (from + STRIP < to) learn.expect(b, from + STRIP, std::min(STRIP, to - from - STRIP), values);
      learn(b, from, std::min(STRIP, to - from), values, sum + from);
    }
  });
}

template <typename T>
INLINE void turn(const Walk<T>& walk, const Tables<T>& tables, int64_t rule, const T* x, T* values, T* sum) {
  by_rule(rule, x, [&](const auto& by) INLINE_LAMBDA { go_up_by(walk, tables, by, values, sum); });
}

FOR_EACH_PROCESSOR void learn(const Walk<float>& walk, const Tables<float>& tables, int64_t rule, const float* x,
                              float* values, float* sum) {
  turn(walk, tables, rule, x, values, sum);
}

FOR_EACH_PROCESSOR void learn(const Walk<double>& walk, const Tables<double>& tables, int64_t rule, const double* x,
                              double* values, double* sum) {
  turn(walk, tables, rule, x, values, sum);
}

FOR_EACH_PROCESSOR void learn_rows(const Walk<float>& walk, const Tables<float>& tables, int64_t rule, const float* x,
                                   const Block& b, int64_t from, int64_t to, const float* values, float* sum) {
  turn_rows(walk, tables, rule, x, b, from, to, values, sum);
}

FOR_EACH_PROCESSOR void learn_rows(const Walk<double>& walk, const Tables<double>& tables, int64_t rule, const double* x,
                                   const Block& b, int64_t from, int64_t to, const double* values, double* sum) {
  turn_rows(walk, tables, rule, x, b, from, to, values, sum);
}

// The turn in threads, from the values of the leaves' sequences on: a block's rows go up together, in their order.
template <typename T>
void learn_large(Team& team, const Walk<T>& walk, const Tables<T>& tables, int64_t rule, const T* x, T* values,
                 Scratch<T>& sum) {
  int64_t item = walk.rows();
  for (const Block* b = walk.blocks + walk.count; b-- > walk.blocks;) {
    const int64_t cells = b->rows * walk.width;
    in_pieces(team, cells, [&](int64_t from, int64_t to) {
      learn_rows(walk, tables, rule, x, *b, from, to, values, sum.data());
    });
    item -= b->rows;
    for (int64_t r = 0; r < b->rows; ++r) {
      if (!walk.start && r + AHEAD < b->rows) fetch(values + walk.above[item + r + AHEAD] * walk.width, walk.width);
      const T* from = sum.data() + r * walk.width;
      walk.width == 1 ? push<T, 1>(walk, item + r, from, values) : push<T, 0>(walk, item + r, from, values);
    }
  }
}

// An iteration's numbers: the share, c / t of the strategies before it and after it, and from here on the rule's.
constexpr int64_t BEFORE_RULE = 3;

// Given: the numbers; the strategy's and the rule's tables and the compensation, all of which come back changed; the
// reach, and the leaves' parts.
template <ffi::DataType type>
void walk_learn(Call<type>& call) {
  using T = ffi::NativeType<type>;
  const int64_t all = call.returned.size(), each = call.tables ? (all - 1) / call.tables : 0;
  const T *numbers = nullptr, *reach = nullptr;
  std::vector<T*> before, after;
  call.each(call.given, 0, 1, [&](T* array, int64_t) { numbers = array; });
  call.each(call.given, 1, 1 + all, [&](T* table, int64_t) { before.push_back(table); });
  call.each(call.given, 1 + all, 2 + all, [&](T* column, int64_t) { reach = column; });
  call.each(call.given, 2 + all, call.given.size(),
            [&](T* part, int64_t n) { call.walk.leaves.push_back({part, n}); });
  call.each(call.returned, 0, all, [&](T* table, int64_t) { after.push_back(table); });
  if (!call.error.success()) return;
  for (int64_t k = 0; k < all; ++k) {
    if (before[k] == after[k]) continue;  // XLA gave us the place itself
    auto array = *call.returned.template get<ffi::Buffer<type>>(k);
    std::copy_n(before[k], array->element_count() / call.batch.points, after[k]);
  }
  const Tables<T> tables{after.data(), each, after.back(), reach, numbers[0]};
  call.walk.tremble = numbers[1];
  numbers += BEFORE_RULE;
  if (!call.walk.large()) {
    return learn(call.walk, tables, call.rule, numbers, call.sequences, kept_room<T>(call.walk.summed_cells()));
  }
  push_leaves<T, 0>(call.walk, call.sequences);
  Scratch<T> sum;
  sum.resize(call.walk.most_cells());
  Team team(cores());
  learn_large(team, call.walk, tables, call.rule, numbers, call.sequences, sum);
}

// A player in a game whose leaves have matrices of payoffs.
template <typename T>
struct Seat {
  Walk<T> walk;       // its leaves: `paid`
  Tables<T> tables;
  int64_t count;      // of leaves
  int64_t others;     // the opponent's types
  const T* matrix;    // [matrices, types of the opponent, own types]
  // Of each leaf its matrix, by which factor it counts; else null, and leaf k has matrix k.
  const int32_t* number;
  const T* factor;
  std::vector<T> padded;  // the matrices with `stride` own types, if leaves share them
  int64_t stride;
  Scratch<T> reach, values, paid, sum;
  // Of a large game whose leaves are in the order of own sequences: where those below each sequence begin, and the
  // opponent's sequence above each; else null. Without types the leaves come in runs, of one factor each: `start` and
  // `factor` are of runs, and `number` says where each begins.
  const int32_t *start, *other;
  // Own sequences in groups: where the own ones and the opponent's of each begin, and their numbers. `start` is then of
  // own ones in this order, and `places` is in place of `other`: the opponent's place in the group.
  int64_t groups;
  const int32_t (*group)[2];
  const int32_t *members, *opponents;
  const uint16_t* places;

  bool single() const { return walk.width == 1 && others == 1; }
};

constexpr int64_t LANES = 16;  // own types that are paid at a time

// As one vector, for GCC takes a loop over an array of this length apart, into single numbers.
template <typename T>
struct Lanes {
  typedef T type __attribute__((vector_size(LANES * sizeof(T))));
};

// Of some own types from `s` on what leaf k pays by the opponent's reach, where leaves share matrices.
template <typename T>
INLINE typename Lanes<T>::type leaf_pays(const Seat<T>& own, const T* reach, int64_t k, int64_t s) {
  const T* matrix = own.padded.data() + own.number[k] * own.others * own.stride + s;
  typename Lanes<T>::type total = {}, row;
  for (int64_t g = 0; g < own.others; ++g) {
    std::memcpy(&row, matrix + g * own.stride, sizeof row);
    total += reach[g] * row;
  }
  return total * own.factor[k];
}

// What leaves [k, end) pay, by the opponent's sequence above each. `space`: numbers from `to` on that may be overwritten.
template <typename T>
INLINE void pay_leaves(const Seat<T>& own, const T* reach, const int32_t* above, int64_t k, int64_t end, int64_t space,
                       T* __restrict to) {
  const int64_t width = own.walk.width;
  for (int64_t s = 0; s < width; s += LANES) {
    typename Lanes<T>::type sum = {};
    for (int64_t leaf = k; leaf < end; ++leaf) sum += leaf_pays(own, reach + above[leaf] * own.others, leaf, s);
    if (s + LANES <= space) std::memcpy(to + s, &sum, sizeof sum);
    else std::memcpy(to + s, &sum, sizeof(T) * std::min(LANES, width - s));
  }
}

// The opponent's reach of a run of leaves, in several sums: one would wait for each addition before the next.
template <typename T, typename Number>
INLINE T sum_of(const Seat<T>& own, const T* reach, const Number* others, int32_t run) {
  constexpr int64_t sums = 4;
  T sum[sums] = {};
  const Number *other = others + own.number[run], *end = others + own.number[run + 1];
  for (; end - other >= sums; other += sums) {
    for (int64_t j = 0; j < sums; ++j) sum[j] += reach[other[j]];
  }
  for (; other < end; ++other) sum[0] += reach[*other];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// What the leaves below the k-th sequence in order pay, in runs.
template <typename T, typename Number>
INLINE T pay_runs(const Seat<T>& own, const T* reach, const Number* others, int64_t k) {
  T sum = 0;
  for (int32_t run = own.start[k]; run < own.start[k + 1]; ++run) sum += own.factor[run] * sum_of(own, reach, others, run);
  return sum;
}

// The same of a group of sequences, which meet few of the opponent's: their reach is copied, so that it is in the cache.
template <typename T>
INLINE void pay_group(Seat<T>& own, const Seat<T>& opponent, int64_t k, T* __restrict reach) {
  const int32_t *begin = own.group[k], *end = own.group[k + 1];
  for (int32_t j = begin[1]; j < end[1]; ++j) reach[j - begin[1]] = opponent.reach.data()[own.opponents[j]];
  for (int32_t j = begin[0]; j < end[0]; ++j) own.values.data()[own.members[j]] = pay_runs(own, reach, own.places, j);
}

// What the leaves below sequences [from, to) of a player pay in a large game.
template <typename T>
INLINE void pay_in_order(Seat<T>& own, const Seat<T>& opponent, int64_t from, int64_t to) {
  const T* reach = opponent.reach.data();
  const int64_t width = own.walk.width;
  const int32_t last = own.start[to];
  for (; from < to; ++from) {
    const int32_t end = own.start[from + 1];
    if (own.single()) {
      own.values.data()[from] = pay_runs(own, reach, own.other, from);
      continue;
    }
    for (int32_t k = own.start[from] + AHEAD; k < std::min<int32_t>(end + AHEAD, last); ++k) {
      fetch(reach + own.other[k] * own.others, own.others);
    }
    pay_leaves(own, reach, own.other, own.start[from], end, (to - from) * width, own.values.data() + from * width);
  }
}

// What leaves [from, to) pay to a player. W: the own width, O: the opponent's, 0 if it is not known here.
template <typename T, int W, int O>
INLINE void pay(Seat<T>& own, const Seat<T>& opponent, int64_t from, int64_t end) {
  const int64_t width = W ? W : own.walk.width, others = O ? O : opponent.walk.width;
  const int32_t* above = opponent.walk.above + opponent.walk.rows();
  const T* payoff = own.matrix + from * others * width;
  T* __restrict to = own.paid.data() + from * width;
  for (int64_t k = from; k < end; ++k, to += width) {
    const T* reach = opponent.reach.data() + above[k] * others;
    T sum[W ? W : 1];
    T* __restrict total = W ? sum : to;
    for (int64_t h = 0; h < width; ++h) total[h] = T(0);
    for (int64_t g = 0; g < others; ++g, payoff += width) {
      for (int64_t h = 0; h < width; ++h) total[h] += reach[g] * payoff[h];
    }
    for (int64_t h = 0; W && h < width; ++h) to[h] = total[h];
  }
}

template <typename T>
INLINE void carry_cells(const Tables<T>& own, int64_t from, int64_t to, T scale) {
  if (own.average) return carry_over(own.average + from, own.compensation + from, to - from, scale);
  for (int64_t cell = from; cell < to; ++cell) own.compensation[cell] *= scale;
}

template <typename T>
INLINE void pay_by_width(Seat<T>& own, const Seat<T>& opponent, int64_t from, int64_t to) {
  if (own.start) return pay_in_order(own, opponent, from, to);
  if (own.number) {
    const int32_t* above = opponent.walk.above + opponent.walk.rows();
    const int64_t width = own.walk.width;
    for (; from < to; ++from) {
      pay_leaves(own, opponent.reach.data(), above, from, from + 1, (to - from) * width, own.paid.data() + from * width);
    }
    return;
  }
  by_width(own.walk.width, [&](auto w) INLINE_LAMBDA {
    constexpr int W = decltype(w)::value;
    opponent.walk.width == W ? pay<T, W, W>(own, opponent, from, to) : pay<T, W, 0>(own, opponent, from, to);
  });
}

FOR_EACH_PROCESSOR void paid(Seat<float>& own, const Seat<float>& opponent, int64_t from, int64_t to) {
  pay_by_width(own, opponent, from, to);
}
FOR_EACH_PROCESSOR void paid(Seat<double>& own, const Seat<double>& opponent, int64_t from, int64_t to) {
  pay_by_width(own, opponent, from, to);
}
FOR_EACH_PROCESSOR void paid_group(Seat<float>& own, const Seat<float>& opponent, int64_t k, float* reach) {
  pay_group(own, opponent, k, reach);
}
FOR_EACH_PROCESSOR void paid_group(Seat<double>& own, const Seat<double>& opponent, int64_t k, double* reach) {
  pay_group(own, opponent, k, reach);
}
FOR_EACH_PROCESSOR void carried(const Tables<float>& own, int64_t from, int64_t to, float scale) {
  carry_cells(own, from, to, scale);
}
FOR_EACH_PROCESSOR void carried(const Tables<double>& own, int64_t from, int64_t to, double scale) {
  carry_cells(own, from, to, scale);
}
FOR_EACH_PROCESSOR void added(float* compensation, const float* reach, int64_t count, float share) {
  add_reach(compensation, reach, count, share);
}
FOR_EACH_PROCESSOR void added(double* compensation, const double* reach, int64_t count, double share) {
  add_reach(compensation, reach, count, share);
}
FOR_EACH_PROCESSOR void down(Seat<float>& own) { go_down_by_width(own.walk, own.reach.data()); }
FOR_EACH_PROCESSOR void down(Seat<double>& own) { go_down_by_width(own.walk, own.reach.data()); }

// Of each iteration whether averages are carried over, and their factor; a threshold and a weight that are not for these
// tables; and then as in a turn.
constexpr int64_t BEFORE_TURN = 4;

// Iterations of both players; of the numbers each iteration has `each`.
template <typename T>
void iterate(Seat<T>* seats, int64_t count, int64_t rule, bool alternating, const T* numbers, int64_t each) {
  const bool large = seats[0].start || seats[0].walk.large() || seats[1].walk.large();
  Team team(large ? cores() : 1);
  const auto pay_all = [&](Seat<T>& own, const Seat<T>& opponent) {
    const int64_t items = own.start ? own.walk.sequences : own.count;
    if (!large) return paid(own, opponent, 0, items);
    if (own.groups) {
      std::fill_n(own.values.data(), own.walk.sequences, T(0));  // of those that no leaf is below
      return share_out(team, own.groups, [&](int64_t k) {
        paid_group(own, opponent, k, kept_room<T>(own.group[k + 1][1] - own.group[k][1]));
      });
    }
    in_pieces(team, items, [&](int64_t from, int64_t to) { paid(own, opponent, from, to); });
    if (!own.start) push_leaves<T, 0>(own.walk, own.values.data());
  };
  const auto carry = [&](const Seat<T>& own, T scale) {
    const int64_t cells = (own.walk.sequences - own.walk.roots) * own.walk.width;
    if (!large) return carried(own.tables, 0, cells, scale);
    in_pieces(team, cells, [&](int64_t from, int64_t to) { carried(own.tables, from, to, scale); });
  };
  // Before the iteration whose numbers begin at `all`, if there is one. Large tables get what its reach adds to the
  // average while it is in the cache.
  const T* end = numbers + count * each;
  const auto go_down = [&](Seat<T>& own, T tremble, const T* all) {
    own.walk.tremble = tremble;
    const bool follows = all < end;
    if (follows && all[0] != 0) carry(own, all[1]);
    if (!large) return down(own);
    const T* column = own.reach.data() + own.walk.roots * own.walk.width;
    down_large(team, own.walk, own.reach.data(), [&](const T* reach, int64_t size) {
      if (follows) added(own.tables.compensation + (reach - column), reach, size, all[BEFORE_TURN]);
    });
  };
  for (int i : {0, 1}) go_down(seats[i], numbers[BEFORE_TURN + 1], numbers);
  for (const T* all = numbers; all < end; all += each) {
    const T* numbers = all + BEFORE_TURN;
    for (int first = 0, last; first < 2; first = last + 1) {
      last = alternating ? first : 1;  // where both learn at once they answer the same reach
      for (int i = first; i <= last; ++i) pay_all(seats[i], seats[1 - i]);
      for (int i = first; i <= last; ++i) {
        seats[i].tables.share = numbers[0];
        if (large) seats[i].tables.reach = nullptr;
        const T* x = numbers + BEFORE_RULE;
        large ? learn_large(team, seats[i].walk, seats[i].tables, rule, x, seats[i].values.data(), seats[i].sum)
              : learn(seats[i].walk, seats[i].tables, rule, x, seats[i].values.data(), seats[i].sum.data());
      }
      const bool done = all + each == end && last == 1;  // no player answers this reach
      for (int i = first; i <= last && !done; ++i) go_down(seats[i], numbers[2], all + each);
    }
  }
}

// Given: both players' forests and the order and groups of their leaves, the number of iterations, the numbers of each,
// of both players' payoffs the matrices, the number of each leaf's and the factors, and both players' tables, which come
// back changed. `first`: number of tables of player 0, of both forests' roots and of buckets; `pair`: whether the
// average is one of them, before its compensation.
template <ffi::DataType type>
ffi::Error iterations(ffi::RemainingArgs given, ffi::RemainingRets returned, int64_t first, int64_t roots0,
                      int64_t roots1, int64_t buckets0, int64_t buckets1, int64_t pair, int64_t rule,
                      int64_t alternating) {
  using T = ffi::NativeType<type>;
  const int64_t all = returned.size(), forest = 11, paying = 2 * forest + 2, begin = paying + 2 * 3;
  const int64_t roots[] = {roots0, roots1}, buckets[] = {buckets0, buckets1}, ends[] = {first, all};
  const auto floats = [&](int64_t k) { return *given.get<ffi::Buffer<type>>(k); };
  const auto integers = [&](int64_t k) { return *given.get<Integers>(k); };
  const Batch batch((*returned.get<ffi::Buffer<type>>(all - 1))->dimensions());
  const size_t axes = batch.axes();
  for (int64_t point = 0; point < batch.points; ++point) {
    std::vector<T*> tables;
    for (int64_t k = 0; k < all; ++k) {
      auto before = floats(begin + k);
      auto after = *returned.get<ffi::Buffer<type>>(k);
      tables.push_back(batch.at(*after, point));
      T* from = batch.at(before, point);
      if (from != tables[k]) std::copy_n(from, after->element_count() / batch.points, tables[k]);
    }
    Seat<T> seats[2];
    for (int i = 0, start = 0; i < 2; start = ends[i++]) {
      const auto at = [&](int64_t k) {
        auto array = integers(i * forest + k);
        return std::pair<int32_t*, int64_t>(batch.at(array, point), array.dimensions()[axes]);
      };
      auto matrix = floats(paying + 3 * i), factor = floats(paying + 3 * i + 2);
      auto number = integers(paying + 3 * i + 1);
      const int64_t matrices = matrix.dimensions()[axes], factors = factor.dimensions()[axes];
      const auto shape = (*returned.get<ffi::Buffer<type>>(ends[i] - 1))->dimensions();
      const int64_t width = shape[axes + 1], sequences = roots[i] + shape[axes];
      const int64_t each = buckets[i] ? (ends[i] - 1 - pair - start) / buckets[i] : 0;
      Seat<T>& seat = seats[i];
      seat.count = factors ? factors : matrices;
      seat.others = matrix.dimensions()[axes + 1];
      seat.matrix = batch.at(matrix, point);
      seat.number = number.dimensions()[axes] ? batch.at(number, point) : nullptr;
      seat.factor = batch.at(factor, point);
      seat.stride = (width + LANES - 1) / LANES * LANES;
      if (seat.number) {
        seat.padded.assign(matrices * seat.others * seat.stride, T(0));
        for (int64_t row = 0; row < matrices * seat.others; ++row) {
          std::copy_n(seat.matrix + row * width, width, seat.padded.data() + row * seat.stride);
        }
      }
      seat.reach.resize(sequences * width);
      seat.values.resize(sequences * width);
      seat.start = at(6).second ? at(6).first : nullptr;
      seat.groups = std::max<int64_t>(at(8).second - 1, 0);
      seat.group = reinterpret_cast<const int32_t (*)[2]>(at(8).first);
      seat.members = at(9).first;
      seat.opponents = at(10).first;
      if (seat.groups) {
        auto places = *given.get<ffi::Buffer<ffi::U16>>(i * forest + 7);
        seat.places = batch.at(places, point);
      } else {
        seat.other = at(7).first;
      }
      seat.walk = {roots[i], sequences, width, at(0).second, reinterpret_cast<const Block*>(at(0).first),
                   at(1).first, at(2).second ? at(2).first : nullptr, at(3).first, at(4).first, at(5).first,
                   {}, {}};
      seat.paid.resize(seat.start ? 0 : seat.count * width);
      seat.walk.leaves = {{seat.paid.data(), seat.count}};
      seat.sum.resize(std::max(seat.walk.most_cells(), seat.walk.summed_cells()));
      for (int64_t k = 0; k < buckets[i]; ++k) seat.walk.tables.push_back(tables[start + k * each]);
      seat.tables = {tables.data() + start, each, tables[ends[i] - 1], seat.reach.data() + roots[i] * width, T(0),
                     pair ? tables[ends[i] - 2] : nullptr};
    }
    auto count = integers(2 * forest);
    auto numbers = floats(2 * forest + 1);
    iterate(seats, *batch.at(count, point), rule, alternating, batch.at(numbers, point), numbers.dimensions()[axes + 1]);
  }
  return ffi::Error::Success();
}

template <ffi::DataType type>
auto bind_play() {
  return ffi::Ffi::Bind().RemainingArgs().RemainingRets().template Attr<int64_t>("first")
      .template Attr<int64_t>("roots0").template Attr<int64_t>("roots1").template Attr<int64_t>("buckets0")
      .template Attr<int64_t>("buckets1").template Attr<int64_t>("pair").template Attr<int64_t>("rule")
      .template Attr<int64_t>("alternating");
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(Iterations32, Guarded<iterations<ffi::F32>>::call, bind_play<ffi::F32>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(Iterations64, Guarded<iterations<ffi::F64>>::call, bind_play<ffi::F64>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(WalkLearn32, (Guarded<on_points<ffi::F32, walk_learn>>::call), bind<ffi::F32>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(WalkLearn64, (Guarded<on_points<ffi::F64, walk_learn>>::call), bind<ffi::F64>());
