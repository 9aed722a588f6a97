#include "cli/points_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/text/csv.h"
#include "space/point_part.h"

namespace sluice {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{16} << 20;
constexpr std::size_t kMostProblems = 20;

// Collects the points that were read line by line, and the messages about mistakes.
class Points {
 public:
  explicit Points(std::string file) : file_(std::move(file)) {}

  void Add(int line, const Space& space, Result<PointPart> point) {
    // Filling in what the point lacks finds broken constraints. The filled-in values are not kept:
    // the values that the trial gets are drawn later.
    if (point) {
      if (auto whole = FillIn(space, *point, Random(0), draws_left_); !whole)
        return Problem(line, whole.error().message);
      points_.push_back(std::move(*point));
    } else {
      Problem(line, point.error().message);
    }
  }
  void Problem(int line, std::string_view message) {
    ++problems_;
    if (!text_.empty()) text_ += '\n';
    text_ += fmt::format("{}:{}: {}", file_, line, message);
  }
  // Whether reading stops: there are many problems, or there is one and no draws are left.
  bool full() const { return problems_ >= (draws_left_ == 0 ? 1 : kMostProblems); }
  Result<std::vector<PointPart>> Finish() {
    if (full()) text_ += "\nand maybe more: the rest was not looked at";
    if (problems_ > 0) return InvalidArgument(std::move(text_));
    if (points_.empty())
      return InvalidArgument(fmt::format("{}: expected at least one point, found none", file_));
    return std::move(points_);
  }

 private:
  std::string file_;
  std::vector<PointPart> points_;
  std::string text_;
  std::size_t problems_ = 0;
  std::uint64_t draws_left_ = kMostDrawsOfAll;
};

Result<std::vector<PointPart>> ParseJsonLines(std::string_view text, const std::string& file,
                                              const Space& space) {
  Points points(file);
  for (int line = 1; !text.empty() && !points.full(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view content = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (content.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    points.Add(line, space, DecodePart(space, content));
  }
  return points.Finish();
}

Result<PointPart> ReadRow(const Space& space, const std::vector<std::size_t>& columns,
                          const std::vector<std::string>& fields) {
  if (fields.size() != columns.size()) {
    return InvalidArgument(fmt::format("expected {} fields as in the header, found {}",
                                       columns.size(), fields.size()));
  }
  PointPart partial(space.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].empty()) continue;
    SLUICE_ASSIGN(partial[columns[i]], CoordinateOfText(space.parameters()[columns[i]], fields[i]));
  }
  return partial;
}

Result<std::vector<PointPart>> ParseCsv(std::string_view text, const std::string& file,
                                        const Space& space) {
  Points points(file);
  std::vector<std::size_t> columns;
  CsvReader reader(text);
  while (!points.full()) {
    const auto row = reader.Next();
    if (!row) break;
    if (row->size() == 1 && row->front().empty()) continue;  // an empty line
    if (!columns.empty()) {
      points.Add(reader.line(), space, ReadRow(space, columns, *row));
      continue;
    }
    for (const std::string& name : *row) {
      if (points.full()) break;
      const auto index = FindParameter(space, name);
      if (!index) {
        points.Problem(reader.line(), index.error().message);
      } else if (std::ranges::find(columns, *index) != columns.end()) {
        points.Problem(reader.line(), fmt::format("{}: expected one column, found two", name));
      } else {
        columns.push_back(*index);
      }
    }
    if (columns.size() != row->size()) return points.Finish();
  }
  return points.Finish();
}

}  // namespace

Result<PointPart> ReadAssignments(const std::vector<std::string>& words, const Space& space) {
  PointPart partial(space.size());
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      return InvalidArgument(
          fmt::format("expected a parameter and its value such as lr=0.1, found '{}'", word));
    }
    const std::string name = word.substr(0, equals);
    SLUICE_ASSIGN(const std::size_t index, FindParameter(space, name));
    if (partial[index])
      return InvalidArgument(fmt::format("{}: expected one value, found two", name));
    SLUICE_ASSIGN(partial[index],
                  CoordinateOfText(space.parameters()[index], word.substr(equals + 1)));
  }
  SLUICE_TRY(FillIn(space, partial, Random(0)));
  return partial;
}

Result<std::vector<PointPart>> ParsePoints(std::string_view text, const std::string& file,
                                           const Space& space) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a mark that spreadsheets write
  return file.ends_with(".csv") ? ParseCsv(text, file, space) : ParseJsonLines(text, file, space);
}

Result<std::vector<PointPart>> ReadPointsFile(const std::string& path, const Space& space) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return InvalidArgument(fmt::format("{}: expected a file of points, found a folder", path));
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound(fmt::format("{}: no such file, or it cannot be read", path));
  std::string text;
  std::string piece(64 << 10, '\0');
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0) {
    text.append(piece, 0, static_cast<std::size_t>(file.gcount()));
    if (text.size() > kMaxBytes)
      return InvalidArgument(fmt::format("{}: expected at most 16 MiB of points", path));
  }
  return ParsePoints(text, path, space);
}

}  // namespace sluice
