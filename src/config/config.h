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

// What a file may be at most, aliases counted as often as they are used.
constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxConfigNodes = 100'000;
constexpr std::size_t kMaxConfigDepth = 64;

class ConfigMap;
struct ConfigData;
struct ConfigRawNode;

// A scalar by the types of YAML 1.2; what was quoted is a text.
using ConfigValue = std::variant<bool, std::int64_t, double, std::string>;

struct IntegerRange {
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  std::string_view instead = {};   // what to do who has none
  std::string_view fraction = {};  // or one that is not whole
};

struct NumberRange {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool finite = true;  // refuses .nan and .inf
};

// A value in a ConfigFile, which must outlive it. Cheap to copy. Where a typed read finds something
// else it reports that to the file and returns nothing, so that a caller goes on and finds the
// other problems.
class ConfigNode {
 public:
  // Any scalar but null; plain numbers and the like are taken as they are written. Never with a NUL
  // inside.
  std::optional<std::string> Text() const;
  // Also 1e3 and 5.0, whose value is whole.
  std::optional<std::int64_t> Integer(IntegerRange range = {}) const;
  std::optional<double> Number(NumberRange range = {}) const;
  std::optional<bool> Boolean() const;  // true or false, not yes or no
  std::optional<sluice::Duration> Duration() const;
  std::optional<std::int64_t> SizeBytes() const;  // 500kB, 16MiB, 2GB, or bytes
  std::optional<ConfigValue> Value() const;       // no infinity, no NaN
  // `foreign`: words of others, each with ours.
  std::optional<std::string> OneOf(
      std::span<const std::string> names,
      std::span<const std::pair<std::string, std::string>> foreign = {}) const;
  std::optional<std::vector<ConfigNode>> List() const;
  // In the file's order. Keys that are repeated or are not plain words are reported and left out.
  std::optional<ConfigMap> Map(std::string_view advice = {}) const;

  bool is_null() const;
  bool is_scalar() const;
  bool is_list() const;
  bool is_map() const;

  int line() const { return line_; }  // of the key it is the value of, else its own
  const std::string& path() const { return path_; }
  // The same under another name in messages.
  ConfigNode Named(std::string path) const;

  // As the file has it, on one line, shortened if it is long.
  std::string Show() const;
  // All of it on one line: the same for two values exactly if they are written alike, layout apart.
  std::string Whole() const;
  // Values in it and itself, aliases counted as often as they are used; layers below are not counted.
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
  std::vector<ConfigNode> below_;  // maps with the keys that this one has not, the upper ones first
};

class ConfigMap {
 public:
  struct Entry {
    std::string key;
    ConfigNode value;
  };

  const std::vector<Entry>& entries() const { return entries_; }
  const ConfigNode* Find(std::string_view key) const;
  // Reports "expected WHAT, found nothing; ADVICE" if it is missing.
  const ConfigNode* Require(std::string_view key, std::string_view what,
                            std::string_view advice = "") const;
  // Reports every key that is not among these, suggesting the nearest, or what `foreign` says to write
  // for a key that other tools have.
  void AllowOnly(std::span<const std::string> keys,
                 std::span<const std::pair<std::string, std::string>> foreign = {}) const;
  // A key that stands in a wrong place is not missing besides.
  void Excuse(std::string_view key) const;
  // The same, but for this key.
  ConfigMap Without(std::string_view key) const;

  // One map of several, the first being the topmost: of a key that many have, it has the value of the
  // topmost, said where that is written. A section is a key whose values are maps and become one in
  // the same way. What is wrong with the whole is said about `node`, about a section where the topmost
  // is.
  static ConfigMap Layered(const ConfigNode& node, std::span<const ConfigMap> layers,
                           std::span<const std::string> sections);

 private:
  friend class ConfigNode;
  explicit ConfigMap(ConfigNode node) : node_(std::move(node)) {}
  void AddMissing(const ConfigMap& lower);

  ConfigNode node_;
  std::vector<Entry> entries_;
};

// A YAML file someone wrote by hand: one document of at most kMaxConfigBytes, in UTF-8. Collects
// what its readers find wrong, to be said all at once.
class ConfigFile {
 public:
  // Fails on what is not YAML, with one message of the usual form. `file` is what messages call it.
  static Result<ConfigFile> Parse(std::string_view text, std::string_view file);

  ConfigFile(ConfigFile&&) noexcept;
  ConfigFile& operator=(ConfigFile&&) noexcept;
  ~ConfigFile();

  ConfigNode root() const;
  // What a path such as "resources.memory" or "constraints.0" leads to, or as far as it leads.
  ConfigNode At(std::string_view path) const;

  // Every problem reported so far, one a line, in order of lines; a hundred if there are more.
  Status Check() const;

 private:
  explicit ConfigFile(std::unique_ptr<ConfigData> data);
  std::unique_ptr<ConfigData> data_;
};

}  // namespace sluice
