#include "data/tensors/safetensors_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "base/json_reader.h"
#include "base/json_writer.h"
#include "base/text.h"

namespace sluice::data {
namespace {

constexpr std::string_view kMetadata = "__metadata__";

std::unexpected<Error> BadTensor(std::string_view name, std::string_view message) {
  return Corruption(fmt::format("tensor '{}': {}", Shown(name), message));
}

// The reader of JSON merges members of the same name. So the members that it gives are compared
// with the colons of the text.
std::size_t ColonsOf(std::string_view json) {
  std::size_t colons = 0;
  bool in_text = false;
  for (std::size_t at = 0; at < json.size(); ++at) {
    if (in_text && json[at] == '\\') {
      ++at;
    } else if (json[at] == '"') {
      in_text = !in_text;
    } else if (json[at] == ':' && !in_text) {
      ++colons;
    }
  }
  return colons;
}

// A list of whole numbers from 0 on.
std::optional<std::vector<std::int64_t>> SizesOf(const std::optional<JsonValue>& value) {
  const auto list = value ? value->List() : std::nullopt;
  if (!list) return std::nullopt;
  std::vector<std::int64_t> sizes;
  for (const JsonValue& item : *list) {
    const auto size = item.Integer();
    if (!size || *size < 0) return std::nullopt;
    sizes.push_back(*size);
  }
  return sizes;
}

Status CheckName(std::string_view name) {
  if (!name.empty() && name.size() <= SafetensorsHeader::kMaxNameBytes) return {};
  return InvalidArgument(fmt::format("expected names of tensors of 1 to {} bytes, found '{}'",
                                     SafetensorsHeader::kMaxNameBytes, Shown(name)));
}

Result<StoredTensor> ReadTensor(std::string_view name, const JsonValue& value) {
  SLUICE_TRY(CheckName(name));
  const auto members = value.Members();
  if (!members || members->size() != 3)
    return BadTensor(name, "expected an object with dtype, shape and data_offsets");
  StoredTensor tensor{.name = std::string(name), .type = {}};
  const auto dtype = value.Find("dtype");
  const auto dtype_name = dtype ? dtype->Text() : std::nullopt;
  if (!dtype_name) return BadTensor(name, "expected a dtype such as \"F32\"");
  const auto known = FromSafetensorsName(*dtype_name);
  if (!known) {
    return InvalidArgument(fmt::format(
        "tensor '{}': its dtype '{}' is not supported: write it as F32, or as another of F64, F16, "
        "BF16, I64, I32, I16, I8, U64, U32, U16, U8, BOOL",
        Shown(name), Shown(*dtype_name)));
  }
  tensor.type.dtype = *known;
  auto shape = SizesOf(value.Find("shape"));
  if (!shape) return BadTensor(name, "expected a shape such as [64, 3]");
  if (shape->size() > SafetensorsHeader::kMaxAxes) {
    return InvalidArgument(fmt::format("tensor '{}': expected at most {} axes, found {}",
                                       Shown(name), SafetensorsHeader::kMaxAxes, shape->size()));
  }
  tensor.type.shape = std::move(*shape);
  const auto offsets = SizesOf(value.Find("data_offsets"));
  if (!offsets || offsets->size() != 2 || (*offsets)[0] > (*offsets)[1])
    return BadTensor(name, "expected data_offsets with its begin and its end, such as [0, 768]");
  tensor.begin = static_cast<std::uint64_t>((*offsets)[0]);
  tensor.bytes = static_cast<std::uint64_t>((*offsets)[1]) - tensor.begin;
  const auto bytes = BytesOf(tensor.type);
  if (!bytes) return BadTensor(name, fmt::format("its shape is too large: {}", Text(tensor.type)));
  if (*bytes != tensor.bytes) {
    return BadTensor(name, fmt::format("expected {} bytes for {}, found data_offsets with {}",
                                       *bytes, Text(tensor.type), tensor.bytes));
  }
  return tensor;
}

// Empty tensors have no bytes, so they may begin where the next tensor does.
void SortByPlace(std::vector<StoredTensor>& tensors) {
  std::ranges::sort(tensors, {}, [](const StoredTensor& tensor) {
    return std::tuple(tensor.begin, tensor.bytes, std::string_view(tensor.name));
  });
}

Status CheckNoGaps(const std::vector<StoredTensor>& tensors, std::uint64_t data_bytes) {
  std::uint64_t end = 0;
  for (const StoredTensor& tensor : tensors) {
    if (tensor.begin != end) {
      return BadTensor(tensor.name,
                       fmt::format("expected it to begin at {}, where the one before it ends, "
                                   "found {}",
                                   end, tensor.begin));
    }
    if (tensor.bytes > data_bytes - end) {
      return BadTensor(tensor.name, fmt::format("it ends at {}, and the file has only {} bytes "
                                                "after its header: is it truncated?",
                                                end + tensor.bytes, data_bytes));
    }
    end += tensor.bytes;
  }
  if (end == data_bytes) return {};
  return Corruption(fmt::format("expected {} bytes after its header, found {}: is it another file?",
                                end, data_bytes));
}

}  // namespace

Result<SafetensorsHeader> SafetensorsHeader::Parse(std::string_view json,
                                                   std::uint64_t data_bytes) {
  // The deepest is a number in a list of a tensor.
  const auto document =
      JsonDocument::Read(json, {.depth = 4, .members = SafetensorsHeader::kMaxTensors + 1});
  if (!document || json.empty() || json.front() != '{') {
    return Corruption(
        fmt::format("expected a header that is one JSON object of at most {} tensors, found "
                    "something else",
                    kMaxTensors));
  }
  const std::vector<JsonValue::Member> members = *document->object().Members();
  SafetensorsHeader header;
  std::size_t seen = members.size();
  for (const auto& [name, value] : members) {
    if (name == kMetadata) {
      const auto texts = value.Members();
      if (!texts) return Corruption("expected __metadata__ to be an object of texts");
      seen += texts->size();
      for (const auto& [key, text] : *texts) {
        if (!text.Text())
          return Corruption(fmt::format("__metadata__: expected a text for '{}', found {}",
                                        Shown(key), Shown(text.Written())));
        header.metadata.emplace(key, *text.Text());
      }
      continue;
    }
    SLUICE_ASSIGN(StoredTensor tensor, ReadTensor(name, value));
    header.tensors.push_back(std::move(tensor));
    seen += 3;
  }
  if (seen != ColonsOf(json)) return Corruption("a name is there twice in its header");
  SortByPlace(header.tensors);
  SLUICE_TRY(CheckNoGaps(header.tensors, data_bytes));
  return header;
}

Result<SafetensorsHeader> SafetensorsHeader::LayOut(std::vector<StoredTensor> tensors,
                                                    std::map<std::string, std::string> metadata) {
  if (tensors.size() > kMaxTensors) {
    return InvalidArgument(
        fmt::format("expected at most {} tensors, found {}", kMaxTensors, tensors.size()));
  }
  std::ranges::sort(tensors, [](const StoredTensor& a, const StoredTensor& b) {
    const std::size_t a_bytes = BytesOf(a.type.dtype);
    const std::size_t b_bytes = BytesOf(b.type.dtype);
    return a_bytes != b_bytes ? a_bytes > b_bytes : a.name < b.name;
  });
  std::vector<std::string_view> names;
  std::uint64_t end = 0;
  for (StoredTensor& tensor : tensors) {
    SLUICE_TRY(CheckName(tensor.name));
    if (tensor.name == kMetadata || tensor.type.shape.size() > kMaxAxes)
      return InvalidArgument(fmt::format("tensor '{}' of type {} cannot be written to a file",
                                         Shown(tensor.name), Text(tensor.type)));
    const auto bytes = BytesOf(tensor.type);
    if (!bytes || *bytes > (std::uint64_t{1} << 62) - end)
      return InvalidArgument(
          fmt::format("tensor '{}' is too large: {}", Shown(tensor.name), Text(tensor.type)));
    tensor.begin = end;
    tensor.bytes = *bytes;
    end += *bytes;
    names.push_back(tensor.name);
  }
  std::ranges::sort(names);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end())
    return InvalidArgument(fmt::format("tensor '{}' is there twice", Shown(*twice)));
  SafetensorsHeader header;
  header.tensors = std::move(tensors);
  header.metadata = std::move(metadata);
  const std::string json = header.Json();
  if (json.size() > kMaxBytes) {
    return InvalidArgument(fmt::format(
        "expected a header of at most {} bytes, found {}: use shorter names or metadata", kMaxBytes,
        json.size()));
  }
  // What is not UTF-8 is changed when it is written.
  const auto again = Parse(json, end);
  SortByPlace(header.tensors);
  if (!again || again->tensors != header.tensors || again->metadata != header.metadata) {
    return InvalidArgument("expected names and metadata in UTF-8, found other bytes");
  }
  return header;
}

std::string SafetensorsHeader::Json() const {
  JsonWriter all;
  if (!metadata.empty()) {
    JsonWriter texts;
    for (const auto& [key, text] : metadata) texts.Add(key, text);
    all.AddJson(kMetadata, texts.Take());
  }
  for (const StoredTensor& tensor : tensors) {
    JsonWriter each;
    each.Add("dtype", SafetensorsName(tensor.type.dtype))
        .AddJson("shape", fmt::format("[{}]", fmt::join(tensor.type.shape, ",")))
        .AddJson("data_offsets", fmt::format("[{},{}]", tensor.begin, tensor.begin + tensor.bytes));
    all.AddJson(tensor.name, each.Take());
  }
  std::string json = all.Take();
  json.append((8 - json.size() % 8) % 8, ' ');
  return json;
}

}  // namespace sluice::data
