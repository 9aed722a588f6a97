// rooms: wire

// Whatever a worker or a program sends is a message or is refused; what is taken can be
// sent on and means the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "wire/message.h"
#include "wire/worker_link.h"

namespace {

using namespace sluice;

// What decodes re-encodes to a line that decodes to the same.
template <typename Message>
void RoundTrip(const Message& message, Result<Message> (*decode)(std::string_view)) {
  const std::string line = wire::Encode(message);
  if (line.find('\n') != std::string::npos) std::abort();
  const Result<Message> again = decode(line);
  // Escapes may make a line longer than it came; then it is refused for that alone.
  if (!again && line.size() <= wire::kLongestLine) std::abort();
  if (again && wire::Encode(*again) != line) std::abort();
}

void TryLine(std::string_view line, wire::WorkerLink& link) {
  if (const auto message = wire::DecodeFromWorker(line)) {
    RoundTrip(*message, wire::DecodeFromWorker);
    const bool greeted = link.greeted();
    const auto step = link.Hear(*message, FromMicros(1));
    if (step && *step == wire::WorkerLink::Step::kNumbered &&
        (!greeted || !link.Holds(wire::NumberOf(*message).at)))
      std::abort();
    if (step && *step == wire::WorkerLink::Step::kGreeted) {
      for (const wire::LaunchRef& at : link.hello().launches) link.Hold(at, 0);
    }
  } else if (message.error().code != ErrorCode::kInvalidArgument ||
             message.error().message.empty()) {
    std::abort();
  }
  if (const auto message = wire::DecodeToWorker(line)) RoundTrip(*message, wire::DecodeToWorker);
  if (const auto report = wire::DecodeOutputLine(line, "loss", "epoch"); report && *report) {
    if ((*report)->work && (*(*report)->work < 0 || *(*report)->work > (std::int64_t{1} << 53)))
      std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  // The first byte says how the stream is cut into reads.
  const std::size_t step = 1 + data[0];
  const std::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);
  wire::LineBuffer buffer;
  wire::WorkerLink link;
  std::size_t taken = 0;
  for (std::size_t at = 0; at < stream.size(); at += step) {
    buffer.Append(stream.substr(at, step));
    while (const auto line = buffer.Next()) {
      if (*line != stream.substr(taken, line->size()) || stream[taken + line->size()] != '\n')
        std::abort();
      taken += line->size() + 1;
      TryLine(*line, link);
    }
    if (buffer.overflown() != (at + step < stream.size()
                                   ? at + step - taken > wire::kLongestLine
                                   : stream.size() - taken > wire::kLongestLine)) {
      std::abort();
    }
  }
  TryLine(stream.substr(taken), link);
  return 0;
}
