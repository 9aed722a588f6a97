#include "data/sets/folder_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace sluice::data {
namespace {

constexpr std::size_t kMostFilesOfAFolder = 10'000;
constexpr std::size_t kFilesShown = 8;

constexpr std::string_view kTestWords[] = {"test", "tests", "testing", "t10k", "holdout"};
constexpr std::string_view kValidationWords[] = {"val", "valid", "validation",
                                                 "dev", "eval",  "evaluation"};
constexpr std::string_view kTargetWords[] = {"label",  "labels",  "lable", "lables",
                                             "target", "targets", "y"};

char LowerOf(char letter) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
}

bool IsLetterOrDigit(char letter) { return std::isalnum(static_cast<unsigned char>(letter)) != 0; }

// Whether one of the words of the name is among these: "val" is one of "val_images.npy", and none
// of "values.npy".
bool HasWord(std::string_view name, std::span<const std::string_view> wanted) {
  std::string word;
  for (std::size_t at = 0; at <= name.size(); ++at) {
    if (at < name.size() && IsLetterOrDigit(name[at])) {
      word += LowerOf(name[at]);
      continue;
    }
    if (std::ranges::find(wanted, word) != wanted.end()) return true;
    word.clear();
  }
  return false;
}

// A text by which names are sorted: in it, numbers are compared by their lengths, without leading
// zeros, and then by their digits.
std::string NaturalKey(std::string_view name) {
  std::string key;
  for (std::size_t at = 0; at < name.size();) {
    std::size_t end = at;
    while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end])) != 0) ++end;
    if (end == at) {
      key += name[at++];
      continue;
    }
    while (at + 1 < end && name[at] == '0') ++at;
    key += '0';
    key += static_cast<char>(std::min<std::size_t>(end - at, 255));
    key += name.substr(at, end - at);
    at = end;
  }
  return key;
}

bool HasTargetsApart(DataKind kind) { return kind == DataKind::kIdx || kind == DataKind::kNpy; }

std::string ShownNames(std::span<const std::string> names) {
  std::string text = Join(names.first(std::min(names.size(), kFilesShown)));
  if (names.size() > kFilesShown) text += fmt::format(" and {} more", names.size() - kFilesShown);
  return text;
}

// The kind that most likely is meant, of those that the files have.
Result<DataKind> MeantKind(const std::vector<std::string>& names) {
  std::vector<DataKind> found;
  for (const std::string& name : names) {
    const DataKind kind = KindOfName(name);
    if (kind != DataKind::kGuess && std::ranges::find(found, kind) == found.end())
      found.push_back(kind);
  }
  for (const DataKind weak : {DataKind::kText, DataKind::kTokens})
    if (found.size() > 1) std::erase(found, weak);
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    return InvalidArgument(fmt::format(
        "expected files called like train-images-idx3-ubyte, data_batch_1.bin, x_train.npy, "
        "train.bin or train.txt, found {}: name the files, or unpack them with 'sluice data "
        "import'",
        names.empty() ? "no files" : ShownNames(names)));
  }
  std::vector<std::string> kinds;
  for (const DataKind kind : found) kinds.emplace_back(Name(kind));
  return InvalidArgument(
      fmt::format("expected files of one kind, found {}: say which kind to use", Join(kinds)));
}

bool IsNamedApart(const std::string& name, const NamedApart& apart) {
  if (apart.files.contains(name)) return true;
  switch (PartOf(name)) {
    case DataPart::kTrain: return apart.train;
    case DataPart::kValidation: return apart.validation;
    case DataPart::kTest: return apart.test;
  }
  return false;
}

}  // namespace

std::string_view Name(DataKind kind) {
  switch (kind) {
    case DataKind::kGuess: return "guess";
    case DataKind::kIdx: return "idx";
    case DataKind::kCifar10: return "cifar10";
    case DataKind::kNpy: return "npy";
    case DataKind::kTokens: return "tokens";
    case DataKind::kText: return "text";
  }
  return "";
}

std::optional<DataKind> DataKindOf(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(DataKind::kText); ++i)
    if (Name(static_cast<DataKind>(i)) == name) return static_cast<DataKind>(i);
  return std::nullopt;
}

DataKind KindOfName(std::string_view name) {
  if (name.ends_with(".npy")) return DataKind::kNpy;
  if (name.ends_with(".txt")) return DataKind::kText;
  const bool is_cifar = name.starts_with("data_batch") || name.starts_with("test_batch");
  if (name.ends_with(".bin")) return is_cifar ? DataKind::kCifar10 : DataKind::kTokens;
  const bool is_idx = name.ends_with("-ubyte") || name.ends_with(".idx");
  return is_idx ? DataKind::kIdx : DataKind::kGuess;
}

DataPart PartOf(std::string_view name) {
  if (HasWord(name, kTestWords)) return DataPart::kTest;
  return HasWord(name, kValidationWords) ? DataPart::kValidation : DataPart::kTrain;
}

bool SpeaksOfTargets(std::string_view name) { return HasWord(name, kTargetWords); }

void SortNaturally(std::vector<std::string>& names) {
  std::vector<std::pair<std::string, std::string>> keyed;
  keyed.reserve(names.size());
  for (std::string& name : names) {
    std::string key = NaturalKey(name);
    keyed.emplace_back(std::move(key), std::move(name));
  }
  std::ranges::sort(keyed);
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = std::move(keyed[i].second);
}

Result<FolderLayout> LayoutOfNames(std::vector<std::string> names, DataKind kind,
                                   const NamedApart& apart) {
  SLUICE_CHECK(!apart.train || kind != DataKind::kGuess, "the training files tell the kind");
  std::erase_if(names, [&](const std::string& name) { return IsNamedApart(name, apart); });
  SortNaturally(names);
  FolderLayout layout;
  layout.kind = kind;
  if (kind == DataKind::kGuess) {
    SLUICE_ASSIGN(layout.kind, MeantKind(names));
  }
  for (const std::string& name : names) {
    const DataKind its = KindOfName(name);
    const bool counts = its == layout.kind ||
                        // Both have .bin files.
                        (kind == DataKind::kTokens && its == DataKind::kCifar10) ||
                        (kind == DataKind::kCifar10 && its == DataKind::kTokens);
    if (!counts) continue;
    const std::array parts = {&layout.train, &layout.validation, &layout.test};
    DataFiles& part = *parts[static_cast<std::size_t>(PartOf(name))];
    const bool is_target = HasTargetsApart(layout.kind) && SpeaksOfTargets(name);
    (is_target ? part.targets : part.inputs).push_back(name);
  }
  if (!apart.train && layout.train == DataFiles{}) {
    return InvalidArgument(fmt::format(
        "expected files of training examples of the kind '{}', found {}: name the files",
        Name(layout.kind), names.empty() ? "no files" : ShownNames(names)));
  }
  for (const DataFiles* part : {&layout.train, &layout.validation, &layout.test}) {
    if (HasTargetsApart(layout.kind) && part->inputs.size() != part->targets.size()) {
      return InvalidArgument(fmt::format(
          "expected as many files of targets (called labels, targets or y) as of inputs, found "
          "inputs {} and targets {}: name the files",
          part->inputs.empty() ? "none" : ShownNames(part->inputs),
          part->targets.empty() ? "none" : ShownNames(part->targets)));
    }
  }
  return layout;
}

Result<FolderLayout> LayoutOfFolder(const std::string& folder, DataKind kind,
                                    const NamedApart& apart) {
  std::error_code error;
  std::vector<std::string> names;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (!name.starts_with('.') && entry->is_regular_file(ignored)) names.push_back(std::move(name));
    if (names.size() > kMostFilesOfAFolder) {
      return InvalidArgument(
          fmt::format("{}: expected a folder of at most {} files: name the files of the data",
                      folder, kMostFilesOfAFolder));
    }
  }
  if (error) return InvalidArgument(fmt::format("{}: cannot be read: {}", folder, error.message()));
  auto layout = LayoutOfNames(std::move(names), kind, apart);
  if (!layout)
    return Fail(layout.error().code, fmt::format("{}: {}", folder, layout.error().message));
  for (DataFiles* part : {&layout->train, &layout->validation, &layout->test})
    for (std::vector<std::string>* files : {&part->inputs, &part->targets})
      for (std::string& name : *files) name = (std::filesystem::path(folder) / name).string();
  return layout;
}

}  // namespace sluice::data
