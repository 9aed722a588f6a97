#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/files/byte_source.h"
#include "base/result.h"

namespace sluice::unpack {

// A PNG picture, read row by row: gray or RGB, 8 bits a channel, not interlaced. libpng is used by
// this class alone.
class PngSheet {
 public:
  static constexpr std::uint32_t kMaxWidth = 1 << 16;
  static constexpr std::uint32_t kMaxHeight = 10'000'000;

  // Fails with corruption if the file is damaged, with invalid_argument if it is another kind of
  // file or picture, or larger than this.
  static Result<PngSheet> Open(std::unique_ptr<ByteSource> source);

  PngSheet(PngSheet&&) noexcept;
  PngSheet& operator=(PngSheet&&) = delete;
  ~PngSheet();

  std::uint32_t width() const { return width_; }
  std::uint32_t height() const { return height_; }
  std::uint32_t channels() const { return channels_; }  // 1 or 3

  // The next row: width() times channels() bytes, pixel by pixel. At most height() rows are read.
  Status ReadRow(std::span<char> into);

 private:
  struct State;
  explicit PngSheet(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
  std::uint32_t width_ = 0;
  std::uint32_t height_ = 0;
  std::uint32_t channels_ = 0;
};

}  // namespace sluice::unpack
