#include "cli/study_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "cli/config_text.h"
#include "cli/inspect/study_model.h"
#include "config/config.h"
#include "engine/read/new_study.h"
#include "exec/trainer.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

bool IsRunnable(const fs::path& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

// The script of a command such as "python train.py"; nothing if the command does not show it.
std::optional<fs::path> ScriptOf(const StudySpec& spec) {
  const std::vector<std::string> endings = {".py", ".sh", ".jl", ".R", ".js", ".rb", ".pl", ".lua"};
  const std::size_t place = spec.program.front() == "/usr/bin/env" ? 2 : 1;
  if (spec.program.size() <= place) return std::nullopt;
  const fs::path script = spec.program[place];
  const bool known = std::ranges::find(endings, script.extension().string()) != endings.end();
  const bool plain =
      script.string().find_first_of("{}") == std::string::npos && !script.string().starts_with('-');
  return known && plain ? std::optional(script) : std::nullopt;
}

// The end of a message: what to write instead of "~/" or "$NAME", which only a shell replaces.
std::string ForShells(const std::string& item) {
  if (item.starts_with("~/"))
    return fmt::format("; no shell runs it: write '{{envvar:HOME}}{}'", item.substr(1));
  const std::size_t dollar = item.find('$');
  if (dollar == std::string::npos || dollar + 1 == item.size()) return "";
  const auto ends = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_';
  };
  const auto end =
      std::find_if(item.begin() + static_cast<std::ptrdiff_t>(dollar) + 1, item.end(), ends);
  const std::string name(item.begin() + static_cast<std::ptrdiff_t>(dollar) + 1, end);
  if (name.empty()) return "";
  return fmt::format("; no shell runs it: write '{}{{envvar:{}}}{}'", item.substr(0, dollar), name,
                     std::string(end, item.end()));
}

Status CheckScript(const StudySpec& spec, const std::string& folder) {
  const std::optional<fs::path> script = ScriptOf(spec);
  std::error_code error;
  if (!script || fs::exists(fs::path(folder) / *script, error)) return {};
  const std::string text = script->string();
  const std::string cure = spec.sweep && text.contains(' ')
                               ? "; write the script alone, as in 'program: train.py', and "
                                 "anything else in 'command'"
                               : ForShells(text);
  return InvalidArgument(
      fmt::format("program: expected a script, found no {}; paths are seen from the study file's "
                  "folder{}",
                  (fs::path(folder) / *script).lexically_normal().string(), cure));
}

// Finds the program itself, not its script.
Result<std::optional<std::string>> FindRunnable(const StudySpec& spec, const std::string& folder) {
  // 'env' looks for the program after it on PATH, as the code below does.
  const bool by_env = spec.program.front() == "/usr/bin/env" && spec.program.size() > 1 &&
                      spec.program[1].find_first_of("=-") == std::string::npos;
  const std::string& program = by_env ? spec.program[1] : spec.program.front();
  // A program whose name has a template is known only when a trial starts.
  if (program.find_first_of("{}") != std::string::npos) return std::nullopt;
  if (program.find('/') != std::string::npos) {
    const fs::path path = fs::path(folder) / program;
    if (IsRunnable(path)) return path.lexically_normal().string();
    std::error_code error;
    if (!fs::exists(path, error)) {
      return InvalidArgument(fmt::format("program: expected a program, found nothing at {}{}",
                                         path.lexically_normal().string(), ForShells(program)));
    }
    return InvalidArgument(
        fmt::format("program: {0}: expected a file that can be run: chmod +x {0}",
                    path.lexically_normal().string()));
  }
  if (spec.environment.contains("PATH")) return std::nullopt;  // known only when a trial starts
  const char* variable = std::getenv("PATH");
  const std::string search = variable != nullptr ? variable : "/usr/local/bin:/usr/bin:/bin";
  for (std::size_t begin = 0; begin <= search.size();) {
    const std::size_t end = std::min(search.find(':', begin), search.size());
    const std::string entry = search.substr(begin, end - begin);
    const fs::path path =
        fs::path(folder) / entry / program;  // an absolute entry replaces the folder
    if (IsRunnable(path)) return path.lexically_normal().string();
    begin = end + 1;
  }
  std::error_code ignored;
  std::string here;
  if (IsRunnable(fs::path(folder) / program)) {
    here = fmt::format("; write './{}' for the one in {}", program, folder);
  } else if (program.ends_with(".py") && fs::exists(fs::path(folder) / program, ignored)) {
    here = fmt::format("; write 'python {}' for the one in {}", program, folder);
  }
  return InvalidArgument(fmt::format(
      "program: expected a program on PATH, found no '{}': install it, or give its path{}", program,
      here));
}

}  // namespace

Result<StudyFile> ReadStudyFile(const std::string& path) {
  SLUICE_ASSIGN(std::string source, ReadConfigText(path, "a study file"));
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error).lexically_normal();
  if (error)
    return InvalidArgument(fmt::format("{}: cannot tell its folder ({})", path, error.message()));
  SLUICE_ASSIGN(StudySpec spec, ReadStudy(source, path, absolute.stem().string()));
  SLUICE_ASSIGN(std::vector<std::string> remarks, CheckNewStudy(spec, source, path));
  const std::string folder = absolute.parent_path().string();
  std::optional<TrainingSummary> training;
  if (spec.training) {
    SLUICE_ASSIGN(training, InspectTraining(spec, source, path, folder));
    remarks.insert(remarks.end(), training->notes.begin(), training->notes.end());
  }
  if (spec.model) {
    SLUICE_ASSIGN(const std::vector<std::string> notes,
                  CheckStudyModel(spec, source, path, folder));
    remarks.insert(remarks.end(), notes.begin(), notes.end());
  }
  std::string place = PlaceOf(source, path, spec.training ? "train" : "program");
  if (place == path) place = PlaceOf(source, path, "command");  // of a sweep
  return StudyFile{.spec = std::move(spec),
                   .path = path,
                   .source = std::move(source),
                   .folder = folder,
                   .place = std::move(place),
                   .training = std::move(training),
                   .remarks = std::move(remarks)};
}

std::string PlaceOf(const std::string& source, const std::string& file, std::string_view about) {
  const auto config = ConfigFile::Parse(source, file);
  if (!config) return file;
  const std::string_view key = about.substr(0, about.find_first_of(": "));
  const ConfigNode node = config->At(key);
  if (!node.path().empty()) return fmt::format("{}:{}", file, node.line());
  for (const char* section : {"space", "parameters"}) {  // of a study, of a sweep
    const std::string path = fmt::format("{}.{}", section, key);
    const ConfigNode parameter = config->At(path);
    if (parameter.path() == path) return fmt::format("{}:{}", file, parameter.line());
  }
  return file;
}

std::string Placed(const StudyFile& file, const std::string& said) {
  return fmt::format("{}: {}", PlaceOf(file.source, file.path, said), said);
}

bool IsStudyFile(std::string_view argument) {
  return argument.contains('/') || argument.ends_with(".yaml") || argument.ends_with(".yml");
}

Status CheckHasEnd(const StudySpec& spec, bool trials_given) {
  if (!spec.endless || trials_given) return {};
  return InvalidArgument(fmt::format(
      "run_cap: expected how many trials, since the method {} goes on without end, found nothing; "
      "add 'run_cap: 24' to the file, or give --trials 24",
      spec.sampler.name == "tpe" ? "bayes" : spec.sampler.name));
}

bool ScriptNamesSluice(const StudySpec& spec, const std::string& folder) {
  constexpr std::size_t kMostBytes = 1 << 20;
  const std::optional<fs::path> script = ScriptOf(spec);
  if (!script) return false;
  std::ifstream file(fs::path(folder) / *script, std::ios::binary);
  std::string text(kMostBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text.contains("sluice") || text.contains("SLUICE_");
}

Result<std::optional<std::string>> FindProgram(const StudySpec& spec, const std::string& folder) {
  if (spec.training) {
    auto trainer = FindTrainer();
    if (!trainer) return Fail(trainer.error().code, "train: " + trainer.error().message);
    return std::move(*trainer);
  }
  SLUICE_TRY(CheckScript(spec, folder));
  return FindRunnable(spec, folder);
}

}  // namespace sluice
