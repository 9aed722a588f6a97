#include "data/formats/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace sluice::data {
namespace {

constexpr std::string_view kNpyMark("\x93NUMPY", 6);
constexpr std::size_t kNpyFixedBytes = 8;  // the mark and the version
// NumPy's own are below 200 bytes.
constexpr std::size_t kMaxNpyHeaderBytes = 1 << 16;
constexpr std::size_t kMaxNpyAxes = 32;
constexpr std::size_t kNpyAlignment = 64;

struct NpyType {
  std::string_view name;  // without the byte order
  DType dtype;
};
constexpr NpyType kNpyTypes[] = {
    {"u1", DType::kUint8},   {"i1", DType::kInt8},    {"u2", DType::kUint16},
    {"i2", DType::kInt16},   {"u4", DType::kUint32},  {"i4", DType::kInt32},
    {"u8", DType::kUint64},  {"i8", DType::kInt64},   {"f2", DType::kFloat16},
    {"f4", DType::kFloat32}, {"f8", DType::kFloat64},
};

// Reads the header's text, a dictionary of Python, as far as it has what .npy files have in it.
class NpyDictionary {
 public:
  explicit NpyDictionary(std::string_view text) : rest_(text) {}

  // False if the text is anything else.
  bool Read() {
    if (!Skip('{')) return false;
    while (!Skip('}')) {
      const auto key = Quoted();
      if (!key || !Skip(':') || !ReadValue(*key)) return false;
      if (Skip(',')) continue;
      if (Skip('}')) break;
      return false;
    }
    SkipBlanks();
    return rest_.empty() && has_descr_ && has_fortran_ && has_shape_;
  }

  bool is_record = false;
  std::string_view descr;
  bool fortran = false;
  std::vector<std::int64_t> shape;

 private:
  void SkipBlanks() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n' || rest_[0] == '\t'))
      rest_.remove_prefix(1);
  }
  bool Skip(char letter) {
    SkipBlanks();
    if (!rest_.starts_with(letter)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool SkipWord(std::string_view word) {
    SkipBlanks();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  std::optional<std::string_view> Quoted() {
    SkipBlanks();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return std::nullopt;
    const std::size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }
  bool ReadValue(std::string_view key) {
    if (key == "descr" && !has_descr_) {
      SkipBlanks();
      is_record = rest_.starts_with('[');
      const auto text = Quoted();
      if (text) descr = *text;
      return has_descr_ = text.has_value();
    }
    if (key == "fortran_order" && !has_fortran_) {
      fortran = SkipWord("True");
      return has_fortran_ = fortran || SkipWord("False");
    }
    return key == "shape" && !has_shape_ && (has_shape_ = ReadShape());
  }
  bool ReadShape() {
    if (!Skip('(')) return false;
    while (!Skip(')')) {
      SkipBlanks();
      std::int64_t size = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (error != std::errc() || size < 0 || shape.size() == kMaxNpyAxes) return false;
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      if (rest_.starts_with('L')) rest_.remove_prefix(1);  // Python 2 wrote longs so
      shape.push_back(size);
      if (Skip(',')) continue;
      if (Skip(')')) break;
      return false;
    }
    return true;
  }

  std::string_view rest_;
  bool has_descr_ = false;
  bool has_fortran_ = false;
  bool has_shape_ = false;
};

// Where the dictionary lies, and the elements after it.
struct NpyLayout {
  std::size_t text = 0;
  std::size_t elements = 0;
};

Result<NpyLayout> LayoutOf(std::string_view head, const std::string& path) {
  if (!LooksLikeNpy(head) || head.size() < kNpyFixedBytes + 4) {
    const bool zipped = head.starts_with("PK");
    return InvalidArgument(
        fmt::format("{}: expected an .npy file, as numpy.save writes it, found {}", path,
                    zipped         ? "a zip file (an .npz?): unpack it with 'sluice data import'"
                    : head.empty() ? "an empty file"
                                   : "something else"));
  }
  const auto at = [&](std::size_t place) { return static_cast<unsigned char>(head[place]); };
  const unsigned version = at(6);
  if (version < 1 || version > 3 || at(7) != 0) {
    return InvalidArgument(fmt::format(
        "{}: expected an .npy file of version 1.0, 2.0 or 3.0, found {}.{}: write it anew with "
        "numpy.save",
        path, version, at(7)));
  }
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  std::size_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) length = length << 8 | at(kNpyFixedBytes + i);
  if (length > kMaxNpyHeaderBytes) {
    return InvalidArgument(fmt::format("{}: expected a header of at most {} bytes, found {}", path,
                                       kMaxNpyHeaderBytes, length));
  }
  const std::size_t text = kNpyFixedBytes + length_bytes;
  return NpyLayout{.text = text, .elements = text + length};
}

Result<DType> DTypeOf(std::string_view descr, const std::string& path) {
  if (descr.starts_with('>')) {
    return InvalidArgument(
        fmt::format("{}: expected little-endian numbers, found '{}': write it anew with "
                    "numpy.save(file, array.astype(array.dtype.newbyteorder('<')))",
                    path, Shown(descr)));
  }
  if (!descr.empty() && std::string_view("<|=").find(descr[0]) != std::string_view::npos) {
    for (const NpyType& type : kNpyTypes)
      if (descr.substr(1) == type.name) return type.dtype;
  }
  return InvalidArgument(
      fmt::format("{}: expected numbers such as '|u1', '<i8' or '<f4', found '{}': write it anew "
                  "with numpy.save(file, array.astype('float32'))",
                  path, Shown(descr)));
}

}  // namespace

bool LooksLikeNpy(std::string_view first_bytes) { return first_bytes.starts_with(kNpyMark); }

Result<Rows> ReadNpy(std::shared_ptr<const ByteSource> source, const std::string& path) {
  const auto failed = [&](const Error& error) {
    return Fail(error.code, fmt::format("{}: {}", path, error.message));
  };
  std::string head(std::min<std::uint64_t>(source->size(), kNpyFixedBytes + 4), '\0');
  if (const auto read = source->Read(0, head); !read) return failed(read.error());
  SLUICE_ASSIGN(const NpyLayout layout, LayoutOf(head, path));
  if (layout.elements > source->size()) {
    return Corruption(fmt::format("{}: expected a header of {} bytes, found {}: is it truncated?",
                                  path, layout.elements, source->size()));
  }
  std::string text(layout.elements - layout.text, '\0');
  if (const auto read = source->Read(layout.text, text); !read) return failed(read.error());
  NpyDictionary header(text);
  if (!header.Read()) {
    if (header.is_record) return std::unexpected(DTypeOf("a record", path).error());
    return Corruption(fmt::format("{}: expected a header as numpy.save writes it, found '{}'", path,
                                  Shown(text)));
  }
  SLUICE_ASSIGN(const DType dtype, DTypeOf(header.descr, path));
  if (header.fortran && header.shape.size() > 1) {
    return InvalidArgument(
        fmt::format("{}: expected an array in C order, found one in Fortran order: write it anew "
                    "with numpy.save(file, numpy.ascontiguousarray(array))",
                    path));
  }
  return RowsOfArray(std::move(source), path, layout.elements,
                     {.dtype = dtype, .shape = std::move(header.shape)});
}

std::string NpyHeader(const TensorType& array) {
  std::string descr;
  for (const NpyType& type : kNpyTypes)
    if (type.dtype == array.dtype)
      descr = fmt::format("{}{}", BytesOf(array.dtype) == 1 ? '|' : '<', type.name);
  SLUICE_CHECK(!descr.empty(), "NumPy knows this type of elements");
  const char* one = array.shape.size() == 1 ? "," : "";
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                 descr, fmt::join(array.shape, ", "), one);
  const std::size_t length =
      (kNpyFixedBytes + 2 + text.size() + kNpyAlignment) / kNpyAlignment * kNpyAlignment -
      kNpyFixedBytes - 2;
  text.append(length - 1 - text.size(), ' ').append("\n");
  std::string header(kNpyMark);
  header += '\1';
  header += '\0';
  header += static_cast<char>(length & 0xff);
  header += static_cast<char>(length >> 8);
  return header + text;
}

}  // namespace sluice::data
