#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/view/terminal.h"

namespace sluice {

enum class Align { kLeft, kRight };

// Rows under aligned headings. On a terminal no line is wider than it: columns of texts are
// shortened, the last ones first, but not below their headings. If that is not enough, the last
// columns are left out, with a mark.
class Table {
 public:
  struct Column {
    std::string heading;
    Align align = Align::kLeft;
  };
  struct Cell {
    std::string text;  // made harmless here
    Ink ink = Ink::kPlain;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as there are columns.
  void Add(std::vector<Cell> row);
  std::string Render(const Terminal& terminal) const;

 private:
  struct Layout {
    std::vector<int> widths;  // of the columns that are shown
    bool cut = false;         // there are more
  };
  Layout Fitted(int columns) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace sluice
