#include "cli/store_checkup.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>

#include "cli/text/print.h"
#include "exec/launch_folder.h"
#include "launcher/small_file.h"
#include "ledger/audit.h"
#include "ledger/reader.h"
#include "ledger/recovery.h"
#include "wire/message.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

std::optional<std::uint32_t> NumberBehind(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  std::uint32_t number = 0;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool whole = read.ec == std::errc() && read.ptr == name.data() + name.size();
  return whole ? std::optional(number) : std::nullopt;
}

// The numbers of the entries of a folder that are named by `prefix` and a number, sorted.
std::vector<std::uint32_t> NumbersIn(const std::string& folder, std::string_view prefix) {
  std::vector<std::uint32_t> numbers;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (const auto number = NumberBehind(prefix, entry->path().filename().string()))
      numbers.push_back(*number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

// What the files of a trial say about it.
struct TrialFiles {
  std::uint32_t trial = 0;
  std::uint32_t launch = 0;        // the last launch
  std::uint64_t acknowledged = 0;  // the launch's last acknowledged message; 0: unknown
};

// The number of the last acknowledged message, which the package writes to a file.
std::uint64_t ReadAcknowledged(const std::string& folder) {
  const std::string text = ReadSmallFile(folder + "/acknowledged");
  std::uint64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && std::string_view(read.ptr) == "\n" ? number : 0;
}

// The number of the last acknowledged message, according to the launch's spool: all messages before
// the first message in the spool were acknowledged.
std::uint64_t AcknowledgedBeforeSpool(const std::string& folder) {
  for (const std::string& line : ReadSpool(folder)) {
    const auto message = wire::DecodeFromWorker(line);
    if (!message || wire::NumberOf(*message).seq == 0) continue;
    const std::uint64_t before = wire::NumberOf(*message).seq - 1;
    return before % wire::kConversation == 0 ? 0 : before;
  }
  return 0;
}

std::vector<TrialFiles> ReadTrialFiles(const StorePaths& paths, const std::string& study) {
  std::vector<TrialFiles> all;
  const std::string trials = paths.StudyFolder(study) + "/trials";
  for (const std::uint32_t trial : NumbersIn(trials, "")) {
    const auto launches = NumbersIn(fmt::format("{}/{}", trials, trial), "launch-");
    const std::uint32_t launch = launches.empty() ? 0 : launches.back();
    const std::string last = fmt::format("{}/{}/launch-{}", trials, trial, launch);
    all.push_back({trial, launch, std::max(ReadAcknowledged(last), AcknowledgedBeforeSpool(last))});
  }
  return all;
}

// Describes a trial, launch or acknowledgement that is in the files but not in the store; "" if
// there is none. A sound store lacks nothing that the files have: everything is written to the
// store first, and the caller has read the files before the store.
Result<std::string> FindAhead(Reader& reader, const StudyInfo& study,
                              const std::vector<TrialFiles>& files) {
  if (files.empty()) return std::string();
  SLUICE_ASSIGN(const auto engine, RecoverEngine(reader.database(), study.id));
  for (const TrialFiles& seen : files) {
    const Trial* trial = engine->trial({study.id, TrialId(seen.trial)});
    if (trial == nullptr) return fmt::format("there are files of trial {}", seen.trial);
    const std::uint32_t known = Number(trial->launch.id);
    if (seen.launch > known) {
      return fmt::format("there are files of launch {} of trial {}, and the store knows {}",
                         seen.launch, seen.trial, known);
    }
    if (seen.launch == known && seen.acknowledged > trial->launch.seq)
      return fmt::format("more messages of trial {} were acknowledged than the store has",
                         seen.trial);
  }
  return std::string();
}

Checkup CheckStudy(Reader& reader, const StudyInfo& study, const std::vector<TrialFiles>& files) {
  const std::string what = fmt::format("study {}", study.name);
  const auto findings = AuditStudy(reader, study);
  if (!findings) return {what, Health::kProblem, findings.error().message};
  if (!findings->empty()) {
    return {what, Health::kProblem, fmt::format("damaged: {}", fmt::join(*findings, "; "))};
  }
  const auto ahead = FindAhead(reader, study, files);
  if (!ahead) return {what, Health::kProblem, ahead.error().message};
  if (!ahead->empty()) {
    return {what, Health::kProblem,
            fmt::format("the store is older than its files: {}: was an older copy of it put back?",
                        *ahead)};
  }
  return {what, Health::kOk,
          fmt::format("{} trials and their reports agree with the study's events", study.made())};
}

// The name of a study whose row is gone, taken from its first event.
std::string NameOfLost(Reader& reader, StudyId id) {
  const auto engine = RecoverEngine(reader.database(), id);
  const Study* study = engine ? (*engine)->study(id) : nullptr;
  return study == nullptr ? fmt::format("study {}", Number(id))
                          : fmt::format("study {} ('{}')", Number(id), study->spec.name);
}

// Looks for rows that belong to no study.
std::optional<Checkup> CheckOrphans(Reader& reader) {
  const auto found = FindOrphans(reader);
  if (!found) return Checkup{"studies", Health::kProblem, found.error().message};
  const std::optional<OrphanRows>& orphans = *found;
  if (!orphans) return std::nullopt;
  return Checkup{"studies", Health::kProblem,
                 fmt::format("damaged: the store has {} {} of {}, but not the study itself",
                             orphans->count, orphans->table, NameOfLost(reader, orphans->study))};
}

Result<Checkup> CheckPages(Reader& reader, const StorePaths& paths, std::size_t studies) {
  SLUICE_ASSIGN(const std::string damage, FindDamagedPage(reader));
  if (!damage.empty()) {
    return Checkup{"store", Health::kProblem,
                   fmt::format("{}: damaged: {}", paths.database, damage)};
  }
  std::error_code error;
  const auto size = fs::file_size(paths.database, error);
  return Checkup{"store", Health::kOk,
                 fmt::format("{}: sound, {}, {}", paths.database,
                             studies == 1 ? "1 study" : fmt::format("{} studies", studies),
                             FormatBytes(static_cast<long long>(size)))};
}

}  // namespace

std::vector<Checkup> CheckStore(const StorePaths& paths) {
  const auto problem = [](const Error& error) {
    return std::vector<Checkup>{{"store", Health::kProblem, error.message}};
  };
  const auto reader = Reader::Open(paths.database);
  if (!reader && reader.error().code == ErrorCode::kNotFound) {
    return {{"store", Health::kOk,
             fmt::format("{}: none yet, the first study makes it", paths.database)}};
  }
  if (!reader) return problem(reader.error());
  const auto studies_before = (*reader)->Studies();
  if (!studies_before) return problem(studies_before.error());
  std::map<StudyId, std::vector<TrialFiles>> files;
  for (const StudyInfo& study : *studies_before)
    files[study.id] = ReadTrialFiles(paths, study.name);
  // From here on the reader sees the store as it is now, even if a controller writes to it.
  if (const Status frozen = (*reader)->Freeze(); !frozen) return problem(frozen.error());
  const auto studies = (*reader)->Studies();
  if (!studies) return problem(studies.error());
  const auto pages = CheckPages(**reader, paths, studies->size());
  if (!pages) return problem(pages.error());
  std::vector<Checkup> checks = {*pages};
  if (pages->health == Health::kProblem) return checks;
  if (auto orphans = CheckOrphans(**reader)) checks.push_back(std::move(*orphans));
  if (const auto whole = IsChainWhole(**reader); !whole || !*whole) {
    checks.push_back({"store", Health::kProblem,
                      whole ? "damaged: the events that belong to no study are not those that were "
                              "written: their checksum differs"
                            : whole.error().message});
  }
  for (const StudyInfo& study : *studies)
    checks.push_back(CheckStudy(**reader, study, files[study.id]));
  return checks;
}

Result<Checkup> CheckReplay(const StorePaths& paths, const std::string& name) {
  SLUICE_ASSIGN(auto reader, Reader::Open(paths.database));
  SLUICE_ASSIGN(const StudyInfo study, reader->FindStudy(name));
  // From here on the reader sees the store as it is now, even if a controller writes to it.
  SLUICE_TRY(reader->Freeze());
  SLUICE_ASSIGN(const auto quick, RecoverEngine(reader->database(), study.id));
  SLUICE_ASSIGN(const auto slow, RecoverEngine(reader->database(), study.id, Recover::kFromEvents));
  if (quick->Digest() == slow->Digest()) {
    return Checkup{"replay", Health::kOk,
                   fmt::format("study '{}' replays to the same state, digest {}", name,
                               ToHex(slow->Digest()))};
  }
  return Checkup{"replay", Health::kProblem,
                 fmt::format("study '{}' replays to another state: digest {} from its events, {} "
                             "from its snapshot",
                             name, ToHex(slow->Digest()), ToHex(quick->Digest()))};
}

}  // namespace sluice
