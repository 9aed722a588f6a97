#include "unpack/image_sheets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "base/files/byte_source.h"
#include "base/json_reader.h"
#include "base/text.h"
#include "data/formats/npy.h"
#include "data/sets/folder_layout.h"
#include "unpack/png_sheet.h"

namespace sluice::unpack {
namespace {

using data::DataPart;

constexpr std::uint64_t kMaxLabelsBytes = std::uint64_t{256} << 20;

std::unexpected<Error> AtSource(const Source& source, const Error& error) {
  return Fail(error.code, fmt::format("{}: {}", source.path, error.message));
}

Result<std::vector<std::int64_t>> ReadLabels(const Source& source) {
  SLUICE_ASSIGN(const auto file, OpenFile(source.path));
  if (file->size() > kMaxLabelsBytes) {
    return InvalidArgument(fmt::format("{}: expected labels of at most {} bytes, found {}",
                                       source.path, kMaxLabelsBytes, file->size()));
  }
  std::string text(static_cast<std::size_t>(file->size()), '\0');
  if (const auto read = file->Read(0, text); !read) return AtSource(source, read.error());
  // The reader takes objects only. A list of numbers has no colons, so this object has one member.
  const std::string json = text.contains(':') ? "" : R"({"labels":)" + text + "}";
  const auto document = JsonDocument::Read(json, {.depth = 3});
  const auto list = document ? document->object().Find("labels")->List() : std::nullopt;
  std::vector<std::int64_t> labels;
  for (const JsonValue& item : list.value_or(std::vector<JsonValue>{})) {
    const auto label = item.Integer();
    if (!label || *label < 0) {
      return InvalidArgument(fmt::format("{}: expected labels from 0 on, found {} at place {}",
                                         source.path, Shown(item.Written()), labels.size()));
    }
    labels.push_back(*label);
  }
  if (labels.empty()) {
    return InvalidArgument(
        fmt::format("{}: expected a JSON list of labels such as [3, 0, 7], found {}", source.path,
                    list ? "an empty one" : "something else"));
  }
  return labels;
}

struct OpenSheet {
  const Source* source;
  PngSheet png;
};

struct ImageShape {
  std::uint32_t side = 0;
  std::uint32_t channels = 0;
  bool operator==(const ImageShape&) const = default;
};

Result<ImageShape> ShapeOf(const Source& source, const PngSheet& png) {
  const auto side = static_cast<std::uint32_t>(std::lround(std::sqrt(png.width())));
  if (side * side == png.width()) return ImageShape{.side = side, .channels = png.channels()};
  return InvalidArgument(fmt::format(
      "{}: expected a sheet with a square image in each row, such as 784 or 1024 pixels "
      "wide, found {}",
      source.path, png.width()));
}

// From pixel by pixel to channel by channel.
void Regroup(std::string_view pixels, std::uint32_t channels, std::string& planes) {
  const std::size_t count = pixels.size() / channels;
  for (std::size_t channel = 0; channel < channels; ++channel)
    for (std::size_t i = 0; i < count; ++i)
      planes[channel * count + i] = pixels[i * channels + channel];
}

Status WriteImages(std::vector<OpenSheet>& sheets, ImageShape shape, const std::string& name,
                   Output& output) {
  std::int64_t images = 0;
  for (const OpenSheet& sheet : sheets) images += sheet.png.height();
  std::string from = sheets.front().source->name;
  if (sheets.size() > 1) from += fmt::format(" and {} more", sheets.size() - 1);
  SLUICE_TRY(output.Begin(name, from));
  SLUICE_TRY(output.Write(data::NpyHeader(
      {.dtype = data::DType::kUint8, .shape = {images, shape.channels, shape.side, shape.side}})));
  std::string pixels(std::size_t{shape.side} * shape.side * shape.channels, '\0');
  std::string planes = pixels;
  for (OpenSheet& sheet : sheets) {
    for (std::uint32_t row = 0; row < sheet.png.height(); ++row) {
      if (const auto read = sheet.png.ReadRow(pixels); !read)
        return AtSource(*sheet.source, read.error());
      Regroup(pixels, shape.channels, planes);
      SLUICE_TRY(output.Write(planes));
    }
  }
  return output.End();
}

Status WriteLabels(const std::vector<std::int64_t>& labels, const Source& source,
                   const std::string& name, Output& output) {
  SLUICE_TRY(output.Begin(name, source.name));
  SLUICE_TRY(output.Write(data::NpyHeader(
      {.dtype = data::DType::kInt64, .shape = {static_cast<std::int64_t>(labels.size())}})));
  SLUICE_TRY(output.Write(
      {reinterpret_cast<const char*>(labels.data()), labels.size() * sizeof(std::int64_t)}));
  return output.End();
}

Status UnpackPart(const std::vector<const Source*>& sheets, const std::vector<const Source*>& lists,
                  const std::string& part, Output& output) {
  if (sheets.empty() && lists.empty()) return {};
  if (sheets.empty() || lists.size() != 1) {
    return InvalidArgument(
        fmt::format("{}: expected sheets with one JSON list of labels for {}, found {} and {}",
                    (sheets.empty() ? lists : sheets).front()->path, part,
                    fmt::format("{} sheet{}", sheets.size(), sheets.size() == 1 ? "" : "s"),
                    fmt::format("{} list{}", lists.size(), lists.size() == 1 ? "" : "s")));
  }
  std::vector<OpenSheet> open;
  std::optional<ImageShape> shape;
  std::uint64_t rows = 0;
  for (const Source* source : sheets) {
    SLUICE_ASSIGN(auto file, OpenFile(source->path));
    auto png = PngSheet::Open(std::move(file));
    if (!png) return AtSource(*source, png.error());
    SLUICE_ASSIGN(const ImageShape its, ShapeOf(*source, *png));
    if (shape && *shape != its) {
      return InvalidArgument(fmt::format(
          "{}: expected images of {}x{} with {} channels, as in {}, found {}x{} with {}",
          source->path, shape->side, shape->side, shape->channels, sheets.front()->path, its.side,
          its.side, its.channels));
    }
    shape = its;
    rows += png->height();
    open.push_back({.source = source, .png = std::move(*png)});
  }
  SLUICE_ASSIGN(const std::vector<std::int64_t> labels, ReadLabels(*lists.front()));
  if (labels.size() != rows) {
    return InvalidArgument(
        fmt::format("{}: expected {} labels, one for each row of its sheets, "
                    "found {}",
                    lists.front()->path, rows, labels.size()));
  }
  SLUICE_TRY(WriteImages(open, *shape, part + "_inputs.npy", output));
  return WriteLabels(labels, *lists.front(), part + "_targets.npy", output);
}

}  // namespace

Status UnpackSheets(const std::vector<Source>& sources, Output& output) {
  for (const auto& [part, name] :
       {std::pair(DataPart::kTrain, "train"), std::pair(DataPart::kValidation, "validation"),
        std::pair(DataPart::kTest, "test")}) {
    std::vector<const Source*> sheets;
    std::vector<const Source*> lists;
    for (const Source& source : sources) {
      if (data::PartOf(source.name) != part) continue;
      if (source.kind == SourceKind::kSheet) sheets.push_back(&source);
      if (source.kind == SourceKind::kLabels) lists.push_back(&source);
    }
    SLUICE_TRY(UnpackPart(sheets, lists, name, output));
  }
  return {};
}

}  // namespace sluice::unpack
