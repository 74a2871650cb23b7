// A turn of modified external sampling in all clusters that are here: a custom call of XLA. native_clusters.py has its
// arguments and results.
//
// cluster_sampling.py is the reference: with the same numbers this deals the same boards and walks the same lines, but
// only those that a traversal visits. Clusters share nothing, and policies stand still until a cluster's traversals are
// over: increments are noted down first. So parts of a cluster's traversals are shared out over threads, and the last to
// end adds the increments of all in the order of the deals: the bits are those of one thread.

#include "cards.h"
#include "sampling.h"

namespace {

constexpr int32_t kChanceLine = 2, kEndLine = 3;  // as in lines.py
constexpr int kMostRounds = 8;
constexpr int64_t kPart = 64;  // traversals of a cluster that one thread makes
constexpr int64_t kManyBoards = 1024;  // of a cluster, for which columns of bits are made, if as many draws use them
constexpr int64_t kManyDraws = 4;
constexpr double kPruned = 0.95;  // of the traversals skip actions of very negative regret (Brown and Sandholm 2019)

// `BettingLines`, line by line.
template <typename T>
struct Line {
  int32_t actor, round, first, count, cell, stride;
  T constant, stake;
};

struct Deal {
  int64_t possible;  // boards of the cluster
  int32_t bucket[2][kMostRounds], lead;  // no player acts in the round of the roots, the first
};

// `Cards` of a later round.
struct Round {
  const uint32_t* sets;
  int64_t count;
  const int32_t *index, *swap;  // null, as the next two, in rounds whose boards are in no table
  const uint32_t* boards;
  const int32_t* buckets;
};

// The cards of a game: in tables, or, from the round after the special one on, found when they are dealt.
struct Cards {
  int64_t words, hands, boards_each;
  const uint32_t* hand_masks;
  const int32_t *hand_swaps, *strength, *boards;  // boards: of each cluster, behind each class before
  const uint32_t* before_masks;                   // of the classes of public cards before
  int64_t befores;
  std::vector<Round> later;
  // Of each cluster and class before, for each card the boards that have it, a bit each, and last the places without a
  // board; empty for small clusters. So a draw looks at 64 boards at once.
  std::vector<uint64_t> holding;
  // Found: buckets [C', F, 1 + D, H] by cluster, its board, and the card after it; the place of a board in its cluster;
  // and for the last round the groups of hands and the centres [C', G, B].
  const int16_t* found = nullptr;
  const int32_t *slot = nullptr, *groups = nullptr;
  const float* centres = nullptr;
  int64_t slots = 0, rows = 0, centre_count = 0;
  const Hands* deck = nullptr;

  int64_t columns() const { return 32 * words + 1; }
  int64_t column() const { return (boards_each + 63) / 64; }

  void make_columns(int64_t clusters) {
    const int64_t size = column(), list = columns() * size;
    holding.assign(clusters * befores * list, 0);
    for (int64_t n = 0; n < clusters * befores; ++n) {
      uint64_t* bits = &holding[n * list];
      for (int64_t k = 0; k < 64 * size; ++k) {
        const uint64_t bit = uint64_t(1) << k % 64;
        const int32_t board = k < boards_each ? boards[n * boards_each + k] : -1;
        if (board < 0) bits[32 * words * size + k / 64] |= bit;
        for (int64_t w = 0; board >= 0 && w < words; ++w) {
          for (uint32_t left = later[0].sets[board * words + w]; left; left &= left - 1) {
            bits[(32 * w + __builtin_ctz(left)) * size + k / 64] |= bit;
          }
        }
      }
    }
  }
};

// Room that notes take: of cells, and of numbers for their actions.
struct Room {
  int64_t cells = 0, numbers = 0;

  void add(Room other) {
    cells += other.cells;
    numbers += other.numbers;
  }
  void cover(Room other) {
    cells = std::max(cells, other.cells);
    numbers = std::max(numbers, other.numbers);
  }
};

template <typename T>
struct Game {
  std::vector<Line<T>> lines;
  Cards cards;
  int64_t roots, depths, actions, cells, deals, clusters;
  const uint32_t* keys;
  const int32_t *dealt, *visited;
  int32_t traverser;
  T every, weight, linear, floor, prune;

  // The most that a traversal from all roots notes: in decisions of the traverser, or else in the opponent's.
  Room most_noted(bool own) const {
    std::vector<Room> below(lines.size());
    for (int64_t n = lines.size(); n-- > 0;) {  // a line comes before those that follow it
      const Line<T>& line = lines[n];
      if (line.actor == kEndLine) continue;
      const bool traversed = line.actor == traverser;
      for (int64_t a = 0; a < (line.actor == kChanceLine ? 1 : line.count); ++a) {
        const Room& next = below[line.first + a];
        traversed ? below[n].add(next) : below[n].cover(next);
      }
      if (line.actor != kChanceLine && traversed == own) below[n].add({1, line.count});
    }
    Room all;
    for (int64_t s = 0; s < roots; ++s) all.add(below[s]);
    return all;
  }
};

template <typename T>
class Dealer {
 public:
  explicit Dealer(const Cards& cards)
      : cards_(cards), used_(cards.words), apart_(cards.centre_count) {
    if (!cards.holding.empty()) open_.reserve(cards.column());
    if (cards.deck) equities_ = std::make_unique<Equities>(*cards.deck, cards.groups);
  }

  // Deals a board of a cluster after the cards so far, by the first numbers; false if they leave none.
  bool deal(int64_t cluster, int32_t first, int32_t second, int64_t before, Uniforms<T>& uniforms, Deal& out) {
    int32_t hands[2] = {first, second};
    const int32_t* boards = cards_.boards + (cluster * cards_.befores + before) * cards_.boards_each;
    take(hands);
    put(cards_.before_masks + before * cards_.words);
    const Round& special = cards_.later[0];
    const auto own = [&](int64_t k) { return boards[k] >= 0 && free(special, boards[k]); };
    const int64_t chosen = cards_.holding.empty()
                               ? pick(cards_.boards_each, uniforms[0], own, out.possible)
                               : pick_listed(cluster * cards_.befores + before, uniforms[0], out.possible);
    if (!out.possible) return false;
    int64_t came = boards[chosen], board = before, other;
    for (size_t k = 0; k < cards_.later.size(); ++k) {
      const Round& round = cards_.later[k];
      if (!round.index) return find(cluster, board, k, hands, uniforms, out);
      if (k > 0) {
        take(hands);
        put(cards_.later[k - 1].boards + board * cards_.words);
        came = pick(round.count, uniforms[k], [&](int64_t n) { return free(round, n); }, other);
      }
      const int32_t* swap = cards_.hand_swaps + round.swap[board * round.count + came] * cards_.hands;
      board = round.index[board * round.count + came];
      for (int i : {0, 1}) {
        hands[i] = swap[hands[i]];
        if (round.buckets) out.bucket[i][k + 1] = round.buckets[board * cards_.hands + hands[i]];
      }
    }
    compare(cards_.strength + board * cards_.hands, hands, out);
    return true;
  }

 private:
  // The rounds after the special one, whose boards are in no table; suits keep the names of the special board.
  bool find(int64_t cluster, int64_t board, size_t k, const int32_t* hands, Uniforms<T>& uniforms, Deal& out) {
    const int64_t place = (cluster * cards_.slots + cards_.slot[board]) * cards_.rows;
    const auto bucket = [&](int64_t row, int i) { return cards_.found[(place + row) * cards_.hands + hands[i]]; };
    const uint32_t* shown = cards_.later[0].boards + board * cards_.words;
    uint64_t public_cards = 0;
    for (int64_t w = 0; w < cards_.words; ++w) public_cards |= uint64_t(shown[w]) << 32 * w;
    for (int i : {0, 1}) out.bucket[i][1] = bucket(0, i);
    take(hands);
    put(shown);
    for (; k < cards_.later.size(); ++k) {
      const Round& round = cards_.later[k];
      int64_t other;
      const int64_t card = pick(round.count, uniforms[k], [&](int64_t n) { return free(round, n); }, other);
      public_cards |= uint64_t(1) << card;
      put(round.sets + card * cards_.words);
      if (k + 1 < cards_.later.size()) {
        for (int i : {0, 1}) out.bucket[i][k + 1] = bucket(1 + card, i);
      }
    }
    equities_->deal(public_cards);
    float point[kMostGroups];
    const float* centres = cards_.centres + cluster * equities_->groups * cards_.centre_count;
    for (int i : {0, 1}) {
      equities_->of(hands[i], point);
      out.bucket[i][k] = nearest<true>(point, centres, int(cards_.centre_count), equities_->groups, apart_.data());
    }
    compare(equities_->strength.data(), hands, out);
    return true;
  }

  static void compare(const int32_t* strength, const int32_t* hands, Deal& out) {
    const int32_t one = strength[hands[0]], other = strength[hands[1]];
    out.lead = (one > other) - (one < other);
  }
  void take(const int32_t* hands) {
    for (int64_t w = 0; w < cards_.words; ++w) {
      used_[w] = cards_.hand_masks[hands[0] * cards_.words + w] | cards_.hand_masks[hands[1] * cards_.words + w];
    }
  }
  void put(const uint32_t* mask) {
    for (int64_t w = 0; w < cards_.words; ++w) used_[w] |= mask[w];
  }
  bool free(const Round& round, int64_t set) const {
    uint32_t both = 0;
    for (int64_t w = 0; w < cards_.words; ++w) both |= used_[w] & round.sets[set * cards_.words + w];
    return !both;
  }
  // One of n sets that are free, all equally likely; `count` becomes their number.
  template <typename Free>
  static int64_t pick(int64_t n, T u, const Free& free, int64_t& count) {
    count = 0;
    for (int64_t k = 0; k < n; ++k) count += free(k);
    int64_t wanted = std::min<int64_t>(int64_t(u * T(count)), count - 1);
    for (int64_t k = 0; k < n; ++k) {
      if (free(k) && wanted-- == 0) return k;
    }
    return 0;
  }

  // The same of the boards of a list, by its columns.
  int64_t pick_listed(int64_t list, T u, int64_t& count) {
    const int64_t size = cards_.column();
    const uint64_t* columns = &cards_.holding[list * cards_.columns() * size];
    open_.assign(columns + 32 * cards_.words * size, columns + cards_.columns() * size);
    for (int64_t w = 0; w < cards_.words; ++w) {
      for (uint32_t left = used_[w]; left; left &= left - 1) {
        const uint64_t* has = columns + (32 * w + __builtin_ctz(left)) * size;
        for (int64_t k = 0; k < size; ++k) open_[k] |= has[k];
      }
    }
    count = 0;
    for (uint64_t& bits : open_) count += __builtin_popcountll(bits = ~bits);
    int64_t wanted = std::min<int64_t>(int64_t(u * T(count)), count - 1), k = 0;
    if (!count) return 0;
    for (int64_t n; (n = __builtin_popcountll(open_[k])) <= wanted; ++k) wanted -= n;
    uint64_t bits = open_[k];
    while (wanted--) bits &= bits - 1;
    return 64 * k + __builtin_ctzll(bits);
  }

  const Cards& cards_;
  std::vector<uint32_t> used_;
  std::vector<uint64_t> open_;
  std::vector<float> apart_;
  std::unique_ptr<Equities> equities_;
};

// Numbers for the actions of cells, in the order in which they were noted down.
template <typename T>
struct Notes {
  std::vector<int64_t> cell, count;
  std::vector<T> numbers;

  // Makes room for as much again, so that `add` asks for none.
  void make_room(Room more) {
    const auto make = [](auto& of, size_t wanted) {
      if (of.capacity() - of.size() < wanted) of.reserve(std::max(2 * of.capacity(), of.size() + wanted));
    };
    make(cell, more.cells);
    make(count, more.cells);
    make(numbers, more.numbers);
  }
  T* add(int64_t of, int64_t actions) {
    cell.push_back(of);
    count.push_back(actions);
    numbers.resize(numbers.size() + actions);
    return &numbers[numbers.size() - actions];
  }
  // Takes each to `work(its place in a table, the number)`; actions are `step` apart there.
  template <typename Work>
  void each(int64_t step, const Work& work) const {
    const T* number = numbers.data();
    for (size_t k = 0; k < cell.size(); ++k) {
      for (int64_t a = 0; a < count[k]; ++a) work(a * step + cell[k], *number++);
    }
  }
  void clear() {
    cell.clear();
    count.clear();
    numbers.clear();
  }
};

// What a part of a cluster's traversals adds to regrets, and to the sum of strategies.
template <typename T>
struct Increments {
  Notes<T> gains, shares;
};

// Adds the increments of all parts of a cluster, and empties them.
template <typename T>
FOR_EACH_PROCESSOR void learn(const Game<T>& game, Increments<T>* parts, int64_t count, T* regrets, T* compensation) {
  const T each_gain = game.linear / game.deals, each_share = -game.weight / game.deals;
  const int64_t step = game.clusters * game.cells;
  const auto all = [&](Notes<T> Increments<T>::*notes, const auto& work) {
    for (int64_t k = 0; k < count; ++k) (parts[k].*notes).each(step, work);
  };
  all(&Increments<T>::gains, [&](int64_t place, T gain) { regrets[place] += gain * each_gain; });
  if (game.floor > -std::numeric_limits<T>::infinity()) {
    all(&Increments<T>::gains, [&](int64_t place, T) { regrets[place] = above(regrets[place], game.floor); });
  }
  all(&Increments<T>::shares, [&](int64_t place, T share) { compensation[place] += share * each_share; });
  for (int64_t k = 0; k < count; ++k) parts[k] = {};  // their memory too: only clusters under way hold any
}

// The traversals of one part of a cluster after the other, on one thread.
template <typename T>
class Walker {
 public:
  Walker(const Game<T>& game, const T* regrets, T* values)
      : game_(game), gains_(game.most_noted(true)), shares_(game.most_noted(false)), dealer_(game.cards),
        regrets_(regrets), values_(values), step_(game.clusters * game.cells),
        uniforms_(nullptr, game.cards.later.size() + game.depths + 1, game.deals),
        policies_((game.depths + 1) * game.actions), moves_((game.depths + 1) * game.actions) {}

  void part(int64_t k, int64_t begin, int64_t end, Increments<T>& out) {
    first_ = k * game_.cells;
    noted_ = &out;
    uniforms_.use(game_.keys + 2 * k);
    for (int64_t b = begin; b < end; ++b) {
      out.gains.make_room(gains_);
      out.shares.make_room(shares_);
      traverse(k, b);
    }
  }

 private:
  FOR_EACH_PROCESSOR void traverse(int64_t k, int64_t b) {
    T* out = values_ + k * game_.roots * game_.deals + b;
    uniforms_.begin(0, b);
    if (!deal(k, b)) {
      for (int64_t s = 0; s < game_.roots; ++s) out[s * game_.deals] = 0;
      return;
    }
    share_ = T(deal_.possible) / game_.every;
    const int64_t rounds = game_.cards.later.size();
    prunes_ = game_.prune > -std::numeric_limits<T>::infinity() && uniforms_[rounds + game_.depths] < T(kPruned);
    for (int64_t s = 0; s < game_.roots; ++s) {
      out[s * game_.deals] = game_.visited[s * game_.deals + b] ? walk(s, 0) * T(deal_.possible) : T(0);
    }
  }
  bool deal(int64_t k, int64_t b) {
    const int32_t* dealt = game_.dealt + b;
    return dealer_.deal(k, dealt[0], dealt[game_.deals], dealt[2 * game_.deals], uniforms_, deal_);
  }

  // The value of a line to the traverser.
  T walk(int64_t number, int64_t depth) {
    const Line<T>& line = game_.lines[number];
    if (line.actor == kChanceLine) return walk(line.first, depth + 1);
    if (line.actor == kEndLine) {
      const T won = line.constant + line.stake * deal_.lead;
      return game_.traverser ? -won : won;
    }
    const int64_t cell = first_ + line.cell + int64_t(line.stride) * deal_.bucket[line.actor][line.round];
    T* p = &policies_[depth * game_.actions];
    regret_matching(regrets_ + cell, step_, line.count, p);
    if (line.actor != game_.traverser) {
      T* sum = noted_->shares.add(cell, line.count);
      for (int64_t a = 0; a < line.count; ++a) sum[a] = share_ * p[a];
      const T u = uniforms_[game_.cards.later.size() + depth];
      return walk(line.first + sample(line.count, u, [&](int64_t a) { return p[a]; }), depth + 1);
    }
    T *moves = &moves_[depth * game_.actions], mean = 0;
    uint32_t skipped = 0;
    for (int64_t a = 0; a < line.count; ++a) {
      if (prunes_ && may_skip(line, p[a], regrets_[a * step_ + cell], line.first + a)) {
        skipped |= 1u << a;
        continue;
      }
      mean += p[a] * (moves[a] = walk(line.first + a, depth + 1));
    }
    T* gain = noted_->gains.add(cell, line.count);
    for (int64_t a = 0; a < line.count; ++a) gain[a] = skipped >> a & 1 ? T(0) : share_ * (moves[a] - mean);
    return mean;
  }

  // An action that is not played and looks very bad, unless it costs nothing: it ends the game, or the round is the last.
  bool may_skip(const Line<T>& line, T p, T regret, int64_t child) const {
    return p <= 0 && regret < game_.prune && line.round < int64_t(game_.cards.later.size()) &&
           game_.lines[child].actor != kEndLine;
  }

  const Game<T>& game_;
  const Room gains_, shares_;  // that a traversal may note
  Dealer<T> dealer_;
  const T* regrets_;
  T* values_;
  const int64_t step_;
  Uniforms<T> uniforms_;
  std::vector<T> policies_, moves_;  // by depth
  Increments<T>* noted_ = nullptr;
  Deal deal_;
  int64_t first_ = 0;
  T share_ = 0;
  bool prunes_ = false;
};

// Given: the arrays of native_clusters.py. Returned, changed: the regrets and the compensation of the average, and the values
// [C', S, B] of the roots, times the boards that were possible.
template <ffi::DataType type>
ffi::Error sample_clusters(ffi::RemainingArgs given, ffi::RemainingRets returned, int64_t threads, int64_t ranks,
                           int64_t suits, int64_t depths) {
  using T = ffi::NativeType<type>;
  const auto floats = [&](int64_t k) { return (*given.get<ffi::Buffer<type>>(k)).typed_data(); };
  const auto integers = [&](int64_t k) { return (*given.get<ffi::Buffer<ffi::S32>>(k)).typed_data(); };
  const auto masks = [&](int64_t k) { return (*given.get<ffi::Buffer<ffi::U32>>(k)).typed_data(); };
  const auto sizes = [&](int64_t k) { return (*given.get<ffi::AnyBuffer>(k)).dimensions(); };
  enum { kActor, kRound, kFirst, kCount, kCell, kStride, kConstant, kStake, kRegrets, kExcess, kNumbers, kTraverser, kKeys,
         kDealt, kVisited, kBoards, kHandMasks, kHandSwaps, kStrength, kBeforeMasks, kFound, kSlot, kGroups, kCentres,
         kLater };
  constexpr int kOfRound = 5;
  Game<T> game;
  for (int64_t n = 0; n < int64_t(sizes(kActor)[0]); ++n) {
    game.lines.push_back({integers(kActor)[n], integers(kRound)[n], integers(kFirst)[n], integers(kCount)[n],
                          integers(kCell)[n], integers(kStride)[n], floats(kConstant)[n], floats(kStake)[n]});
  }
  T* tables[2];
  for (int64_t k : {0, 1}) {
    auto after = **returned.get<ffi::Buffer<type>>(k);
    tables[k] = after.typed_data();
    const T* before = floats(kRegrets + k);
    if (before != tables[k]) std::copy_n(before, after.element_count(), tables[k]);
  }
  game.actions = sizes(kRegrets)[0];
  game.clusters = sizes(kKeys)[0];
  game.cells = sizes(kRegrets)[1] / game.clusters;
  game.roots = sizes(kVisited)[0];
  game.deals = sizes(kVisited)[1];
  game.depths = depths;
  game.keys = masks(kKeys);
  game.dealt = integers(kDealt);
  game.visited = integers(kVisited);
  game.traverser = integers(kTraverser)[0];
  const T* numbers = floats(kNumbers);
  game.every = numbers[0];
  game.weight = numbers[1];
  game.linear = numbers[2];
  game.floor = numbers[3];
  game.prune = numbers[4];
  Cards& cards = game.cards;
  cards.hand_masks = masks(kHandMasks);
  cards.hands = sizes(kHandMasks)[0];
  cards.words = sizes(kHandMasks)[1];
  cards.boards = integers(kBoards);
  cards.befores = sizes(kBoards)[1];
  cards.boards_each = sizes(kBoards)[2];
  cards.hand_swaps = integers(kHandSwaps);
  cards.strength = integers(kStrength);
  cards.before_masks = masks(kBeforeMasks);
  for (int64_t k = kLater; k < int64_t(given.size()); k += kOfRound) {
    const auto known = [&](auto buffer) { return buffer.element_count() ? buffer.typed_data() : nullptr; };
    const auto table = [&](int64_t n) { return known(*given.get<ffi::Buffer<ffi::S32>>(k + n)); };
    cards.later.push_back({masks(k), int64_t(sizes(k)[0]), table(1), table(2),
                           known(*given.get<ffi::Buffer<ffi::U32>>(k + 3)), table(4)});
  }
  if (cards.boards_each >= kManyBoards && game.deals >= kManyDraws * cards.befores) cards.make_columns(game.clusters);
  if (cards.later.size() >= kMostRounds) return ffi::Error::InvalidArgument("too many rounds");
  const int64_t hole = cards.hands == ranks * suits ? 1 : 2;
  std::unique_ptr<Hands> deck;
  if (sizes(kFound)[0]) {
    deck = std::make_unique<Hands>(int(ranks), int(suits), int(hole));
    cards.found = (*given.get<ffi::Buffer<ffi::S16>>(kFound)).typed_data();
    cards.slots = sizes(kFound)[1];
    cards.rows = sizes(kFound)[2];
    cards.slot = integers(kSlot);
    cards.groups = integers(kGroups);
    cards.centres = (*given.get<ffi::Buffer<ffi::F32>>(kCentres)).typed_data();
    cards.centre_count = sizes(kCentres)[2];
    cards.deck = deck.get();
  }
  T* values = (**returned.get<ffi::Buffer<type>>(2)).typed_data();
  const int64_t parts = (game.deals + kPart - 1) / kPart;
  std::vector<Increments<T>> noted(game.clusters * parts);
  std::vector<std::atomic<int64_t>> left(game.clusters);
  for (auto& count : left) count = parts;
  std::atomic<int64_t> next{0};
  Team team(std::min(threads, game.clusters * parts));
  team([&](int64_t) {
    Walker<T> walker(game, tables[0], values);
    for (int64_t n; (n = next++) < game.clusters * parts;) {
      const int64_t k = n / parts, begin = n % parts * kPart;
      walker.part(k, begin, std::min(begin + kPart, game.deals), noted[n]);
      if (--left[k] == 0) learn(game, &noted[k * parts], parts, tables[0], tables[1]);
    }
  });
  return ffi::Error::Success();
}

template <ffi::DataType type>
auto bind() {
  return ffi::Ffi::Bind().RemainingArgs().RemainingRets().template Attr<int64_t>("threads")
      .template Attr<int64_t>("ranks").template Attr<int64_t>("suits").template Attr<int64_t>("depths");
}

uint64_t mask_of(const int32_t* cards, int64_t count) {
  uint64_t mask = 0;
  for (int64_t k = 0; k < count; ++k) mask |= uint64_t(1) << cards[k];
  return mask;
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(Clusters32, Guarded<sample_clusters<ffi::F32>>::call, bind<ffi::F32>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(Clusters64, Guarded<sample_clusters<ffi::F64>>::call, bind<ffi::F64>());

// Plain functions on the cards of a deck (ranks, suits, cards of a hand). Boards are int32[boards, size].

// Strengths int32[boards, H]; kDead for dead hands.
extern "C" const char* HandStrengths(const int32_t* deck, const int32_t* boards, int64_t count, int64_t size,
                                     int32_t* out) {
  return in_words([&] {
    const Hands hands(deck[0], deck[1], deck[2]);
    for (int64_t k = 0; k < count; ++k) hands.strengths(mask_of(boards + k * size, size), out + k * hands.count);
  });
}

// Equities against groups, float[boards, H, G], of all hands; of dead ones anything.
extern "C" const char* HandEquities(const int32_t* deck, const int32_t* boards, int64_t count, int64_t size,
                                    const int32_t* groups, float* out) {
  return in_words([&] {
    const Hands hands(deck[0], deck[1], deck[2]);
    Equities equities(hands, groups);
    for (int64_t k = 0; k < count; ++k) {
      equities.deal(mask_of(boards + k * size, size));
      for (int h = 0; h < hands.count; ++h, out += equities.groups) {
        if (equities.strength[h] != kDead) equities.of(h, out);
      }
    }
  });
}

// Cumulative histograms of one board, float[1 + D, H, kBins - 1]: on it, and if two cards are left with each card more;
// NaN for hands that are dead.
extern "C" const char* HandHistograms(const int32_t* deck, const int32_t* board, int64_t size, int64_t left,
                                      float* out) {
  return in_words([&] {
    const Hands hands(deck[0], deck[1], deck[2]);
    Histograms counted(hands);
    counted.count(mask_of(board, size), int(left));
    const auto add = [&](const auto* bins) {
      for (int h = 0; h < hands.count; ++h, out += kBins - 1) {
        if (!cumulate(bins + h * kBins, out)) std::fill_n(out, kBins - 1, NAN);
      }
    };
    add(counted.now.data());
    for (int c = 0; left == 2 && c < hands.cards; ++c) add(&counted.later[size_t(c) * hands.count * kBins]);
  });
}

// The nearest of `count` centres [size, count] to each of n points [n, size]; -1 for points that are NaN.
FOR_EACH_PROCESSOR void find_nearest(const float* points, int64_t n, int64_t size, const float* centres, int64_t count,
                                     bool squared, float* apart, int16_t* out) {
  for (int64_t k = 0; k < n; ++k, points += size) {
    out[k] = int16_t(std::isnan(points[0]) ? -1
                     : squared ? nearest<true>(points, centres, int(count), int(size), apart)
                               : nearest<false>(points, centres, int(count), int(size), apart));
  }
}

extern "C" const char* NearestCentres(const float* points, int64_t n, int64_t size, const float* centres, int64_t count,
                                      int64_t squared, int16_t* out) {
  return in_words([&] {
    std::vector<float> apart(count);
    find_nearest(points, n, size, centres, count, squared != 0, apart.data(), out);
  });
}
