#include "cli/study_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "cli/config_text.h"
#include "cli/study_model.h"
#include "engine/new_study.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

bool IsRunnable(const fs::path& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
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
  if (spec.model) {
    SLUICE_ASSIGN(const std::vector<std::string> notes, CheckStudyModel(spec, path, folder));
    remarks.insert(remarks.end(), notes.begin(), notes.end());
  }
  return StudyFile{.spec = std::move(spec),
                   .source = std::move(source),
                   .folder = folder,
                   .remarks = std::move(remarks)};
}

Status CheckHasEnd(const StudySpec& spec, bool trials_given) {
  if (!spec.endless || trials_given) return {};
  return InvalidArgument(fmt::format(
      "run_cap: expected how many trials, since the method {} goes on without end, found nothing; "
      "add 'run_cap: 24' to the file, or give --trials 24",
      spec.sampler.name == "tpe" ? "bayes" : spec.sampler.name));
}

Result<std::optional<std::string>> FindProgram(const StudySpec& spec, const std::string& folder) {
  // 'env' looks for what follows it as we do here.
  const bool by_env = spec.program.front() == "/usr/bin/env" && spec.program.size() > 1 &&
                      spec.program[1].find_first_of("=-") == std::string::npos;
  const std::string& program = by_env ? spec.program[1] : spec.program.front();
  // What a template or an environment of its own makes of it is known when a trial starts.
  if (program.find_first_of("{}") != std::string::npos) return std::nullopt;
  if (program.find('/') != std::string::npos) {
    const fs::path path = fs::path(folder) / program;
    if (IsRunnable(path)) return path.lexically_normal().string();
    std::error_code error;
    if (!fs::exists(path, error)) {
      return InvalidArgument(fmt::format("program: expected a program, found nothing at {}",
                                         path.lexically_normal().string()));
    }
    return InvalidArgument(
        fmt::format("program: {0}: expected a file that can be run: chmod +x {0}",
                    path.lexically_normal().string()));
  }
  if (spec.environment.contains("PATH")) return std::nullopt;
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
  const std::string here = IsRunnable(fs::path(folder) / program)
                               ? fmt::format("; write './{}' for the one in {}", program, folder)
                               : "";
  return InvalidArgument(fmt::format(
      "program: expected a program on PATH, found no '{}': install it, or give its path{}", program,
      here));
}

}  // namespace sluice
