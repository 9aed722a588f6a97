#pragma once

#include <cstddef>
#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// A file as it was read: its nodes, each with its kind and its text as written, and the problems
// found. Only code in src/config uses these types; all other code holds a ConfigNode.

enum class ConfigKind { kNull, kScalar, kList, kMap };

struct ConfigRawNode {
  ConfigKind kind = ConfigKind::kNull;
  bool quoted = false;
  bool flow = false;      // a list or map in brackets or braces
  bool complete = false;  // false while its children are still being read
  int line = 0;
  std::string text;
  std::vector<const ConfigRawNode*> children;  // of a map: key, value, key, value
  // The number of nodes in it, itself included, aliases expanded.
  std::size_t weight = 1;
  std::size_t depth = 1;
};

struct ConfigData {
  struct Problem {
    int line;
    std::size_t order;  // in which it was reported
    std::string text;
  };

  std::string file;
  std::deque<ConfigRawNode> nodes;
  const ConfigRawNode* root = nullptr;
  std::vector<Problem> problems;
  // All reports so far. A node may be read several times (a layer of ConfigMap::Layered); each
  // problem is kept once.
  std::set<std::string> said;

  // "PATH.KEY" of each key that the user probably meant: it stands in a wrong place, or an unknown
  // key resembles it. These keys are not reported as missing.
  std::set<std::string> misspelt;

  // Whether no more problems are kept. This prevents a hostile file from filling the memory. The
  // bound is more than a user will read.
  bool full() const { return problems.size() >= 1000; }

  // "FILE:LINE: PATH: "
  std::string Prefix(int line, std::string_view path) const;
  void Report(int line, std::string_view path, std::string_view message);
};

}  // namespace sluice
