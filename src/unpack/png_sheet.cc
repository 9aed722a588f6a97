#include "unpack/png_sheet.h"

#include <fmt/format.h>
#include <png.h>

#include <string>
#include <utility>

#include "base/check.h"

namespace sluice::unpack {

// libpng reports an error by a jump to where setjmp was called. So each of the functions that call
// it (Guarded...) has no object with a destructor.
struct PngSheet::State {
  std::unique_ptr<ByteSource> source;
  std::uint64_t at = 0;
  png_structp png = nullptr;
  png_infop info = nullptr;
  Error error = {ErrorCode::kCorruption, ""};
  std::uint32_t rows_read = 0;

  explicit State(std::unique_ptr<ByteSource> its) : source(std::move(its)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { png_destroy_read_struct(&png, &info, nullptr); }

  bool Fill(std::span<char> into) {
    Status read = source->Read(at, into);
    at += into.size();
    if (!read) error = std::move(read).error();
    return read.has_value();
  }
  void Remember(const char* message) {
    if (error.message.empty())
      error.message = fmt::format("expected a PNG picture, found a damaged one: {}", message);
  }
};

namespace {

constexpr std::size_t kPngMarkBytes = 8;
constexpr std::size_t kMaxChunkBytes = std::size_t{16} << 20;

struct PngSize {
  png_uint_32 width = 0;
  png_uint_32 height = 0;
  int depth = 0;
  int colour = 0;
  int interlaced = 0;
};

template <typename State>
void ReadPngBytes(png_structp png, png_bytep into, std::size_t count) {
  auto* state = static_cast<State*>(png_get_io_ptr(png));
  if (!state->Fill({reinterpret_cast<char*>(into), count})) png_error(png, "it ends too early");
}

template <typename State>
[[noreturn]] void RememberPngError(png_structp png, png_const_charp message) {
  static_cast<State*>(png_get_error_ptr(png))->Remember(message);
  png_longjmp(png, 1);
}

void IgnorePngWarning(png_structp, png_const_charp) {}

bool GuardedReadHeader(png_structp png, png_infop info, PngSize* size) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_user_limits(png, PngSheet::kMaxWidth, PngSheet::kMaxHeight);
  png_set_chunk_malloc_max(png, kMaxChunkBytes);
  png_read_info(png, info);
  png_get_IHDR(png, info, &size->width, &size->height, &size->depth, &size->colour,
               &size->interlaced, nullptr, nullptr);
  return true;
}

bool GuardedReadRow(png_structp png, png_bytep into) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_read_row(png, into, nullptr);
  return true;
}

// What comes after the last row: checksums, and the end mark.
bool GuardedReadEnd(png_structp png) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_read_end(png, nullptr);
  return true;
}

}  // namespace

PngSheet::PngSheet(std::unique_ptr<State> state) : state_(std::move(state)) {}
PngSheet::PngSheet(PngSheet&&) noexcept = default;
PngSheet::~PngSheet() = default;

Result<PngSheet> PngSheet::Open(std::unique_ptr<ByteSource> source) {
  PngSheet sheet(std::make_unique<State>(std::move(source)));
  State& state = *sheet.state_;
  std::string mark(kPngMarkBytes, '\0');
  if (state.source->size() < mark.size() || !state.source->Read(0, mark) ||
      png_sig_cmp(reinterpret_cast<png_const_bytep>(mark.data()), 0, mark.size()) != 0)
    return InvalidArgument("expected a PNG picture, found another kind of file");
  state.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &state, RememberPngError<State>,
                                     IgnorePngWarning);
  SLUICE_CHECK(state.png != nullptr, "libpng is the one it was built with");
  state.info = png_create_info_struct(state.png);
  SLUICE_CHECK(state.info != nullptr, "there is memory for a header");
  png_set_read_fn(state.png, &state, ReadPngBytes<State>);
  PngSize size;
  if (!GuardedReadHeader(state.png, state.info, &size)) return std::unexpected(state.error);
  const bool is_plain = size.colour == PNG_COLOR_TYPE_GRAY || size.colour == PNG_COLOR_TYPE_RGB;
  if (!is_plain || size.depth != 8 || size.interlaced != PNG_INTERLACE_NONE) {
    return InvalidArgument(fmt::format(
        "expected a gray or RGB picture of 8 bits a channel that is not interlaced, found {} bits, "
        "colour type {}{}: convert it, for example with 'convert IN -alpha off -interlace none "
        "-depth 8 PNG24:OUT'",
        size.depth, size.colour, size.interlaced != 0 ? ", interlaced" : ""));
  }
  sheet.width_ = size.width;
  sheet.height_ = size.height;
  sheet.channels_ = size.colour == PNG_COLOR_TYPE_GRAY ? 1 : 3;
  return sheet;
}

Status PngSheet::ReadRow(std::span<char> into) {
  SLUICE_CHECK(into.size() == std::size_t{width_} * channels_, "a row has the picture's width");
  SLUICE_CHECK(state_->rows_read < height_, "only rows of the picture are read");
  if (!GuardedReadRow(state_->png, reinterpret_cast<png_bytep>(into.data())))
    return std::unexpected(state_->error);
  if (++state_->rows_read == height_ && !GuardedReadEnd(state_->png))
    return std::unexpected(state_->error);
  return {};
}

}  // namespace sluice::unpack
