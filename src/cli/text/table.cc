#include "cli/text/table.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "cli/view/progress.h"

namespace sluice {
namespace {

constexpr int kGap = 2;
constexpr int kNarrowest = 8;  // a column is not shortened below this
constexpr std::string_view kMore = "…";

// Whether the text is printable ASCII, so that its width is its size. Most cells are, and there may
// be hundreds of thousands of cells.
bool IsPlain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
}

int WidthOf(std::string_view text) {
  return IsPlain(text) ? static_cast<int>(text.size()) : DisplayWidth(text);
}

void Put(std::string& line, std::string_view text, int width, Align align, Ink ink,
         const Terminal& terminal) {
  const std::string fitted = WidthOf(text) > width ? Fit(text, width) : std::string(text);
  const auto padding = static_cast<std::size_t>(std::max(0, width - WidthOf(fitted)));
  if (align == Align::kRight) line.append(padding, ' ');
  line += Inked(fitted, ink, terminal);
  if (align == Align::kLeft) line.append(padding, ' ');
}

void EndLine(std::string& line, std::string& out) {
  while (!line.empty() && line.back() == ' ') line.pop_back();
  out += line;
  out += '\n';
  line.clear();
}

}  // namespace

void Table::Add(std::vector<Cell> row) {
  SLUICE_CHECK(row.size() == columns_.size(), "a row has a cell for each column");
  for (Cell& cell : row) {
    if (!IsPlain(cell.text)) cell.text = Harmless(cell.text);
  }
  rows_.push_back(std::move(row));
}

Table::Layout Table::Fitted(int columns) const {
  Layout layout;
  for (const Column& column : columns_) layout.widths.push_back(WidthOf(column.heading));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i)
      layout.widths[i] = std::max(layout.widths[i], WidthOf(row[i].text));
  }
  if (columns == 0) return layout;
  const auto excess = [&] {
    int total = layout.cut ? kGap + 1 : 0;
    for (const int width : layout.widths) total += width + kGap;
    return total - kGap - columns;
  };
  // Columns of texts (notes, long choices) are shortened. Numbers are not.
  for (std::size_t i = layout.widths.size(); i-- > 0 && excess() > 0;) {
    if (columns_[i].align == Align::kRight) continue;
    const int least =
        std::min(layout.widths[i], std::max(kNarrowest, WidthOf(columns_[i].heading)));
    layout.widths[i] = std::max(least, layout.widths[i] - excess());
  }
  while (excess() > 0 && layout.widths.size() > 1) {
    layout.widths.pop_back();
    layout.cut = true;
  }
  return layout;
}

std::string Table::Render(const Terminal& terminal) const {
  const Layout layout = Fitted(terminal.columns);
  std::string out;
  std::string line;
  const auto end_row = [&] {
    if (layout.cut) line.append(kGap, ' ').append(kMore);
    EndLine(line, out);
  };
  for (std::size_t i = 0; i < layout.widths.size(); ++i) {
    if (i > 0) line.append(kGap, ' ');
    Put(line, columns_[i].heading, layout.widths[i], columns_[i].align, Ink::kBold, terminal);
  }
  end_row();
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < layout.widths.size(); ++i) {
      if (i > 0) line.append(kGap, ' ');
      Put(line, row[i].text, layout.widths[i], columns_[i].align, row[i].ink, terminal);
    }
    end_row();
  }
  return out;
}

}  // namespace sluice
