#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/view/terminal.h"

namespace sluice {

enum class Align { kLeft, kRight };

// Rows under aligned headings. No line is wider than the terminal: columns that are aligned to the
// left are shortened, the last column first, but none becomes narrower than its heading. If that is
// not enough, the last columns are left out, and each line ends with a mark that says so.
class Table {
 public:
  struct Column {
    std::string heading;
    Align align = Align::kLeft;
  };
  struct Cell {
    std::string text;  // Add makes it harmless for the terminal
    Ink ink = Ink::kPlain;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Adds a row, which must have a cell for each column.
  void Add(std::vector<Cell> row);
  std::string Render(const Terminal& terminal) const;

 private:
  struct Layout {
    std::vector<int> widths;  // of the columns that are shown
    bool cut = false;         // some columns are left out
  };
  // The layout for a terminal of `columns`; 0: of any width.
  Layout Fitted(int columns) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace sluice
