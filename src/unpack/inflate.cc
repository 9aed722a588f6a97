#include "unpack/inflate.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <string>

#include "base/check.h"

namespace sluice::unpack {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 17;
constexpr int kWindowBits = 15;
constexpr int kGzipHeader = 16;  // added to the window's bits

// zlib's state, ended with the object.
class Stream {
 public:
  explicit Stream(Packing packing) {
    const int bits = packing == Packing::kGzip ? kWindowBits + kGzipHeader : -kWindowBits;
    SLUICE_CHECK(inflateInit2(&state_, bits) == Z_OK, "zlib begins if there is memory");
  }
  ~Stream() { inflateEnd(&state_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  z_stream& operator*() { return state_; }
  z_stream* operator->() { return &state_; }

 private:
  z_stream state_{};
};

class Inflation {
 public:
  Inflation(const ByteSource& packed, Packing packing, std::uint64_t most_bytes,
            const ByteSink& sink)
      : packed_(packed),
        packing_(packing),
        most_bytes_(most_bytes),
        sink_(sink),
        stream_(packing) {}

  Result<std::uint64_t> Run() {
    while (true) {
      SLUICE_TRY(Refill());
      if (ended_) {
        if (stream_->avail_in == 0) return total_;
        if (packing_ != Packing::kGzip)
          return Corruption("expected nothing after its packed bytes, found more");
        // Another gzip file follows.
        SLUICE_CHECK(inflateReset(&*stream_) == Z_OK, "a stream that began can begin again");
        ended_ = false;
      } else if (stream_->avail_in == 0) {
        return Corruption("its packed bytes end too early: is it truncated?");
      }
      SLUICE_TRY(Step());
    }
  }

 private:
  Status Refill() {
    if (stream_->avail_in > 0 || at_ == packed_.size()) return {};
    const auto many =
        static_cast<std::size_t>(std::min<std::uint64_t>(kPieceBytes, packed_.size() - at_));
    SLUICE_TRY(packed_.Read(at_, std::span(in_).first(many)));
    at_ += many;
    stream_->next_in = reinterpret_cast<Bytef*>(in_.data());
    stream_->avail_in = static_cast<uInt>(many);
    return {};
  }

  Status Step() {
    stream_->next_out = reinterpret_cast<Bytef*>(out_.data());
    stream_->avail_out = static_cast<uInt>(out_.size());
    const uInt given = stream_->avail_in;
    const int answer = inflate(&*stream_, Z_NO_FLUSH);
    const std::size_t made = out_.size() - stream_->avail_out;
    if (answer != Z_OK && answer != Z_STREAM_END) {
      return Corruption(fmt::format("its packed bytes are damaged: {}",
                                    stream_->msg != nullptr ? stream_->msg : "they do not fit"));
    }
    SLUICE_CHECK(answer == Z_STREAM_END || made > 0 || stream_->avail_in < given,
                 "each step takes or makes bytes");
    ended_ = answer == Z_STREAM_END;
    if (made > most_bytes_ - total_) {
      return InvalidArgument(
          fmt::format("expected at most {} bytes unpacked, found more", most_bytes_));
    }
    total_ += made;
    return made == 0 ? Status{} : sink_(std::span(out_).first(made));
  }

  const ByteSource& packed_;
  Packing packing_;
  std::uint64_t most_bytes_;
  const ByteSink& sink_;
  Stream stream_;
  std::string in_ = std::string(kPieceBytes, '\0');
  std::string out_ = std::string(kPieceBytes, '\0');
  std::uint64_t at_ = 0;  // in the packed bytes
  std::uint64_t total_ = 0;
  bool ended_ = false;
};

}  // namespace

Result<std::uint64_t> Inflate(const ByteSource& packed, Packing packing, std::uint64_t most_bytes,
                              const ByteSink& sink) {
  return Inflation(packed, packing, most_bytes, sink).Run();
}

std::uint32_t AddToCrc32(std::uint32_t before, std::span<const char> bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace sluice::unpack
