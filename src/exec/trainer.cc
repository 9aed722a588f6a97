#include "exec/trainer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/templates/template_text.h"
#include "wire/message.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTrainer = "sluice-trainer";

// Linux takes no argument of more than 128 KiB.
constexpr std::size_t kLongestArgument = std::size_t{100} << 10;

// The files of so many networks are read and recorded.
constexpr std::size_t kMostNetworks = 1000;

constexpr std::string_view kNetworkPath = "model.network";

std::string In(const std::string& folder, const std::string& path) {
  return path.empty() ? path : (fs::path(folder) / path).lexically_normal().string();
}

void MoveTo(const std::string& folder, data::DataFiles& files) {
  for (std::string& path : files.inputs) path = In(folder, path);
  for (std::string& path : files.targets) path = In(folder, path);
}

bool IsArchive(const std::string& network) { return !network.starts_with("zoo:"); }

}  // namespace

Result<std::string> FindTrainer(const StudyWorld& world) {
  std::error_code error;
  std::vector<fs::path> folders = {fs::read_symlink("/proc/self/exe", error).parent_path()};
  if (const std::string named = world.Find("SLUICE_BIN_DIR").value_or(""); !named.empty())
    folders.emplace_back(named);
  for (const fs::path& folder : folders) {
    const std::string path = (folder / kTrainer).string();
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return FailedPrecondition(fmt::format(
      "expected the program {0}, which trains the trials of a study with 'train', found "
      "none in {1}: it is built where PyTorch is found; install torch into .venv, or "
      "name one by SLUICE_TORCH_PREFIX, and build {0}",
      kTrainer, folders.front().string()));
}

data::DataSpec DataIn(const data::DataSpec& spec, const std::string& folder) {
  data::DataSpec moved = spec;
  moved.path = In(folder, spec.path);
  for (data::DataFiles* files : {&moved.train, &moved.validation, &moved.test})
    MoveTo(folder, *files);
  return moved;
}

Result<std::vector<std::string>> NetworksOf(const StudySpec& spec) {
  const auto found = spec.training->settings.find(kNetworkPath);
  if (found == spec.training->settings.end()) return std::vector<std::string>{};
  std::vector<TemplateValues> all(1);
  for (const std::string_view word : WordsIn(found->second)) {
    const auto index = spec.space.Find(word);
    if (!index || all.front().contains(std::string(word))) continue;
    const Parameter& parameter = spec.space.parameters()[*index];
    const auto count = parameter.Cardinality();
    if (!count || *count * all.size() > kMostNetworks) {
      return InvalidArgument(
          fmt::format("{}: expected at most {} networks, found more by '{}'; give "
                      "the parameter fewer values",
                      kNetworkPath, kMostNetworks, parameter.name));
    }
    std::vector<TemplateValues> further;
    for (const TemplateValues& before : all) {
      for (std::uint64_t number = 0; number < *count; ++number) {
        Point point(spec.space.size(), kInactive);
        point[*index] = spec.space.Nth(*index, number);
        further.push_back(before);
        further.back()[parameter.name] = FormatValue(spec.space.ValueAt(point, *index));
      }
    }
    all = std::move(further);
  }
  std::vector<std::string> networks;
  for (const TemplateValues& values : all) networks.push_back(Expand(found->second, values));
  return networks;
}

Result<recipe::Recorded> RecordFiles(const StudySpec& spec, const std::string& folder) {
  recipe::Recorded recorded;
  SLUICE_ASSIGN(const std::vector<std::string> networks, NetworksOf(spec));
  for (const std::string& network : networks) {
    if (!IsArchive(network)) continue;
    data::FileRecord file{.path = In(folder, network)};
    auto hash = data::HashFile(file.path);
    // Constraints may forbid a combination of values, which then needs no file. If a trial does
    // need it, the trainer says so.
    if (!hash && hash.error().code == ErrorCode::kNotFound) continue;
    if (!hash) return std::unexpected(std::move(hash).error());
    file.hash = *hash;
    std::error_code error;
    file.bytes = fs::file_size(file.path, error);
    recorded.archives.push_back(std::move(file));
  }
  SLUICE_ASSIGN(data::DataSet data, data::OpenDataSet(DataIn(spec.training->data, folder)));
  recorded.files = std::move(data.files);
  recorded.data_hash = data.hash;
  return recorded;
}

Status CheckSameFiles(const Study& study) {
  if (!study.spec.training || !study.spec.training->recorded) return {};
  const recipe::Recorded& known = *study.spec.training->recorded;
  SLUICE_ASSIGN(const recipe::Recorded found, RecordFiles(study.spec, study.folder));
  for (const data::FileRecord& archive : found.archives)
    SLUICE_TRY(recipe::CheckSameArchive(known, archive));
  for (const data::FileRecord& archive : known.archives) {
    const bool there = std::ranges::any_of(found.archives, [&](const data::FileRecord& each) {
      return each.hash == archive.hash && each.bytes == archive.bytes;
    });
    if (there) continue;
    return FailedPrecondition(
        fmt::format("{}: expected the file that the study was made with, found none; put the file "
                    "back, or make a new study",
                    archive.path));
  }
  return recipe::CheckSameData(known, found.files, found.data_hash);
}

TrainerStart StartOfTrainer(const Study& study, const std::string& trainer,
                            const std::string& recipe_file) {
  recipe::Recipe recipe = *study.spec.training;
  recipe.seed = study.seed;
  TrainerStart start{.program = {trainer, "train", "--recipe"}, .recipe = {}};
  std::string json = ToJson(recipe);
  if (json.size() <= kLongestArgument) {
    start.program.push_back(std::move(json));
  } else {
    start.program.push_back(recipe_file);
    start.recipe = std::move(json);
  }
  if (const int most = study.spec.demand.fused_most; most > recipe::kTrainedTogether) {
    start.program.emplace_back("--capacity");
    start.program.push_back(fmt::format("{}", std::min<int>(most, wire::kMostCapacity)));
  }
  return start;
}

}  // namespace sluice
