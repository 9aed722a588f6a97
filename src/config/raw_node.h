#pragma once

#include <cstddef>
#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// A file as it was read: nodes by their kinds, texts as they were written, and the problems found.
// Only code in src/config uses this; all other code holds a ConfigNode.
enum class ConfigKind { kNull, kScalar, kList, kMap };

struct ConfigRawNode {
  ConfigKind kind = ConfigKind::kNull;
  bool quoted = false;
  bool flow = false;      // a list or map in brackets or braces
  bool complete = false;  // false while its children are still being read
  int line = 0;
  std::string text;
  std::vector<const ConfigRawNode*> children;  // of a map: key, value, key, value
  std::size_t weight = 1;                      // itself and all nodes below, aliases expanded
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
  // All reports so far. A layer may be read several times; its problems are reported once.
  std::set<std::string> said;

  // "PATH.KEY" of keys that the file has in a wrong place or that an unknown key resembles. They
  // are not reported as missing.
  std::set<std::string> misspelt;

  // Keeps a hostile file from filling memory. The bound is more than a user will read.
  bool full() const { return problems.size() >= 1000; }

  // "FILE:LINE: PATH: "
  std::string Prefix(int line, std::string_view path) const;
  void Report(int line, std::string_view path, std::string_view message);
};

}  // namespace sluice
