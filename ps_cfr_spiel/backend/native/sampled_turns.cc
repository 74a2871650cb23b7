// Turns of outcome and external sampling, one trajectory after the other: a custom call of XLA. native_turns.py
// has its arguments and results.
//
// The samplers of outcome.py and external.py are the reference: with the same seed this samples the same trajectories,
// because its random numbers are those of jax.random, each made when it is asked for. Policies stand still until a
// batch is over, so its increments are added up first.

#include "sampling.h"

namespace {

constexpr int32_t kChance = 1000, kTerminal = 1001;  // as in sampling_tree.py

// A `SamplingTree`, and the types that were dealt; pointers are null to arrays that it does not have.
template <typename T>
struct Tree {
  int64_t nodes, cells, actions, players, depth;
  const int32_t *actor, *first, *count, *cell, *sets;
  const T *chance, *cumulative, *utility;
  bool general_sum;
  // The deal.
  const T *first_type, *second_type, *stake;
  const int32_t *strength[2], *runout, *came, *held[2];
  int64_t types[2];
  int32_t dealt[2] = {0, 0};

  // The first of n places in `cumulative` above u, or the last.
  static int64_t find(const T* cumulative, int64_t n, T u) {
    int64_t low = 0, high = n - 1;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      u >= cumulative[middle] ? low = middle + 1 : high = middle;
    }
    return low;
  }
  void deal(Uniforms<T>& uniforms) {
    if (!first_type) return;
    dealt[0] = find(first_type, types[0], uniforms[depth]);
    dealt[1] = find(second_type + dealt[0] * types[1], types[1], uniforms[depth + 1]);
  }
  // Whether chance can move to a node, given the types.
  bool possible(int64_t node) const {
    for (int player = 0; came && player < 2; ++player) {
      const int32_t* hand = held[player] + 2 * dealt[player];
      if (came[node] == hand[0] || came[node] == hand[1]) return false;
    }
    return true;
  }
  T chance_of(int64_t node) const { return possible(node) ? chance[node] : T(0); }
  int64_t sample_chance(int64_t node, T u) const {
    const int64_t begin = first[node], n = count[node];
    if (!first_type) return begin + find(cumulative + begin, n, u);
    int64_t live = 0, passed = 0, child = begin;
    for (int64_t k = 0; k < n; ++k) live += chance_of(begin + k) > 0;
    const T wanted = u * live;
    for (; child < begin + n - 1; ++child) {
      passed += chance_of(child) > 0;
      if (passed > wanted) break;
    }
    return child;
  }
  int64_t cell_at(int64_t node) const {
    const int64_t infostate = cell[node] + (first_type ? dealt[actor[node] != 0] : 0);
    return sets ? sets[infostate] : infostate;
  }
  // To player 0; in general sum to the traverser.
  T end_utility(int64_t node, int64_t traverser) const {
    const T fixed = utility[general_sum ? traverser * nodes + node : node];
    if (!first_type) return fixed;
    const int32_t one = strength[0][runout[node] * types[0] + dealt[0]];
    const int32_t other = strength[1][runout[node] * types[1] + dealt[1]];
    const int lead = (one > other) - (one < other);
    return fixed + stake[node] * (general_sum && traverser ? -lead : lead);
  }
  T sign(int64_t traverser) const { return general_sum || traverser == 0 ? T(1) : T(-1); }
};

// The numbers of a run.
template <typename T>
struct Options {
  int64_t batch;
  T exploration, floor, decay;
  bool decisions, outcomes;      // whether a learned baseline applies to the moves of players, and of chance
  int64_t first_decision;        // the depth at which a player first acts
};

// The increments of a batch of trajectories to a table whose entries are n numbers each.
template <typename T>
struct Increments {
  int64_t n;
  Zeros<T> sum;
  Zeros<int32_t> visits;
  std::vector<int64_t> touched;

  Increments(int64_t entries, int64_t n) : n(n), sum(zeros<T>(entries * n)), visits(zeros<int32_t>(entries)) {}
  T* at(int64_t entry) {
    if (!visits[entry]++) touched.push_back(entry);
    return &sum[entry * n];
  }
  // Takes them to `add(entry, sum, visits)`, and forgets them.
  template <typename Add>
  void flush(const Add& add) {
    for (int64_t entry : touched) {
      add(entry, &sum[entry * n], visits[entry]);
      std::fill_n(&sum[entry * n], n, T(0));
      visits[entry] = 0;
    }
    touched.clear();
  }
};

template <typename T>
class Sampler {
 public:
  Sampler(Tree<T> tree, const Options<T>& options, const uint32_t* key, T* regrets, T* compensation, T* learned,
          int64_t entries)
      : tree_(tree), options_(options), uniforms_(key, tree.depth + (tree.first_type ? 2 : 0), options.batch),
        regrets_(regrets), compensation_(compensation), learned_(learned),
        gains_(tree.cells, tree.actions), lessons_(entries, 1),
        policies_((tree.depth + 1) * tree.actions), moves_((tree.depth + 1) * tree.actions) {
    steps_.reserve(tree.depth);
  }

  // One turn; `weight` is that of its iteration in the average.
  void turn(int64_t number, bool external, T weight) {
    traverser_ = number % tree_.players;
    averaged_ = (traverser_ + 1) % tree_.players;
    share_ = -weight / options_.batch;
    for (int64_t b = 0; b < options_.batch; ++b) {
      uniforms_.begin(number, b);
      tree_.deal(uniforms_);
      external ? void(traverse(0, 0)) : follow();
    }
    learn();
  }

 private:
  struct Step {
    int64_t node, child, cell;
    T chosen, weight;  // the probability of the sampled move, and of eq. 17.18 before it; of players
  };

  T* policy(int64_t cell, int64_t count, int64_t depth) {
    T* p = &policies_[depth * tree_.actions];
    regret_matching(regrets_ + cell, tree_.cells, count, p);
    return p;
  }

  void average(int64_t cell, int64_t count, const T* p, T weight) {
    for (int64_t a = 0; a < count; ++a) compensation_[a * tree_.cells + cell] += share_ * weight * p[a];
  }

  // External sampling: the value of a history to the traverser (external.py).
  T traverse(int64_t node, int64_t depth) {
    const int32_t actor = tree_.actor[node];
    if (actor == kTerminal) return tree_.end_utility(node, traverser_) * tree_.sign(traverser_);
    if (actor == kChance) return traverse(tree_.sample_chance(node, uniforms_[depth]), depth + 1);
    const int64_t cell = tree_.cell_at(node), count = tree_.count[node], first = tree_.first[node];
    const T* p = policy(cell, count, depth);
    if (actor != traverser_) {
      if (actor == averaged_) average(cell, count, p, 1);
      const int64_t move = sample(count, uniforms_[depth], [&](int64_t a) { return p[a]; });
      return traverse(first + move, depth + 1);
    }
    T *moves = &moves_[depth * tree_.actions], mean = 0;
    for (int64_t a = 0; a < count; ++a) mean += p[a] * (moves[a] = traverse(first + a, depth + 1));
    T* gain = gains_.at(cell);
    for (int64_t a = 0; a < count; ++a) gain[a] += moves[a] - mean;
    return mean;
  }

  // Outcome sampling: a trajectory down, and estimates up (outcome.py).
  void follow() {
    int64_t node = 0;
    T weight = 1;
    steps_.clear();
    for (int64_t depth = 0; tree_.actor[node] != kTerminal; ++depth) {
      const int32_t actor = tree_.actor[node];
      if (actor == kChance) {
        const int64_t child = tree_.sample_chance(node, uniforms_[depth]);
        steps_.push_back({node, child, 0, 1, weight});
        node = child;
        continue;
      }
      const int64_t cell = tree_.cell_at(node), count = tree_.count[node];
      const T *p = policy(cell, count, depth), explored = actor == traverser_ ? options_.exploration : T(0);
      const T even = T(1) / count;
      const auto xi = [&](int64_t a) { return explored * even + (1 - explored) * p[a]; };
      const int64_t move = sample(count, uniforms_[depth], xi);
      steps_.push_back({node, tree_.first[node] + move, cell, xi(move), weight});
      if (actor == traverser_) weight /= xi(move);
      node = steps_.back().child;
    }
    T value = tree_.end_utility(node, traverser_);
    for (int64_t depth = steps_.size(); depth-- > options_.first_decision;) {
      const Step& step = steps_[depth];
      value = tree_.actor[step.node] == kChance ? before_chance(step, value) : before_decision(step, depth, value);
    }
  }

  T before_chance(const Step& step, T value) {
    if (!options_.outcomes) return value;
    const T* guess = learned_ + tree_.actions * tree_.cells;
    const int64_t first = tree_.first[step.node], entry = tree_.actions * tree_.cells + step.child;
    T mean = 0;
    for (int64_t child = first; child < first + tree_.count[step.node]; ++child) {
      mean += tree_.chance_of(child) * guess[child];
    }
    *lessons_.at(entry) += value;
    return mean + value - learned_[entry];
  }

  T before_decision(const Step& step, int64_t depth, T value) {
    const int64_t count = tree_.count[step.node], sampled = step.child - tree_.first[step.node];
    const T* p = &policies_[depth * tree_.actions];
    const auto guess = [&](int64_t a) { return options_.decisions ? learned_[a * tree_.cells + step.cell] : T(0); };
    T *moves = &moves_[0], mean = 0;
    for (int64_t a = 0; a < count; ++a) {
      moves[a] = guess(a) + (a == sampled ? (value - guess(a)) / step.chosen : T(0));
      mean += p[a] * moves[a];
    }
    if (options_.decisions) *lessons_.at(sampled * tree_.cells + step.cell) += value;
    const int32_t actor = tree_.actor[step.node];
    if (actor == traverser_) {
      const T weight = tree_.sign(traverser_) * step.weight;
      T* gain = gains_.at(step.cell);
      for (int64_t a = 0; a < count; ++a) gain[a] += (moves[a] - mean) * weight;
    } else if (actor == averaged_) {
      average(step.cell, count, p, step.weight);
    }
    return mean;
  }

  void learn() {
    gains_.flush([&](int64_t cell, const T* gain, int32_t) {
      for (int64_t a = 0; a < tree_.actions; ++a) {
        T& regret = regrets_[a * tree_.cells + cell];
        regret = above(regret + gain[a] / options_.batch, options_.floor);
      }
    });
    lessons_.flush([&](int64_t entry, const T* target, int32_t visits) {
      const T step = options_.decay * (*target - visits * learned_[entry]);
      learned_[entry] += options_.batch > 1 ? step / visits : step;
    });
  }

  Tree<T> tree_;
  const Options<T> options_;
  Uniforms<T> uniforms_;
  T *regrets_, *compensation_, *learned_;
  Increments<T> gains_, lessons_;
  std::vector<T> policies_, moves_;  // by depth
  std::vector<Step> steps_;
  int64_t traverser_ = 0, averaged_ = 0;
  T share_ = 0;
};

// Given: the arrays of the tree and of its deal, `Deal.cards` included, empty where it has none; the key of the block;
// int32[3], the iterations before the block, its first turn and the one behind its last; and the tables, which come
// back changed.
template <ffi::DataType type>
ffi::Error sample_turns(ffi::RemainingArgs given, ffi::RemainingRets returned, int64_t external, int64_t players,
                        int64_t depth, int64_t first_decision, int64_t batch, int64_t decisions, int64_t outcomes,
                        double exploration, double floor, double decay, double gamma) {
  using T = ffi::NativeType<type>;
  const auto number = [&](auto buffer) { return buffer.element_count() ? buffer.typed_data() : nullptr; };
  const auto floats = [&](int64_t k) { return number(*given.get<ffi::Buffer<type>>(k)); };
  const auto integers = [&](int64_t k) { return number(*given.get<ffi::Buffer<ffi::S32>>(k)); };
  const auto sizes = [&](int64_t k) { return (*given.get<ffi::AnyBuffer>(k)).dimensions(); };
  constexpr int kKey = 17, kTables = kKey + 2;
  T* tables[3];
  for (int64_t k = 0; k < 3; ++k) {
    auto after = **returned.get<ffi::Buffer<type>>(k);
    tables[k] = after.typed_data();
    const T* before = floats(kTables + k);
    if (before && before != tables[k]) std::copy_n(before, after.element_count(), tables[k]);
  }
  Tree<T> tree;
  tree.nodes = sizes(0)[0];
  tree.actions = sizes(kTables)[0];
  tree.cells = sizes(kTables)[1];
  tree.players = players;
  tree.depth = depth;
  tree.actor = integers(0);
  tree.first = integers(1);
  tree.count = integers(2);
  tree.cell = integers(3);
  tree.sets = integers(4);
  tree.chance = floats(5);
  tree.cumulative = floats(6);
  tree.utility = floats(7);
  tree.general_sum = sizes(7).size() == 2;
  tree.first_type = floats(8);
  tree.second_type = floats(9);
  tree.stake = floats(10);
  tree.runout = integers(11);
  tree.came = integers(14);
  for (int player : {0, 1}) {
    tree.strength[player] = integers(12 + player);
    tree.types[player] = sizes(12 + player)[1];
    tree.held[player] = integers(15 + player);
  }
  const Options<T> options{batch, T(exploration), T(floor), T(decay), bool(decisions), bool(outcomes), first_decision};
  const uint32_t* key = (*given.get<ffi::Buffer<ffi::U32>>(kKey)).typed_data();
  const int32_t* turns = integers(kKey + 1);
  Sampler<T> sampler(tree, options, key, tables[0], tables[1], tables[2], sizes(kTables + 2)[0]);
  for (int64_t n = turns[1]; n < turns[2]; ++n) {
    sampler.turn(n, external, weight(turns[0] + n / players + 1, T(gamma)));
  }
  return ffi::Error::Success();
}

template <ffi::DataType type>
auto bind() {
  return ffi::Ffi::Bind().RemainingArgs().RemainingRets().template Attr<int64_t>("external")
      .template Attr<int64_t>("players").template Attr<int64_t>("depth").template Attr<int64_t>("first_decision")
      .template Attr<int64_t>("batch").template Attr<int64_t>("decisions").template Attr<int64_t>("outcomes")
      .template Attr<double>("exploration").template Attr<double>("floor").template Attr<double>("decay")
      .template Attr<double>("gamma");
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(Turns32, Guarded<sample_turns<ffi::F32>>::call, bind<ffi::F32>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(Turns64, Guarded<sample_turns<ffi::F64>>::call, bind<ffi::F64>());
