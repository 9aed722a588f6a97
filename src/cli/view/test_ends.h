#pragma once

// For tests of views: what a view writes, as its reader or its user sees it.

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// The two ends of a pipe or of a terminal.
struct Ends {
  int reader = -1;
  int writer = -1;
  ~Ends() {
    if (reader >= 0) close(reader);
    if (writer >= 0) close(writer);
  }

  // Reads until nothing more arrives for a moment.
  std::string Read() const {
    std::string text;
    std::array<char, 4096> buffer{};
    struct pollfd ready{.fd = reader, .events = POLLIN, .revents = 0};
    while (poll(&ready, 1, 50) > 0) {
      const ssize_t count = read(reader, buffer.data(), buffer.size());
      if (count <= 0) break;
      text.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return text;
  }
};

inline void OpenPipe(Ends& ends) {
  std::array<int, 2> pair{};
  ASSERT_EQ(pipe(pair.data()), 0);
  ends.reader = pair[0];
  ends.writer = pair[1];
}

inline void OpenTerminal(Ends& ends, int columns) {
  struct winsize size{
      .ws_row = 24, .ws_col = static_cast<unsigned short>(columns), .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(openpty(&ends.reader, &ends.writer, nullptr, nullptr, &size), 0);
}

// The lines that a terminal of endless height shows after the text was written to it. Handles the
// escape sequences that a view may use; for any other sequence, the line gets a '?'.
inline std::vector<std::string> Screen(const std::string& text) {
  std::vector<std::string> lines(1);
  std::size_t row = 0;
  std::size_t column = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r') {
      column = 0;
    } else if (text[i] == '\n') {
      if (++row == lines.size()) lines.emplace_back();
    } else if (text[i] == '\x1b') {
      const std::size_t begin = i + 2;
      i = begin;
      while (!std::isalpha(static_cast<unsigned char>(text[i]))) ++i;
      const std::string argument = text.substr(begin, i - begin);
      if (text[i] == 'A') row -= std::min<std::size_t>(row, std::stoul(argument));
      if (text[i] == 'K') lines[row].resize(std::min(lines[row].size(), column));
      if (text[i] == 'H') row = column = 0;
      if (text[i] == 'J' && argument == "2") lines.assign(row + 1, std::string(column, ' '));
      if (text[i] == 'J' && argument.empty())
        lines.resize(row + 1), lines[row].resize(std::min(lines[row].size(), column));
      if (std::string_view("AKJHhlm").find(text[i]) == std::string_view::npos) lines[row] += '?';
    } else {
      lines[row].resize(std::max(lines[row].size(), column + 1), ' ');
      lines[row][column++] = text[i];
    }
  }
  return lines;
}

}  // namespace sluice
