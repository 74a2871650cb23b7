// Showdowns and folds of card games on a CPU, a custom call of XLA; showdown_sweep.py says what goes in and out.

#include "sweep.h"

namespace {

template <typename T>
struct Leaves {
  int64_t count;
  const T *reach, *utility;  // [count, G], [count]
  T* values;                 // [count, H]
};

template <typename T>
INLINE void part(const View<T>& view, const Leaves<T>& leaves, bool showdown, Lanes<T>* lanes) {
  constexpr int64_t n = Lanes<T>::count;
  for (int64_t first = 0; first < leaves.count; first += n) {
    const T* reach[n];
    for (int64_t k = 0; k < n; ++k) reach[k] = leaves.reach + (first + k) * view.opponents;
    evaluate(view, showdown, std::min(n, leaves.count - first), leaves.utility + first, reach, lanes,
             leaves.values + first * view.hands);
  }
}

// The number of cards, of which the hands of a view have the last; it too takes half as long on a newer processor.
FOR_EACH_PROCESSOR int64_t count_cards(int64_t opponents, const int16_t* theirs, int64_t hands, const int16_t* mine) {
  int16_t last = 0;
  for (int64_t k = 0; k < 2 * opponents; ++k) last = std::max(last, theirs[k]);
  for (int64_t k = 0; k < 2 * hands; ++k) last = std::max(last, mine[k]);
  return last + 1;
}

FOR_EACH_PROCESSOR void both(const View<float>& view, const Leaves<float>& show, const Leaves<float>& fold,
                             Lanes<float>* lanes) {
  part(view, show, true, lanes);
  part(view, fold, false, lanes);
}

FOR_EACH_PROCESSOR void both(const View<double>& view, const Leaves<double>& show, const Leaves<double>& fold,
                             Lanes<double>* lanes) {
  part(view, show, true, lanes);
  part(view, fold, false, lanes);
}

template <ffi::DataType type, typename T>
ffi::Error run(ffi::Buffer<type> show, ffi::Buffer<type> fold, ffi::Buffer<type> stake,
               ffi::Buffer<type> constant, ffi::Buffer<type> weight, ffi::Buffer<type> scale,
               ffi::Buffer<ffi::S16> opponent, ffi::Buffer<ffi::S16> own, ffi::ResultBuffer<type> show_values,
               ffi::ResultBuffer<type> fold_values) {
  const auto shape = show_values->dimensions();
  const Batch batch(shape);
  const size_t axes = batch.axes();
  const int64_t G = weight.dimensions()[axes], H = scale.dimensions()[axes];
  const int64_t L0 = shape[axes], L1 = fold_values->dimensions()[axes];
  const auto job = [&](int64_t point) {
    const int16_t* theirs = batch.at(opponent, point);
    const int16_t* mine = batch.at(own, point);
    const View<T> view{G, H, count_cards(G, theirs + G, H, mine + H), batch.at(weight, point), batch.at(scale, point),
                       theirs, theirs + G, mine, mine + H, mine + 3 * H, mine + 4 * H, mine + 5 * H};
    both(view,
         Leaves<T>{L0, batch.at(show, point), batch.at(stake, point), batch.at(*show_values, point)},
         Leaves<T>{L1, batch.at(fold, point), batch.at(constant, point), batch.at(*fold_values, point)},
         kept_room<Lanes<T>>(view.lanes()));
  };
  Team team(batch.points * (L0 + L1) * (G + H) >= MANY ? std::min(cores(), batch.points) : 1);
  share_out(team, batch.points, job);
  return ffi::Error::Success();
}

template <ffi::DataType type>
auto bind() {
  using Floats = ffi::Buffer<type>;
  using Integers = ffi::Buffer<ffi::S16>;
  return ffi::Ffi::Bind().template Arg<Floats>().template Arg<Floats>().template Arg<Floats>()
      .template Arg<Floats>().template Arg<Floats>().template Arg<Floats>().template Arg<Integers>()
      .template Arg<Integers>().template Ret<Floats>().template Ret<Floats>();
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(Showdowns32, (Guarded<run<ffi::F32, float>>::call), bind<ffi::F32>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(Showdowns64, (Guarded<run<ffi::F64, double>>::call), bind<ffi::F64>());
