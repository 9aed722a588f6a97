#include "launcher/capture.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sluice {
namespace {

constexpr std::size_t kLongestResult = 1 << 20;
constexpr std::size_t kMostWaiting = 8 << 20;
constexpr char kNotice[] = "\n[sluice: output beyond the cap was dropped]\n";

}  // namespace

bool Capture::Pump() {
  char buffer[65536];
  const ssize_t size = read(from_, buffer, sizeof buffer);
  if (size < 0) return errno == EINTR || errno == EAGAIN;
  if (size == 0) {
    EndLine();  // a last line without its newline
    return false;
  }
  Keep(buffer, static_cast<std::size_t>(size));
  return true;
}

void Capture::Keep(const char* bytes, std::size_t size) {
  if (!capped_) {
    const std::size_t fits =
        left_ < static_cast<long long>(size) ? static_cast<std::size_t>(left_) : size;
    Write(bytes, fits);
    left_ -= static_cast<long long>(fits);
    const auto* newline = static_cast<const char*>(fits > 0 ? memrchr(bytes, '\n', fits) : nullptr);
    const char* line = newline != nullptr
                           ? newline + 1
                           : bytes;  // where the last line begins, if it begins in these bytes
    if (newline != nullptr) at_line_start_ = true;
    if (at_line_start_ && line < bytes + fits) {
      at_line_start_ = false;
      in_result_ = *line == '{';
    }
    if (fits == size) return;
    capped_ = true;
    // If the cap falls into a line that may be a result, the line is kept whole. Others are cut.
    finishing_ = !at_line_start_ && in_result_;
    skipping_ = !at_line_start_ && !in_result_;
    if (!finishing_) Write(kNotice, sizeof kNotice - 1);
    bytes += fits;
    size -= fits;
  }
  KeepResults(bytes, size);
}

void Capture::KeepResults(const char* bytes, std::size_t size) {
  while (size > 0) {
    const auto* end = static_cast<const char*>(std::memchr(bytes, '\n', size));
    const std::size_t length = end != nullptr ? static_cast<std::size_t>(end - bytes) + 1 : size;
    const bool begun = finishing_ || !line_.empty();
    const bool wanted =
        !skipping_ && (begun || bytes[0] == '{') && line_.size() + length <= kLongestResult;
    if (wanted) {
      line_.append(bytes, length);
    } else {
      dropped_ += static_cast<long long>(length + line_.size());
      line_.clear();
      skipping_ = true;
    }
    if (end != nullptr || skipping_) EndLine();
    if (end != nullptr) skipping_ = false;
    bytes += length;
    size -= length;
  }
}

// Writes or drops the line that was gathered beyond the cap. It is complete, or its rest will not
// come.
void Capture::EndLine() {
  if (left_for_results_ >= static_cast<long long>(line_.size())) {
    Write(line_.data(), line_.size());
    left_for_results_ -= static_cast<long long>(line_.size());
  } else {
    dropped_ += static_cast<long long>(line_.size());
  }
  line_.clear();
  if (finishing_) Write(kNotice, sizeof kNotice - 1);
  finishing_ = false;
}

void Capture::Write(const char* bytes, std::size_t size) {
  const std::size_t written = waiting_.empty() ? WriteNow(bytes, size) : 0;
  if (written == size) return;
  const std::size_t left = size - written;
  if (waiting_.size() + left > kMostWaiting) {
    lost_ += static_cast<long long>(left);
    // Ends the line of which a part is lost, so that later output does not continue it.
    if (waiting_.empty() || waiting_.back() != '\n') waiting_ += '\n';
    return;
  }
  waiting_.append(bytes + written, left);
}

void Capture::TryAgain() { waiting_.erase(0, WriteNow(waiting_.data(), waiting_.size())); }

void Capture::GiveUp() {
  lost_ += static_cast<long long>(waiting_.size());
  waiting_.clear();
}

// Writes as much as the disk takes now. Returns how many bytes that was.
std::size_t Capture::WriteNow(const char* bytes, std::size_t size) const {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t written = write(to_, bytes + done, size - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    done += static_cast<std::size_t>(written);
  }
  return done;
}

}  // namespace sluice
