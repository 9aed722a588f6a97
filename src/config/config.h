#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace sluice {

// Limits on a file. Aliases count as often as they are used.
constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxConfigNodes = 100'000;
constexpr std::size_t kMaxConfigDepth = 64;

class ConfigMap;
struct ConfigData;
struct ConfigRawNode;

// A scalar, typed as in YAML 1.2. A quoted scalar is a text.
using ConfigValue = std::variant<bool, std::int64_t, double, std::string>;

struct IntegerRange {
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  std::string_view instead = {};   // advice if the value is not a whole number, or is below min
  std::string_view fraction = {};  // advice if the value is a number that is not whole
};

struct NumberRange {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool finite = true;  // refuses .nan and .inf
};

// A value in a ConfigFile. The file must outlive the node. Nodes are cheap to copy. A typed read
// that finds a value of another type reports this to the file and returns nothing. So the caller
// can continue and find the other problems.
class ConfigNode {
 public:
  // Any scalar except null. Numbers and booleans are returned as they are written. A text with a
  // NUL inside is refused.
  std::optional<std::string> Text() const;
  // Takes 1e3 and 5.0 too, since their values are whole.
  std::optional<std::int64_t> Integer(IntegerRange range = {}) const;
  std::optional<double> Number(NumberRange range = {}) const;
  std::optional<bool> Boolean() const;  // true or false, not yes or no
  std::optional<sluice::Duration> Duration() const;
  std::optional<std::int64_t> SizeBytes() const;  // 500kB, 16MiB, 2GB, or bytes
  std::optional<ConfigValue> Value() const;       // refuses infinities and NaN
  // `foreign` has words of other tools, each with the word to write instead.
  std::optional<std::string> OneOf(
      std::span<const std::string> names,
      std::span<const std::pair<std::string, std::string>> foreign = {}) const;
  std::optional<std::vector<ConfigNode>> List() const;
  // The entries are in the file's order. A key that is repeated, or that is not a plain word, is
  // reported and left out. `advice` is for a value that is not a map.
  std::optional<ConfigMap> Map(std::string_view advice = {}) const;

  bool is_null() const;
  bool is_scalar() const;
  bool is_list() const;
  bool is_map() const;

  // The line of the value's key, or of the value if it has no key.
  int line() const { return line_; }
  const std::string& path() const { return path_; }
  // The same value, under another name in messages.
  ConfigNode Named(std::string path) const;

  // The value as it is written in the file, on one line, shortened if it is long.
  std::string Show() const;
  // The whole value on one line. Values that differ only in their layout have the same text. Other
  // values have different texts.
  std::string Whole() const;
  // How many values the value holds, itself included. Aliases count as often as they are used.
  // Lower layers do not count.
  std::size_t size() const;

  // "FILE:LINE: PATH: MESSAGE"
  void Report(std::string_view message) const;
  // "... expected WHAT, found ...; ADVICE"
  void Expected(std::string_view what, std::string_view advice = "") const;

 private:
  friend class ConfigFile;
  friend class ConfigMap;
  ConfigNode(ConfigData* data, const ConfigRawNode* raw, int line, std::string path);

  ConfigData* data_;
  const ConfigRawNode* raw_;
  int line_;
  std::string path_;
  // Lower layers, the topmost first: maps that supply keys that this map lacks.
  std::vector<ConfigNode> below_;
};

class ConfigMap {
 public:
  struct Entry {
    std::string key;
    ConfigNode value;
  };

  const std::vector<Entry>& entries() const { return entries_; }
  const ConfigNode* Find(std::string_view key) const;
  // Reports "expected WHAT, found nothing; ADVICE" if the key is missing.
  const ConfigNode* Require(std::string_view key, std::string_view what,
                            std::string_view advice = "") const;
  // Reports every key that is not among these, and suggests the nearest one. For a key of another
  // tool, suggests what `foreign` says to write instead.
  void AllowOnly(std::span<const std::string> keys,
                 std::span<const std::pair<std::string, std::string>> foreign = {}) const;
  // Prevents Require from reporting this key as missing. For a key that was found in a wrong place.
  void Excuse(std::string_view key) const;
  // The same map without this key.
  ConfigMap Without(std::string_view key) const;

  // Merges several maps; the first is the topmost. A key that several layers have gets the value of
  // the topmost of these layers, and problems with the value are reported at its line. `sections`
  // are keys with maps as values. These maps are merged in the same way. Problems with the merged
  // map are reported at `node`, problems with a section at the line of its topmost value.
  static ConfigMap Layered(const ConfigNode& node, std::span<const ConfigMap> layers,
                           std::span<const std::string> sections);

 private:
  friend class ConfigNode;
  explicit ConfigMap(ConfigNode node) : node_(std::move(node)) {}
  void AddMissing(const ConfigMap& lower);

  ConfigNode node_;
  std::vector<Entry> entries_;
};

// A YAML file that a user wrote by hand: one document of at most kMaxConfigBytes, in UTF-8.
// Collects the problems that its readers find, so that all are reported together.
class ConfigFile {
 public:
  // Fails on a text that is not YAML, with one message "FILE:LINE: MESSAGE". `file` is its name in
  // messages.
  static Result<ConfigFile> Parse(std::string_view text, std::string_view file);

  ConfigFile(ConfigFile&&) noexcept;
  ConfigFile& operator=(ConfigFile&&) noexcept;
  ~ConfigFile();

  ConfigNode root() const;
  // The value at a path such as "resources.memory" or "constraints.0". If the file has no such
  // value, the last value on the path that the file has.
  ConfigNode At(std::string_view path) const;

  // Fails if a problem was reported. The message has every problem, one on a line, in the order of
  // lines, and at most the first hundred.
  Status Check() const;

 private:
  explicit ConfigFile(std::unique_ptr<ConfigData> data);
  std::unique_ptr<ConfigData> data_;
};

}  // namespace sluice
