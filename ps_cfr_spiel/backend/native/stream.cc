// Card games board by board, custom calls of XLA; streaming.py makes them, and board_layout.py says what goes in.
//
// A *unit* is a board with the rows and leaves that are dealt there: the trunk, each board of the next street,
// each board below. Of a river too large for the cache, units are parts of its betting, of which the first is the trunk.
// A walk opens a unit, where both players' reach comes down its rows, then all units below it, and closes it: its leaves
// pay, and values go up through its rows and into those of the units above. So reach and values exist for one unit of
// each depth at a time, in a stack, and stay in the cache; tables are read and written once. Units just below the trunk
// are shared out over threads, with all below them. Each adds to a trunk of its own; these are summed in the order of
// units, so that numbers do not depend on the number of threads. A trunk is used again once it is summed (`in_order`):
// one for each board would be a tenth of the memory of a flop.
//
// An all-in with cards to come is a showdown on each last board below; a row without a table passes its reach on.

#include "learn.h"
#include "sweep.h"

namespace {

struct Unit {
  int32_t depth, street, board;
  int32_t rows[2], showdowns, folds;  // the first of each; the next unit's are the ends
};
struct Row {
  int32_t table, row, above, first;  // addresses in the stack, of the sequence above and of the first action
};
struct Bucket {
  int32_t actions, height, column;  // its first sequence in the average's column
};
static_assert(sizeof(Unit) == 28 && sizeof(Row) == 16 && sizeof(Bucket) == 12, "lines of int32 arrays");

// A player's rows, leaves and tables. Items are all rows, then all leaves.
template <typename T>
struct Seat {
  int64_t width, trunk, stack, count, actions;  // of the addresses the trunk's, and all; rows; most actions
  const Bucket* buckets;
  const Row* rows;
  const int32_t *leaves, *start, *parent, *swap, *columns;  // the last four: board_layout.py; no start if none folded
  const T* utility;
  int64_t settled;                // leaves of the trunk whose values no reach changes
  const int32_t* settled_at;
  const T* known;                 // these values
  std::vector<View<T>> streets;  // of the first board; others follow
  void* const* tables;           // of each bucket `each`, the strategy first, in 16 bits the average's last
  int64_t each;
  T *average, *compensation;     // no average: the compensation alone

  View<T> view(const Unit& unit) const {
    View<T> v = streets[unit.street];
    const int64_t b = unit.board, G = v.opponents, H = v.hands;
    return {G, H, v.cards, v.weight + b * G, v.scale + b * H, v.opponent_hand + b * 6 * G, v.opponent_card + b * 6 * G,
            v.hand + b * 6 * H, v.card + b * 6 * H, v.weaker + b * 6 * H, v.not_stronger + b * 6 * H, v.same + b * 6 * H};
  }
};

// Some cells of a row in the tables; actions are `next` apart.
struct Place {
  int64_t table, actions, at, next, column, count;
};

// A strategy at some cells, up to a factor if there is a total; actions are `next` apart.
template <typename T>
struct Chance {
  const T* p;
  int64_t next;
  const T* total;
};

// Tables as they are computed with.
template <typename T>
struct Whole {
  const Seat<T>& seat;
  T tremble = 0;  // of the strategies

  INLINE T* array(const Place& at, int k) const { return static_cast<T*>(seat.tables[at.table * seat.each + k]) + at.at; }
  INLINE void expect(const Place& at) const {
    for (int64_t a = 0; a < at.actions; ++a) fetch(array(at, 0) + a * at.next, at.count);
  }
  INLINE Chance<T> chance(const Place& at, T*) const { return {array(at, 0), at.next, nullptr}; }
  INLINE void open(Cells<T>& c, const Place& at, T*, T* sum) const {
    c.next = at.next;
    c.strategy = array(at, 0);
    c.first = array(at, 1);
    c.second = seat.each > 2 ? array(at, 2) : nullptr;
    mean(at.actions, at.count, c.strategy, c.next, c.value, c.apart, sum);
  }
  INLINE void close(const Cells<T>& c, const Place&, T* total) const { c.normalise(total); }
};

INLINE int32_t bits_of(float x) {
  int32_t bits;
  std::memcpy(&bits, &x, sizeof x);
  return bits;
}

INLINE float of_bits(int32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// The threshold of each infostate of a table in an iteration, by that of the first; cfr/sixteen_bits.py is the reference.
constexpr uint32_t APART = 0x85EBCA6B;
struct Apart {
  uint32_t of[STRIP];

  constexpr Apart() : of{} {
    for (uint32_t h = 0; h < STRIP; ++h) of[h] = h * APART;
  }
};
constexpr Apart IN_STRIP;
INLINE float threshold(uint32_t first, int64_t h) {
  return static_cast<float>(static_cast<int32_t>((first + IN_STRIP.of[h]) >> 8)) * 0x1p-24f;
}

constexpr float ALL = 65520;  // steps of a share of one in averages of 16 bits

// Narrow tables of `NRMPlus`, with regrets in 16 or 32 bits; its `compress` and cfr/sixteen_bits.py are the reference.
// The first table has the predictions, of which and of the regrets the strategy is made anew. In 16 bits the fourth has
// the average, `sixteen_bits.Shares`.
template <typename Regret>
struct Narrow {
  static constexpr bool small = std::is_same_v<Regret, int16_t>;
  static constexpr float faint = 0x1p-90f, unheard = 0x1p-100f, most = 32767.0f;
  const Seat<float>& seat;
  float tremble = 0;  // of the strategies

  template <typename Kept>
  INLINE Kept* array(const Place& at, int k) const {
    return static_cast<Kept*>(seat.tables[at.table * seat.each + k]) + at.at;
  }
  INLINE static float rounded(float x) { return (x + 12582912.0f) - 12582912.0f; }  // to even, up to 2^22

  // The share of a weight that a prediction takes or gives; 0 for 0.
  INLINE static float share(int8_t code) {
    const int32_t bits = static_cast<int32_t>(static_cast<uint32_t>(code) << 20 & 0x87F00000u);
    return code ? of_bits(0x3F800000 - bits) : 0.0f;
  }
  INLINE static int8_t code(float weight, float prediction) {
    const int32_t bits = bits_of(prediction), less = ((bits_of(weight) - (bits & 0x7FFFFFFF)) >> 20) + 1;
    return static_cast<int8_t>(less > 127 ? 0 : less | (bits >> 24 & 128));
  }

  INLINE void expect(const Place& at) const {
    for (int64_t a = 0; a < at.actions; ++a) {
      fetch(array<int8_t>(at, 0) + a * at.next, at.count);
      fetch(array<Regret>(at, 1) + a * at.next, at.count);
    }
  }
  // The own reach by the average below an action, from that of its row.
  INLINE void by_average(const Place& at, int64_t action, const float* from, float* __restrict to) const {
    const uint16_t* end = array<uint16_t>(at, 3) + action * at.next;
    const uint16_t *last = action + 1 < at.actions ? end : nullptr, *before = action ? end - at.next : nullptr;
    for (int64_t h = 0; h < at.count; ++h) {
      to[h] = above((last ? last[h] : ALL) - (before ? before[h] : 0.0f), 0.0f) * (1 / ALL) * from[h];
    }
  }
  // Adds `share` of the reach of actions, which are `apart`, to an average whose own reach weighs `before`; `sums` has
  // room for the additions.
  INLINE void add(const Place& at, const float* reach, int64_t apart, float share, float before, const float* average,
                  float first, float* sums) const {
    static_assert(small);
    constexpr float faintest = 0x1p-90f, less = 1 - 0x1p-21f;
    const int64_t last = at.actions - 1;
    uint16_t* codes = array<uint16_t>(at, 3);
    const uint32_t begin = (static_cast<uint32_t>(first * 0x1p24f) << 8) + static_cast<uint32_t>(at.at) * APART;
    float unit[STRIP], least[STRIP], up_to[STRIP], after[STRIP];  // additions up to an action, and after it
    for (int64_t h = 0; h < at.count; ++h) up_to[h] = after[h] = 0;
    for (int64_t a = 0; a < at.actions; ++a) {
      float* __restrict sum = sums + a * STRIP;
      const float* own = reach + a * apart;
      for (int64_t h = 0; h < at.count; ++h) sum[h] = up_to[h] += share * own[h];
    }
    for (int64_t h = 0; h < at.count; ++h) {
      unit[h] = 1 / above(less * (before * average[h] + up_to[h]), faintest);
      least[h] = threshold(begin, h) - 0.5f;
    }
    for (int64_t a = last; a-- > 0;) {
      const float *sum = sums + a * STRIP, *next = reach + (a + 1) * apart;
      uint16_t* __restrict code = codes + a * at.next;
      for (int64_t h = 0; h < at.count; ++h) {
        const float kept = code[h];
        after[h] += share * next[h];
        const float moved = ((ALL - kept) * sum[h] - kept * after[h]) * unit[h];
        const float to = below(above(kept + rounded(moved + least[h]), 0.0f), ALL);
        code[h] = static_cast<uint16_t>(static_cast<int32_t>(to));
      }
    }
  }
  INLINE Chance<float> chance(const Place& at, float* to) const {
    const int8_t* codes = array<int8_t>(at, 0);
    const Regret* z = array<Regret>(at, 1);
    float* total = to + at.actions * STRIP;
    for (int64_t h = 0; h < at.count; ++h) total[h] = 0;
    for (int64_t a = 0; a < at.actions; ++a) {
      for (int64_t h = 0; h < at.count; ++h) {
        const float own = above(float(z[a * at.next + h]), 0.0f), weight = own + own * share(codes[a * at.next + h]);
        to[a * STRIP + h] = weight;
        total[h] += weight;
      }
    }
    return {to, STRIP, total};
  }
  INLINE void open(Cells<float>& c, const Place& at, float* to, float* __restrict mean) const {
    c.next = STRIP;
    c.strategy = to;
    c.first = to + at.actions * STRIP;
    c.second = c.first + at.actions * STRIP;
    float *n = c.second, *before = n + STRIP, *agreed = before + STRIP;
    const int8_t* codes = array<int8_t>(at, 0);
    const Regret* z = array<Regret>(at, 1);
    const uint8_t* known = array<uint8_t>(at, 2);
    float unit[STRIP], total[STRIP];
    for (int64_t h = 0; h < at.count; ++h) n[h] = total[h] = mean[h] = 0;
    for (int64_t a = 0; a < at.actions; ++a) {
      for (int64_t h = 0; h < at.count; ++h) {
        const float x = z[a * at.next + h], own = above(x, 0.0f), weight = own + own * share(codes[a * at.next + h]);
        c.first[a * STRIP + h] = x;
        c.strategy[a * STRIP + h] = weight;
        n[h] += own;
        total[h] += weight;
      }
    }
    for (int64_t h = 0; h < at.count; ++h) {
      unit[h] = 1 / n[h];
      total[h] = n[h] / total[h];
      before[h] = 1;  // weights stay weights
      if (small) n[h] *= of_bits(known[at.next + h] << 23) * (1 / most);
      else n[h] = n[h] > faint ? n[h] : 0.0f;
      agreed[h] = known[h] * (1.0f / 127) - 1;
    }
    for (int64_t a = 0; a < at.actions; ++a) {
      float *x = c.first + a * STRIP, *weight = c.strategy + a * STRIP;
      for (int64_t h = 0; h < at.count; ++h) {
        x[h] *= unit[h];
        weight[h] *= unit[h];
        mean[h] += weight[h] * total[h] * c.value[a * c.apart + h];
      }
    }
  }
  INLINE void close(const Cells<float>& c, const Place& at, const float*) const {
    int8_t* codes = array<int8_t>(at, 0);
    uint8_t* known = array<uint8_t>(at, 2);
    Regret* z = array<Regret>(at, 1);
    const float *n = c.second, *agreed = n + 2 * STRIP;
    float scale[STRIP];
    for (int64_t h = 0; h < at.count; ++h) {
      if (small) {  // regrets are in units of the power of two above n
        const bool heard = !(n[h] < std::numeric_limits<float>::min());  // or NaN, which has to be seen
        const int32_t power = heard ? std::min(((bits_of(n[h]) & 0x7FFFFFFF) >> 23) + 1, 255) : 0;
        scale[h] = heard ? n[h] / of_bits(power << 23) * most : most;
        known[at.next + h] = static_cast<uint8_t>(power);
      } else {
        scale[h] = n[h] > faint ? n[h] : unheard;
      }
      known[h] = static_cast<uint8_t>(static_cast<int32_t>(rounded(agreed[h] * 127 + 127)));
    }
    for (int64_t a = 0; a < at.actions; ++a) {
      for (int64_t h = 0; h < at.count; ++h) {
        const float x = c.first[a * STRIP + h], own = above(x, 0.0f), kept = x * scale[h];
        codes[a * at.next + h] = code(own, c.strategy[a * STRIP + h] - own);
        if constexpr (small) z[a * at.next + h] = static_cast<int16_t>(static_cast<int32_t>(rounded(above(kept, -most))));
        else z[a * at.next + h] = kept;
      }
    }
  }
};

// Whether the average is kept as shares alone, which weigh by its own reach.
template <typename Kept>
constexpr bool has_shares = std::is_same_v<Kept, Narrow<int16_t>>;

// The average strategy of a run.
template <typename T>
struct Averages {
  static constexpr T tremble = 0;  // averages are of what was played
  const Seat<T>& seat;

  INLINE void expect(const Place& at) const {
    for (int64_t a = 0; a < at.actions; ++a) {
      fetch(seat.compensation + at.column + a * at.next, at.count);
      if (seat.average) fetch(seat.average + at.column + a * at.next, at.count);
    }
  }

  INLINE Chance<T> chance(const Place& at, T* to) const {
    T total[STRIP];
    for (int64_t h = 0; h < at.count; ++h) total[h] = 0;
    for (int64_t a = 0; a < at.actions; ++a) {
      const T* compensation = seat.compensation + at.column + a * at.next;
      const T* average = seat.average + at.column + a * at.next;
      for (int64_t h = 0; h < at.count; ++h) {
        const T x = seat.average ? average[h] - compensation[h] : -compensation[h];
        to[a * STRIP + h] = x;
        total[h] += x;
      }
    }
    const Cells<T> c{at.actions, at.count, STRIP, 0, nullptr, nullptr, to, nullptr, nullptr};
    c.normalise(total);
    return {to, STRIP, nullptr};
  }
};

// The same in 16 bits, of which the codes are given.
struct Codes {
  static constexpr float tremble = 0;
  const Seat<float>& seat;

  INLINE void expect(const Place&) const {}

  INLINE Chance<float> chance(const Place& at, float* to) const {
    const uint16_t* codes = static_cast<const uint16_t*>(seat.tables[at.table]) + at.at;
    float total[STRIP], before[STRIP];
    for (int64_t h = 0; h < at.count; ++h) total[h] = before[h] = 0;
    for (int64_t a = 0; a < at.actions; ++a) {
      const uint16_t* code = codes + a * at.next;
      for (int64_t h = 0; h < at.count; ++h) {
        const float share = a + 1 < at.actions ? code[h] : ALL;
        to[a * STRIP + h] = above(share - before[h], 0.0f);
        total[h] += to[a * STRIP + h];
        before[h] = share;
      }
    }
    const Cells<float> c{at.actions, at.count, STRIP, 0, nullptr, nullptr, to, nullptr, nullptr};
    c.normalise(total);
    return {to, STRIP, nullptr};
  }
};

// A strategy in a column as averages are, up to a factor in each infostate, and room for the values of its actions.
// Computed with in doubles: what is left of a range by the cards of a hand may be a small difference of large sums.
template <typename U>
struct Strategies {
  static constexpr double tremble = 0;
  const U* column;
  U* found;

  INLINE void expect(const Place&) const {}

  INLINE Chance<double> chance(const Place& at, double* to) const {
    double total[STRIP];
    for (int64_t h = 0; h < at.count; ++h) total[h] = 0;
    for (int64_t a = 0; a < at.actions; ++a) {
      const U* from = column + at.column + a * at.next;
      for (int64_t h = 0; h < at.count; ++h) {
        to[a * STRIP + h] = from[h];
        total[h] += from[h];
      }
    }
    const Cells<double> c{at.actions, at.count, STRIP, 0, nullptr, nullptr, to, nullptr, nullptr};
    c.normalise(total);
    return {to, STRIP, nullptr};
  }
};

// What a closing row is worth, in `sum`: after it has learned, by the numbers of an iteration.
template <typename T, typename Rule>
struct Learning {
  bool carries;  // whether the compensation goes into the average first, both times `scale`: `cfr.averages`
  T scale, threshold, before, share;
  const Rule& rule;

  template <typename Kept>
  INLINE void operator()(const Seat<T>& seat, const Kept& kept, const Place& at, const T* values, const T* reach,
                         const T* average, T* sum, T* memory) const {
    Cells<T> c{at.actions, at.count, 0, seat.width, values, sum, nullptr, nullptr, nullptr};
    if constexpr (has_shares<Kept>) {
      kept.add(at, reach, seat.width, share, before, average, threshold, memory);
    } else {
      add(seat, at, reach);
    }
    kept.open(c, at, memory, sum);
    T total[STRIP];
    rule(c, total);
    kept.close(c, at, total);
    Floor<T>(kept.tremble, at.actions).value(at.actions, at.count, values, seat.width, sum);
  }
  INLINE void add(const Seat<T>& seat, const Place& at, const T* reach) const {
    for (int64_t a = 0; a < at.actions; ++a) {
      const T* own = reach + a * seat.width;
      T* compensation = seat.compensation + at.column + a * at.next;
      if (carries && seat.average) carry_over(seat.average + at.column + a * at.next, compensation, at.count, scale);
      else if (carries) for (int64_t h = 0; h < at.count; ++h) compensation[h] *= scale;
      for (int64_t h = 0; h < at.count; ++h) compensation[h] -= share * own[h];
    }
  }
};

// To its strategy, or to a best response.
template <typename T>
struct Worth {
  bool responds;

  template <typename Kept>
  INLINE void operator()(const Seat<T>& seat, const Kept& kept, const Place& at, const T* values, const T*, const T*,
                         T* sum, T* memory) const {
    if (responds) return best(at.actions, at.count, values, seat.width, sum);
    const Chance<T> chance = kept.chance(at, memory);
    mean(at.actions, at.count, chance.p, chance.next, values, seat.width, sum);
  }
};

// The same, and the values of all its actions are written down.
struct Values {
  bool responds;

  template <typename U>
  INLINE void operator()(const Seat<double>& seat, const Strategies<U>& kept, const Place& at, const double* values,
                         const double* reach, const double* average, double* sum, double* memory) const {
    for (int64_t a = 0; a < at.actions; ++a) {
      std::copy_n(values + a * seat.width, at.count, kept.found + at.column + a * at.next);
    }
    Worth<double>{responds}(seat, kept, at, values, reach, average, sum, memory);
  }
};

// Reach and values of one unit of each depth: the trunk's, which the others share, and those below it; also, of
// averages that are shares alone, the own reach of each row, at the address of its first action.
template <typename T>
struct Stack {
  T *reach_in[2][2], *average_in[2][2], *values_in[2][2];  // [player][trunk, below], so that addresses count from both
  int64_t trunk[2], width[2];
  T *cells, *rows;  // room for a strip of a row's tables; for the values of some leaves
  Lanes<T>* lanes;  // room for `evaluate`
  const Unit** path;  // room for the units that are open
  const int32_t* over[2];  // of each row the one above, which is -1 for the first

  INLINE T* reach(int i, int64_t at) const { return reach_in[i][at >= trunk[i]] + at * width[i]; }
  INLINE T* average(int i, int64_t at) const { return average_in[i][at >= trunk[i]] + at * width[i]; }
  INLINE T* values(int i, int64_t at) const { return values_in[i][at >= trunk[i]] + at * width[i]; }
};

template <typename T, typename Kept>
struct Game {
  const Unit* units;
  const Seat<T>* seats;
  Kept kept[2];
};

INLINE Place place(const Row& r, const Bucket& b, int64_t width, int64_t cell) {
  const int64_t at = r.row * width + cell;
  return {r.table, b.actions, at, b.height * width, b.column * width + at, std::min(STRIP, width - cell)};
}

// Apart from what walks, or each kind of game would have its own.
FOR_EACH_PROCESSOR void pay(const View<float>& view, bool showdown, int64_t count, const float* utility,
                            const float* const* reach, Lanes<float>* lanes, float* values) {
  evaluate(view, showdown, count, utility, reach, lanes, values);
}

FOR_EACH_PROCESSOR void pay(const View<double>& view, bool showdown, int64_t count, const double* utility,
                            const double* const* reach, Lanes<double>* lanes, double* values) {
  evaluate(view, showdown, count, utility, reach, lanes, values);
}

// Calls `expect` with the cells that come after those of a row from `cell` on: more of the row, or the first of the next
// row, null for none. Rows and actions lie apart, and a processor foresees too few of the arrays.
template <typename T, typename Expect>
INLINE void look_ahead(const Seat<T>& own, const Row* row, int64_t cell, const Row* next, const Expect& expect) {
  if (cell + STRIP < own.width) expect(place(*row, own.buckets[row->table], own.width, cell + STRIP));
  else if (next && next->table >= 0) expect(place(*next, own.buckets[next->table], own.width, 0));
}

// Asks for cells of the average, to which closing rows add.
template <typename T, typename Kept>
INLINE void expect_average(const Seat<T>& own, const Place& at) {
  for (int64_t a = 0; a < at.actions; ++a) {
    if (own.compensation) {
      fetch(own.compensation + at.column + a * at.next, at.count);
    } else if constexpr (has_shares<Kept>) {
      if (a + 1 < at.actions) fetch(static_cast<uint16_t*>(own.tables[at.table * own.each + 3]) + at.at + a * at.next, at.count);
    }
  }
}

// Some of the players.
struct Who {
  int first, last;

  bool has(int i) const { return first <= i && i <= last; }
};

// Own reach by the average comes down a unit's rows.
template <typename T, typename Kept>
INLINE void average_down(const Seat<T>& own, const Kept& kept, const Unit* unit, const Stack<T>& stack, int i) {
  for (int64_t k = unit->rows[i]; k < unit[1].rows[i]; ++k) {
    T* to = stack.average(i, own.rows[k].first);
    if (stack.over[i][k] < 0) {
      std::fill_n(to, own.width, T(1));
      continue;
    }
    const Row& over = own.rows[stack.over[i][k]];
    const T* from = stack.average(i, over.first);
    if (over.table < 0) {
      std::copy_n(from, own.width, to);
      continue;
    }
    for (int64_t cell = 0; cell < own.width; cell += STRIP) {
      const Place at = place(over, own.buckets[over.table], own.width, cell);
      kept.by_average(at, own.rows[k].above - over.first, from + cell, to + cell);
    }
  }
}

// Values begin at zero for players who learn, or are valued; reach comes down for those whose reach is not there yet.
template <typename T, typename Kept>
INLINE void open(const Game<T, Kept>& game, const Unit* unit, const Stack<T>& stack, Who valued, Who reaching) {
  for (int i : {0, 1}) {
    const Seat<T>& own = game.seats[i];
    const int64_t width = own.width;
    const Row* const end = own.rows + unit[1].rows[i];
    if constexpr (has_shares<Kept>) {
      if (valued.has(i)) average_down(own, game.kept[i], unit, stack, i);
    }
    for (const Row* r = own.rows + unit->rows[i]; r < end; ++r) {
      const int64_t actions = r->table < 0 ? 1 : own.buckets[r->table].actions;
      if (valued.has(i)) std::fill_n(stack.values(i, r->first), actions * width, T(0));
      if (!reaching.has(i)) continue;
      const T* from = stack.reach(i, r->above);
      T* to = stack.reach(i, r->first);
      if (r->table < 0) {
        std::copy_n(from, width, to);
        continue;
      }
      const Bucket& b = own.buckets[r->table];
      const Floor<T> floor(game.kept[i].tremble, b.actions);
      for (int64_t cell = 0; cell < width; cell += STRIP) {
        const Place at = place(*r, b, width, cell);
        look_ahead(own, r, cell, r + 1 < end ? r + 1 : nullptr, [&](const Place& next) INLINE_LAMBDA {
          game.kept[i].expect(next);
        });
        const Chance<T> chance = game.kept[i].chance(at, stack.cells);
        T scaled[STRIP];
        const T* above = chance.total ? scaled : from + cell;
        for (int64_t h = 0; chance.total && h < at.count; ++h) scaled[h] = from[cell + h] / chance.total[h];
        for (int64_t a = 0; a < at.actions; ++a) {
          const T* p = chance.p + a * chance.next;
          T* __restrict below = to + a * width + cell;
          const T* whole = from + cell;
          for (int64_t h = 0; h < at.count; ++h) below[h] = above[h] * (floor.own * p[h]) + floor.least * whole[h];
        }
      }
    }
  }
}

// Adds an item's values to the sequences above it and above those that it stands for, in their columns.
template <typename T>
INLINE void push(const Seat<T>& own, const Stack<T>& stack, int i, int64_t item, int64_t above, const T* from) {
  const int64_t width = own.width;
  if (!own.start || own.start[item] == own.start[item + 1]) {
    T* __restrict to = stack.values(i, above);
    for (int64_t h = 0; h < width; ++h) to[h] += from[h];
    return;
  }
  for (int64_t m = own.start[item]; m < own.start[item + 1]; ++m) {
    T* __restrict to = stack.values(i, own.parent[m]);
    if (own.swap[m]) {
      const int32_t* column = own.columns + own.swap[m] * width;
      for (int64_t h = 0; h < width; ++h) to[h] += from[column[h]];
    } else {
      for (int64_t h = 0; h < width; ++h) to[h] += from[h];
    }
  }
}

template <typename T, typename Kept, typename Job>
INLINE void close(const Game<T, Kept>& game, const Unit* unit, const Stack<T>& stack, const Job& job, int i) {
  const Seat<T>&own = game.seats[i], &other = game.seats[1 - i];
  const int64_t width = own.width, end = unit[1].showdowns;
  T* const sum = stack.rows;
  const View<T> view = own.view(*unit);
  for (int64_t leaf = unit->showdowns; leaf < end;) {
    constexpr int64_t n = Lanes<T>::count;
    const bool showdown = leaf < unit->folds;
    const int64_t count = std::min(n, (showdown ? unit->folds : end) - leaf);
    const T* reach[n];
    for (int64_t k = 0; k < count; ++k) reach[k] = stack.reach(1 - i, other.leaves[leaf + k]);
    pay(view, showdown, count, own.utility + leaf, reach, stack.lanes, sum);
    for (int64_t k = 0; k < count; ++k, ++leaf) {
      push(own, stack, i, own.count + leaf, own.leaves[leaf], sum + k * width);
    }
  }
  for (int64_t k = unit[1].rows[i]; k-- > unit->rows[i];) {
    const Row& r = own.rows[k];
    const T *values = stack.values(i, r.first), *reach = stack.reach(i, r.first);
    if (r.table < 0) {
      push(own, stack, i, k, r.above, values);
      continue;
    }
    for (int64_t cell = 0; cell < width; cell += STRIP) {
      const Place at = place(r, own.buckets[r.table], width, cell);
      look_ahead(own, &r, cell, k > unit->rows[i] ? &r - 1 : nullptr, [&](const Place& next) INLINE_LAMBDA {
        expect_average<T, Kept>(own, next);
      });
      const T* average = has_shares<Kept> ? stack.average(i, r.first) + cell : nullptr;
      job(own, game.kept[i], at, values + cell, reach + cell, average, sum + cell, stack.cells);
    }
    push(own, stack, i, k, r.above, sum);
  }
}

// Opens and closes a unit of depth 1 and those below it; or the trunk, in two steps.
enum class Step { open, close, both };

template <typename T, typename Kept, typename Job>
INLINE void walk(const Game<T, Kept>& game, const Unit* unit, const Unit* end, const Stack<T>& stack, const Job& job,
                 Who who, Who reaching, Step step) {
  const Unit** path = stack.path;
  int depth = 0;
  if (step == Step::close) {
    path[depth++] = unit;
    unit = end;
  }
  for (;; path[depth++] = unit++) {
    while (depth && (unit < end ? path[depth - 1]->depth >= unit->depth : step != Step::open)) {
      const Unit* closing = path[--depth];
      for (int i = who.first; i <= who.last; ++i) close(game, closing, stack, job, i);
    }
    if (unit == end) return;
    open(game, unit, stack, who, reaching);
  }
}

// What closing rows do, for all games of a type: learn by a rule, or only tell their worth.
template <typename T>
struct Turn {
  int64_t rule;
  const T* numbers;  // carries, scale, threshold, weight before, share, c / t before and after; the rule's
  static constexpr int64_t before_rule = 7;
};

template <typename T, typename Kept>
INLINE void walk_by(const Game<T, Kept>& game, const Unit* unit, const Unit* end, const Stack<T>& stack,
                    const Turn<T>& turn, Who who, Who reaching, Step step) {
  const T* x = turn.numbers;
  if constexpr (!std::is_same_v<Kept, Whole<T>>) {  // of one rule alone
    const Learning<T, Normalised<T>> job{x[0] != 0, x[1], x[2], x[3], x[4], Normalised<T>::of(x + turn.before_rule)};
    return walk(game, unit, end, stack, job, who, reaching, step);
  }
  by_rule(turn.rule, x + turn.before_rule, [&](const auto& rule) INLINE_LAMBDA {
    const Learning<T, std::decay_t<decltype(rule)>> job{x[0] != 0, x[1], x[2], x[3], x[4], rule};
    walk(game, unit, end, stack, job, who, reaching, step);
  });
}

#define WALK(T, Kept, Job, how)                                                                                   \
  FOR_EACH_PROCESSOR void go(const Game<T, Kept>& game, const Unit* unit, const Unit* end, const Stack<T>& stack, \
                             const Job& job, Who who, Who reaching, Step step) {                                  \
    how(game, unit, end, stack, job, who, reaching, step);                                                        \
  }
WALK(float, Whole<float>, Turn<float>, walk_by)
WALK(double, Whole<double>, Turn<double>, walk_by)
WALK(float, Narrow<int16_t>, Turn<float>, walk_by)
WALK(float, Narrow<float>, Turn<float>, walk_by)
WALK(float, Averages<float>, Worth<float>, walk)
WALK(double, Averages<double>, Worth<double>, walk)
WALK(float, Codes, Worth<float>, walk)
WALK(double, Strategies<float>, Values, walk)
WALK(double, Strategies<double>, Values, walk)
WALK(double, Strategies<float>, Worth<double>, walk)
WALK(double, Strategies<double>, Worth<double>, walk)

// Walks over all units, by as many threads as there are cores.
template <typename T>
struct Streaming {
  static constexpr int64_t ahead = 2;  // trunks of each thread, which so seldom waits for another
  const Unit *units, *end;
  const Seat<T>* seats;
  std::vector<const Unit*> parts;               // the units of depth 1, each with those below
  Team team;
  std::vector<std::vector<int32_t>> shared[2];  // of each part the addresses in the trunk that it adds to
  std::vector<std::vector<T>> memory;
  std::vector<int32_t> over[2];  // of each row the one above
  std::vector<std::vector<Lanes<T>>> lanes;  // of each thread
  std::vector<std::vector<const Unit*>> paths;  // of each thread
  std::vector<Stack<T>> stacks;  // of each thread
  std::vector<T> trunks[2];      // values: the sum, and those of some parts
  int64_t places = 0;            // of parts' trunks
  Who changed{0, 1};             // whose reach of the trunk is not that of the strategy
  Who met{0, 1};                 // whose reach is read

  // `shares`: averages are kept as shares alone, so that their reach is wanted.
  Streaming(const Unit* units, int64_t count, const Seat<T>* seats, bool shares = false)
      : units(units), end(units + count), seats(seats), parts(below_trunk(units, end)),
        team(std::min<int64_t>(cores(), parts.size())) {
    for (size_t k = 0; k < parts.size(); ++k) {
      for (int i : {0, 1}) shared[i].push_back(in_trunk(i, parts[k], after(k)));
    }
    const int64_t threads = team.size();
    places = std::min<int64_t>(ahead * threads, parts.size());
    Stack<T> stack{};
    for (int i : {0, 1}) {
      stack.trunk[i] = seats[i].trunk;
      stack.width[i] = seats[i].width;
      trunks[i].resize((1 + places) * size(i));
      stack.reach_in[i][0] = take(size(i));
      stack.average_in[i][0] = take(shares * size(i));
      if (shares) over[i] = rows_above(seats[i]);
      stack.over[i] = over[i].data();
    }
    const int64_t widest = std::max(seats[0].width, seats[1].width), actions = std::max(seats[0].actions, seats[1].actions);
    size_t most_lanes = 0, deepest = 0;
    for (const Unit* u = units; u < end; ++u) deepest = std::max<size_t>(deepest, u->depth);
    for (int i : {0, 1}) {
      for (const View<T>& view : seats[i].streets) most_lanes = std::max(most_lanes, view.lanes());
    }
    for (int64_t k = 0; k < threads; ++k) {
      for (int i : {0, 1}) {
        const int64_t rest = (seats[i].stack - seats[i].trunk) * seats[i].width;
        stack.reach_in[i][1] = take(rest) - size(i);
        stack.average_in[i][1] = take(shares * rest) - size(i);
        stack.values_in[i][1] = take(rest) - size(i);
      }
      stack.cells = take((2 * actions + 3) * STRIP);
      stack.rows = take(Lanes<T>::count * widest);
      stack.lanes = lanes.emplace_back(most_lanes).data();
      stack.path = paths.emplace_back(deepest + 1).data();
      stacks.push_back(stack);
    }
  }
  // Of each row the one to which the sequence above it belongs; rows come after it, and before the next at its address.
  static std::vector<int32_t> rows_above(const Seat<T>& own) {
    std::vector<int32_t> rows(own.count), at(own.stack, -1);
    for (int64_t k = 0; k < own.count; ++k) {
      const Row& r = own.rows[k];
      rows[k] = at[r.above];
      std::fill_n(&at[r.first], r.table < 0 ? 1 : own.buckets[r.table].actions, static_cast<int32_t>(k));
    }
    return rows;
  }
  static std::vector<const Unit*> below_trunk(const Unit* unit, const Unit* end) {
    std::vector<const Unit*> below;
    for (; unit < end; ++unit) {
      if (unit->depth == 1) below.push_back(unit);
    }
    return below;
  }
  int64_t size(int i) const { return seats[i].trunk * seats[i].width; }
  T* take(int64_t count) { return memory.emplace_back(count).data(); }
  void on_trunk(Stack<T>& stack, int64_t number) {
    for (int i : {0, 1}) stack.values_in[i][0] = trunks[i].data() + number * size(i);
  }

  template <typename Kept, typename Job>
  void operator()(const Game<T, Kept>& game, const Job& job, Who who) {
    on_trunk(stacks[0], 0);
    for (int i : {0, 1}) std::fill_n(stacks[0].reach(i, 0), seats[i].width, T(1));  // the root
    for (int i : {0, 1}) std::fill_n(stacks[0].values(i, 0), seats[i].width, T(0));
    go(game, units, units + 1, stacks[0], job, who, changed, Step::open);
    const int64_t count = parts.size();
    const auto part = [&](int64_t thread, int64_t k, int64_t place) {
      Stack<T>& stack = stacks[thread];
      on_trunk(stack, 1 + place);
      for (int i = who.first; i <= who.last; ++i) {
        for (int32_t at : shared[i][k]) std::fill_n(stack.values(i, at), seats[i].width, T(0));
      }
      go(game, parts[k], after(k), stack, job, who, met, Step::both);
    };
    in_order(team, count, places, part, [&](int64_t k, int64_t place) { add(who, k, 1 + place); });
    on_trunk(stacks[0], 0);
    for (int i = who.first; i <= who.last; ++i) settle(i);
    go(game, units, units + 1, stacks[0], job, who, changed, Step::close);
    changed = who;
  }
  // Adds what a part's trunk has to the sum.
  void add(Who who, int64_t part, int64_t number) {
    for (int i = who.first; i <= who.last; ++i) {
      const int64_t width = seats[i].width;
      for (int32_t at : shared[i][part]) {
        T* __restrict sum = trunks[i].data() + at * width;
        const T* from = sum + number * size(i);
        for (int64_t h = 0; h < width; ++h) sum[h] += from[h];
      }
    }
  }
  // The unit after a part.
  const Unit* after(size_t part) const { return part + 1 < parts.size() ? parts[part + 1] : end; }
  // The addresses in the trunk to which rows and leaves of some units add their values.
  std::vector<int32_t> in_trunk(int i, const Unit* first, const Unit* last) const {
    const Seat<T>& own = seats[i];
    std::vector<bool> has(own.stack);
    const auto push = [&](int64_t item, int32_t above) {
      if (!own.start || own.start[item] == own.start[item + 1]) has[above] = true;
      else for (int32_t m = own.start[item]; m < own.start[item + 1]; ++m) has[own.parent[m]] = true;
    };
    for (int64_t r = first->rows[i]; r < last->rows[i]; ++r) push(r, own.rows[r].above);
    for (int64_t leaf = first->showdowns; leaf < last->showdowns; ++leaf) push(own.count + leaf, own.leaves[leaf]);
    std::vector<int32_t> addresses;
    for (int64_t at = 0; at < own.trunk; ++at) {
      if (has[at]) addresses.push_back(at);
    }
    return addresses;
  }
  // Adds the values that are known to those of the trunk.
  void settle(int i) {
    const int64_t width = seats[i].width;
    for (int64_t m = 0; m < seats[i].settled; ++m) {
      T* __restrict to = stacks[0].values(i, seats[i].settled_at[m]);
      for (int64_t h = 0; h < width; ++h) to[h] += seats[i].known[m * width + h];
    }
  }
  T root(int i) const {
    double sum = 0;
    for (int64_t h = 0; h < seats[i].width; ++h) sum += trunks[i][h];
    return sum;
  }
};

// The arrays of a call, one after the other.
struct Given {
  ffi::RemainingArgs& arrays;
  size_t next = 0;

  ffi::AnyBuffer buffer() { return *arrays.get<ffi::AnyBuffer>(next++); }
  template <typename U>
  U* of() {
    return static_cast<U*>(buffer().untyped_data());
  }
};

// Given: units; for each player the buckets, rows, leaves, utilities, members and known values (`PlayerLayout` in
// board_layout.py), and the evaluators' tables of each street. A call reads on from there: tables, columns.
template <typename T>
struct Board {
  const Unit* units;
  int64_t count;
  Seat<T> seats[2];
  int64_t buckets[2];
  std::vector<void*> tables[2];

  Board(Given& given, const int64_t (&trunk)[2], const int64_t (&stack)[2], int64_t streets, int64_t cards) {
    auto all = given.buffer();
    units = static_cast<const Unit*>(all.untyped_data());
    count = all.dimensions()[0] - 1;
    for (int i : {0, 1}) {
      Seat<T>& own = seats[i];
      own.compensation = nullptr;
      own.trunk = trunk[i];
      own.stack = stack[i];
      auto buckets = given.buffer();
      own.buckets = static_cast<const Bucket*>(buckets.untyped_data());
      this->buckets[i] = buckets.dimensions()[0];
      own.actions = 1;
      for (int64_t k = 0; k < buckets.dimensions()[0]; ++k) {
        own.actions = std::max<int64_t>(own.actions, own.buckets[k].actions);
      }
      auto rows = given.buffer();
      own.rows = static_cast<const Row*>(rows.untyped_data());
      own.count = rows.dimensions()[0];
      own.leaves = given.of<int32_t>();
      own.utility = given.of<T>();
      auto start = given.buffer();
      own.start = start.dimensions()[0] ? static_cast<const int32_t*>(start.untyped_data()) : nullptr;
      own.parent = given.of<int32_t>();
      own.swap = given.of<int32_t>();
      own.columns = given.of<int32_t>();
      auto settled = given.buffer();
      own.settled = settled.dimensions()[0];
      own.settled_at = static_cast<const int32_t*>(settled.untyped_data());
      own.known = given.of<T>();
      for (int64_t s = 0; s < streets; ++s) {
        auto weight = given.buffer(), scale = given.buffer();
        const int64_t G = weight.dimensions()[1], H = scale.dimensions()[1];
        const int16_t *theirs = given.of<int16_t>(), *mine = given.of<int16_t>();
        own.width = H;
        own.streets.push_back({G, H, cards, static_cast<const T*>(weight.untyped_data()),
                               static_cast<const T*>(scale.untyped_data()), theirs, theirs + G, mine, mine + H,
                               mine + 3 * H, mine + 4 * H, mine + 5 * H});
      }
    }
  }
};

template <ffi::DataType type>
ffi::Error stream(ffi::RemainingArgs arrays, ffi::RemainingRets returned, int64_t trunk0, int64_t trunk1,
                  int64_t stack0, int64_t stack1, int64_t streets, int64_t cards, int64_t first, int64_t each,
                  int64_t pair, int64_t rule, int64_t alternating) {
  using T = ffi::NativeType<type>;
  Given given{arrays};
  Board<T> board(given, {trunk0, trunk1}, {stack0, stack1}, streets, cards);
  const int32_t iterations = *given.of<int32_t>();
  auto rows = given.buffer();
  const T* numbers = static_cast<const T*>(rows.untyped_data());
  const int64_t all = returned.size(), width = rows.dimensions()[1], starts[] = {0, first, all};
  ffi::DataType codes = type, regrets = type;
  bool narrow = false;
  for (int i : {0, 1}) {
    for (int64_t k = starts[i]; k < starts[i + 1]; ++k) {
      auto before = given.buffer();
      ffi::Result<ffi::AnyBuffer> after = *returned.get<ffi::AnyBuffer>(k);
      void* to = after->untyped_data();
      const bool in_place = before.untyped_data() == to;
      on_large_pages(to, before.size_bytes(), in_place);
      if (!in_place) std::memcpy(to, before.untyped_data(), before.size_bytes());
      if (k == starts[i]) codes = before.element_type();
      if (k == starts[i] + 1 && codes == ffi::S8) narrow = true, regrets = before.element_type();
      board.tables[i].push_back(to);
    }
    Seat<T>& own = board.seats[i];
    const bool in_column = regrets != ffi::S16;
    own.compensation = in_column ? static_cast<T*>(board.tables[i].back()) : nullptr;
    own.average = pair ? static_cast<T*>(board.tables[i][board.tables[i].size() - 2]) : nullptr;
    own.tables = board.tables[i].data();
    own.each = each;
  }
  const Seat<T>* seats = board.seats;
  Streaming<T> walk(board.units, board.count, seats, regrets == ffi::S16);
  const auto iterate = [&](auto game) {
    for (const T* end = numbers + iterations * width; numbers < end; numbers += width) {
      const Turn<T> turn{rule, numbers};
      for (auto& kept : game.kept) kept.tremble = numbers[5];
      if (!alternating) walk(game, turn, {0, 1});
      for (int i = 0; alternating && i < 2; ++i) {
        walk(game, turn, {i, i});
        game.kept[i].tremble = numbers[6];  // as the other player meets the new strategy
      }
    }
  };
  if constexpr (type == ffi::F32) {
    if (narrow && regrets == ffi::S16) iterate(Game<T, Narrow<int16_t>>{board.units, seats, {{seats[0]}, {seats[1]}}});
    else if (narrow) iterate(Game<T, Narrow<float>>{board.units, seats, {{seats[0]}, {seats[1]}}});
  }
  if (!narrow) iterate(Game<T, Whole<T>>{board.units, seats, {{seats[0]}, {seats[1]}}});
  return ffi::Error::Success();
}

// Arrays whose numbers are those given for each place on the first axis, on large pages from the start.
ffi::Error filled(ffi::RemainingArgs values, ffi::RemainingRets arrays) {
  for (size_t k = 0; k < arrays.size(); ++k) {
    auto value = *values.get<ffi::AnyBuffer>(k);
    ffi::Result<ffi::AnyBuffer> array = *arrays.get<ffi::AnyBuffer>(k);
    const int64_t count = value.element_count(), each = array->element_count() / std::max<int64_t>(count, 1);
    const auto fill = [&](auto* to) {
      const auto* from = static_cast<const std::remove_pointer_t<decltype(to)>*>(value.untyped_data());
      for (int64_t n = 0; n < count; ++n) std::fill_n(to + n * each, each, from[n]);
    };
    void* to = array->untyped_data();
    on_large_pages(to, array->size_bytes(), false);
    switch (count ? value.size_bytes() / count : 0) {
      case 1: fill(static_cast<uint8_t*>(to)); break;
      case 2: fill(static_cast<uint16_t*>(to)); break;
      case 4: fill(static_cast<uint32_t*>(to)); break;
      case 8: fill(static_cast<uint64_t*>(to)); break;
    }
  }
  return ffi::Error::Success();
}

// What `worth` is given of each player: the compensations of sums alone, or behind the averages; the codes of each
// bucket, in floats; strategies as those of `values`, floats or doubles, in doubles.
enum Form : int64_t { SUM, PAIR, CODES, STRATEGY };

// Both players' best responses to the averages, and their value to player 0: [3].
template <ffi::DataType type>
ffi::Error worth(ffi::RemainingArgs arrays, ffi::ResultBuffer<type> found, int64_t trunk0, int64_t trunk1,
                 int64_t stack0, int64_t stack1, int64_t streets, int64_t cards, int64_t form) {
  using T = ffi::NativeType<type>;
  Given given{arrays};
  Board<T> board(given, {trunk0, trunk1}, {stack0, stack1}, streets, cards);
  ffi::DataType kind = type;
  for (int i : {0, 1}) {
    Seat<T>& own = board.seats[i];
    own.average = form == PAIR ? given.of<T>() : nullptr;
    for (int64_t k = form == CODES ? board.buckets[i] : 1; k > 0; --k) {
      auto array = given.buffer();
      kind = array.element_type();
      board.tables[i].push_back(array.untyped_data());
    }
    own.tables = board.tables[i].data();
    if (form == SUM || form == PAIR) own.compensation = static_cast<T*>(board.tables[i][0]);
  }
  const Seat<T>* seats = board.seats;
  Streaming<T> walk(board.units, board.count, seats);
  const auto evaluate = [&](const auto& game) {
    walk(game, Worth<T>{true}, {0, 1});
    for (int i : {0, 1}) found->typed_data()[i] = walk.root(i);
    const int values = static_cast<int>(found->element_count()) - 2;  // of player 0, or of both in general sum
    for (int i = 0; i < values; ++i) {
      walk(game, Worth<T>{false}, {i, i});
      found->typed_data()[2 + i] = walk.root(i);
    }
  };
  if (form == SUM || form == PAIR) {
    evaluate(Game<T, Averages<T>>{board.units, seats, {{seats[0]}, {seats[1]}}});
    return ffi::Error::Success();
  }
  if constexpr (type == ffi::F32) {
    if (form == CODES) {
      evaluate(Game<T, Codes>{board.units, seats, {{seats[0]}, {seats[1]}}});
      return ffi::Error::Success();
    }
  } else if (form == STRATEGY) {
    const auto of = [&](auto* first, auto* second) {
      using U = std::remove_pointer_t<decltype(first)>;
      evaluate(Game<T, Strategies<U>>{board.units, seats, {{first, nullptr}, {second, nullptr}}});
    };
    void *first = board.tables[0][0], *second = board.tables[1][0];
    if (kind == ffi::F32) of(static_cast<float*>(first), static_cast<float*>(second));
    else of(static_cast<double*>(first), static_cast<double*>(second));
    return ffi::Error::Success();
  }
  return ffi::Error::InvalidArgument("codes are read in floats, strategies in doubles");
}

// The values of all actions of each player by strategies, and then by best responses to them, in columns as theirs.
template <ffi::DataType type>
ffi::Error values(ffi::RemainingArgs arrays, ffi::RemainingRets returned, int64_t trunk0, int64_t trunk1,
                  int64_t stack0, int64_t stack1, int64_t streets, int64_t cards) {
  using U = ffi::NativeType<type>;
  Given given{arrays};
  Board<double> board(given, {trunk0, trunk1}, {stack0, stack1}, streets, cards);
  const U* columns[] = {given.of<U>(), given.of<U>()};
  Streaming<double> walk(board.units, board.count, board.seats);
  for (const bool responds : {false, true}) {
    Game<double, Strategies<U>> game{board.units, board.seats, {}};
    for (int i : {0, 1}) {
      ffi::Result<ffi::AnyBuffer> found = *returned.get<ffi::AnyBuffer>(2 * responds + i);
      game.kept[i] = {columns[i], static_cast<U*>(found->untyped_data())};
    }
    walk(game, Values{responds}, {0, 1});
  }
  return ffi::Error::Success();
}

// Values at the root of the hands of `player`, by the best response to the other's strategy, in a column.
template <ffi::DataType type>
ffi::Error response(ffi::RemainingArgs arrays, ffi::ResultBuffer<type> found, int64_t trunk0, int64_t trunk1,
                    int64_t stack0, int64_t stack1, int64_t streets, int64_t cards, int64_t player) {
  using U = ffi::NativeType<type>;
  Given given{arrays};
  Board<double> board(given, {trunk0, trunk1}, {stack0, stack1}, streets, cards);
  const int own = static_cast<int>(player), other = 1 - own;
  Streaming<double> walk(board.units, board.count, board.seats);
  walk.changed = walk.met = {other, other};
  Game<double, Strategies<U>> game{board.units, board.seats, {}};
  game.kept[other].column = given.of<U>();
  walk(game, Worth<double>{true}, {own, own});
  std::copy_n(walk.trunks[own].data(), board.seats[own].width, found->typed_data());
  return ffi::Error::Success();
}

template <typename Binding>
auto with_sizes(Binding binding) {
  return std::move(binding).template Attr<int64_t>("trunk0").template Attr<int64_t>("trunk1")
      .template Attr<int64_t>("stack0").template Attr<int64_t>("stack1").template Attr<int64_t>("streets")
      .template Attr<int64_t>("cards");
}

auto bind_stream() {
  return with_sizes(ffi::Ffi::Bind().RemainingArgs().RemainingRets()).template Attr<int64_t>("first")
      .template Attr<int64_t>("each").template Attr<int64_t>("pair").template Attr<int64_t>("rule")
      .template Attr<int64_t>("alternating");
}

template <ffi::DataType type>
auto bind_response() {
  return with_sizes(ffi::Ffi::Bind().RemainingArgs().template Ret<ffi::Buffer<type>>()).template Attr<int64_t>("player");
}

template <ffi::DataType type>
auto bind_worth() {
  return with_sizes(ffi::Ffi::Bind().RemainingArgs().template Ret<ffi::Buffer<type>>()).template Attr<int64_t>("form");
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(Filled32, Guarded<filled>::call, ffi::Ffi::Bind().RemainingArgs().RemainingRets());
XLA_FFI_DEFINE_HANDLER_SYMBOL(Filled64, Guarded<filled>::call, ffi::Ffi::Bind().RemainingArgs().RemainingRets());
XLA_FFI_DEFINE_HANDLER_SYMBOL(BoardsLearn32, Guarded<stream<ffi::F32>>::call, bind_stream());
XLA_FFI_DEFINE_HANDLER_SYMBOL(BoardsLearn64, Guarded<stream<ffi::F64>>::call, bind_stream());
XLA_FFI_DEFINE_HANDLER_SYMBOL(BoardsWorth32, Guarded<worth<ffi::F32>>::call, bind_worth<ffi::F32>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(BoardsWorth64, Guarded<worth<ffi::F64>>::call, bind_worth<ffi::F64>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(BoardsResponse32, Guarded<response<ffi::F32>>::call, bind_response<ffi::F32>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(BoardsResponse64, Guarded<response<ffi::F64>>::call, bind_response<ffi::F64>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(BoardsValues32, Guarded<values<ffi::F32>>::call, with_sizes(ffi::Ffi::Bind().RemainingArgs().RemainingRets()));
XLA_FFI_DEFINE_HANDLER_SYMBOL(BoardsValues64, Guarded<values<ffi::F64>>::call, with_sizes(ffi::Ffi::Bind().RemainingArgs().RemainingRets()));
