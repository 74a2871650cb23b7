// The version of the library's interface, and a call of a handler on arrays in memory, with the frame that XLA would make:
// a program of XLA, whose arguments are dozens of arrays, takes some 0.1 ms to start, and ten iterations of a small game
// take less.

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

#include "native.h"

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

struct XLA_FFI_Error {
  std::string message;
};

namespace {

XLA_FFI_Error* failure(XLA_FFI_Error_Create_Args* args) { return new XLA_FFI_Error{args->message}; }

const XLA_FFI_Api* api() {
  static const XLA_FFI_Api made = [] {
    XLA_FFI_Api api{};
    api.struct_size = XLA_FFI_Api_STRUCT_SIZE;
    api.api_version = {XLA_FFI_Api_Version_STRUCT_SIZE, nullptr, XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR};
    api.XLA_FFI_Error_Create = failure;
    return api;
  }();
  return &made;
}

// While it lives, numbers below the normal ones count as zero, as XLA computes: they take long, and other bits.
struct Flushed {
#ifdef __SSE2__
  const unsigned before = _mm_getcsr();
  Flushed() { _mm_setcsr(before | 0x8040); }  // results to zero, and what goes in
  ~Flushed() { _mm_setcsr(before); }
#endif
};

// By the letter of NumPy's kind, and bytes.
XLA_FFI_DataType dtype(int64_t kind, int64_t bytes) {
  const auto sized = [&](XLA_FFI_DataType one, XLA_FFI_DataType two, XLA_FFI_DataType four, XLA_FFI_DataType eight) {
    return bytes == 1 ? one : bytes == 2 ? two : bytes == 4 ? four : eight;
  };
  if (kind == 'f') return bytes == 4 ? XLA_FFI_DataType_F32 : XLA_FFI_DataType_F64;
  if (kind == 'u') return sized(XLA_FFI_DataType_U8, XLA_FFI_DataType_U16, XLA_FFI_DataType_U32, XLA_FFI_DataType_U64);
  return sized(XLA_FFI_DataType_S8, XLA_FFI_DataType_S16, XLA_FFI_DataType_S32, XLA_FFI_DataType_S64);
}

}  // namespace

extern "C" int64_t InterfaceVersion() { return INTERFACE; }

// Calls `handler` with arrays at `data`, first the `given` and then the `returned`; `shapes` has of each the kind, the
// bytes of a number, the axes, and the length of each axis. `names` are of `values`, sorted.
extern "C" const char* HandlerCall(XLA_FFI_Handler* handler, void* const* data, int64_t* shapes, int64_t given,
                                   int64_t returned, const char* const* names, int64_t* values,
                                   int64_t count) {
  return in_words([&] {
    const int64_t all = given + returned;
    std::vector<XLA_FFI_Buffer> buffers(all);
    std::vector<void*> places(all), attributes(count);
    for (int64_t k = 0; k < all; ++k) {
      buffers[k] = {XLA_FFI_Buffer_STRUCT_SIZE, nullptr, dtype(shapes[0], shapes[1]), data[k], shapes[2], shapes + 3};
      places[k] = &buffers[k];
      shapes += 3 + shapes[2];
    }
    std::vector<XLA_FFI_ByteSpan> spans(count);
    std::vector<XLA_FFI_ByteSpan*> of_names(count);
    std::vector<XLA_FFI_Scalar> scalars(count);
    for (int64_t k = 0; k < count; ++k) {
      spans[k] = {names[k], std::strlen(names[k])};
      scalars[k] = {XLA_FFI_DataType_S64, values + k};
      of_names[k] = &spans[k];
      attributes[k] = &scalars[k];
    }
    std::vector<XLA_FFI_ArgType> arguments(given, XLA_FFI_ArgType_BUFFER);
    std::vector<XLA_FFI_RetType> results(returned, XLA_FFI_RetType_BUFFER);
    std::vector<XLA_FFI_AttrType> kinds(count, XLA_FFI_AttrType_SCALAR);
    XLA_FFI_CallFrame frame{};
    frame.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
    frame.api = api();
    frame.stage = XLA_FFI_ExecutionStage_EXECUTE;
    frame.args = {XLA_FFI_Args_STRUCT_SIZE, nullptr, given, arguments.data(), places.data()};
    frame.rets = {XLA_FFI_Rets_STRUCT_SIZE, nullptr, returned, results.data(), places.data() + given};
    frame.attrs = {XLA_FFI_Attrs_STRUCT_SIZE, nullptr, count, kinds.data(), of_names.data(), attributes.data()};
    const Flushed flushed;
    if (const std::unique_ptr<XLA_FFI_Error> error{handler(&frame)}) throw std::runtime_error(error->message);
  });
}
