#include "base/state.h"

#include <cstring>

namespace sluice {

std::unexpected<Error> UnreadableState(std::string_view what) {
  return Corruption("the state of " + std::string(what) + " does not read back");
}

void StateWriter::PutInteger(std::int64_t value) {
  std::uint64_t bits =
      (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
  char raw[10];  // each byte has seven bits of the value
  std::size_t count = 0;
  for (; bits >= 0x80; bits >>= 7) raw[count++] = static_cast<char>(bits | 0x80);
  raw[count++] = static_cast<char>(bits);
  bytes_.append(raw, count);
}

void StateWriter::Put(double value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  bytes_.append(raw, sizeof raw);
}

void StateWriter::Put(std::string_view text) {
  PutInteger(static_cast<std::int64_t>(text.size()));
  bytes_.append(text);
}

std::int64_t StateReader::GetInteger() {
  std::uint64_t bits = 0;
  for (unsigned shift = 0; shift < 64 && ok_; shift += 7) {
    if (rest_.empty()) break;
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    bits |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return static_cast<std::int64_t>((bits >> 1) ^ (~(bits & 1) + 1));
  }
  ok_ = false;
  return 0;
}

void StateReader::Get(double& value) {
  if (!ok_ || rest_.size() < sizeof value) {
    ok_ = false;
    value = 0;
    return;
  }
  std::memcpy(&value, rest_.data(), sizeof value);
  rest_.remove_prefix(sizeof value);
}

void StateReader::Get(std::string& text) {
  const std::size_t size = Count();
  text.assign(rest_.substr(0, size));
  rest_.remove_prefix(size);
}

std::size_t StateReader::Count() {
  const auto count = static_cast<std::uint64_t>(GetInteger());
  if (!ok_ || count > rest_.size()) {
    ok_ = false;
    return 0;
  }
  return count;
}

Status StateReader::Finish() const {
  if (!ok_ || !rest_.empty()) return Corruption("a snapshot does not read back");
  return {};
}

}  // namespace sluice
