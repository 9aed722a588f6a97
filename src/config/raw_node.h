#pragma once

#include <cstddef>
#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// A file as it was read: nodes by their kinds, texts as they were written, and what is wrong with
// them. Only this room looks at it; others hold a ConfigNode.
enum class ConfigKind { kNull, kScalar, kList, kMap };

struct ConfigRawNode {
  ConfigKind kind = ConfigKind::kNull;
  bool quoted = false;
  bool flow = false;      // a list or map in brackets or braces
  bool complete = false;  // false while its children are still read
  int line = 0;
  std::string text;
  std::vector<const ConfigRawNode*> children;  // of a map: key, value, key, value
  std::size_t weight = 1;                      // nodes below and itself, aliases expanded
  std::size_t depth = 1;
};

struct ConfigData {
  struct Problem {
    int line;
    std::size_t order;  // of reporting
    std::string text;
  };

  std::string file;
  std::deque<ConfigRawNode> nodes;
  const ConfigRawNode* root = nullptr;
  std::vector<Problem> problems;
  std::set<std::string> said;  // what is read again, as layers are, is wrong only once

  std::set<std::string> misspelt;  // "PATH.KEY" of keys that unknown ones look like

  // More than anyone reads; the bound keeps a hostile file from filling memory.
  bool full() const { return problems.size() >= 1000; }

  // "FILE:LINE: PATH: "
  std::string Prefix(int line, std::string_view path) const;
  void Report(int line, std::string_view path, std::string_view message);
};

}  // namespace sluice
