#include "cli/store_checkup.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "cli/print.h"
#include "exec/launch_folder.h"
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

// Numbers of the folders in a folder.
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

// Whether a launch kept messages whose predecessors were acknowledged and are not known here.
bool SpoolIsAhead(const std::string& folder, std::uint64_t seen) {
  for (const std::string& line : ReadSpool(folder)) {
    const auto message = wire::DecodeFromWorker(line);
    if (!message) continue;
    const std::uint64_t seq = wire::NumberOf(*message).seq;
    const bool begins = (seq - 1) % wire::kConversation == 0;
    return seq > seen + 1 && !begins;
  }
  return false;
}

// What the files know and the store does not; empty: nothing. A launch is in the store before its
// folder is made.
Result<std::string> FindAhead(Reader& reader, const StorePaths& paths, const StudyInfo& study) {
  const TrialFolders folders(paths, study.name);
  const std::string trials = paths.StudyFolder(study.name) + "/trials";
  std::unique_ptr<Engine> engine;
  for (const std::uint32_t number : NumbersIn(trials, "")) {
    if (engine == nullptr) {
      SLUICE_ASSIGN(engine, RecoverEngine(reader.database(), study.id));
    }
    const Trial* trial = engine->trial({study.id, TrialId(number)});
    if (trial == nullptr) return fmt::format("there are files of trial {}", number);
    for (const std::uint32_t launch : NumbersIn(fmt::format("{}/{}", trials, number), "launch-")) {
      if (launch > Number(trial->launch))
        return fmt::format("there are files of launch {} of trial {}, and the store knows {}",
                           launch, number, Number(trial->launch));
    }
    if (SpoolIsAhead(folders.Launch({trial->id, trial->launch}), trial->seq))
      return fmt::format("trial {} has had more acknowledged than the store knows", number);
  }
  return std::string();
}

Checkup CheckStudy(Reader& reader, const StorePaths& paths, const StudyInfo& study) {
  const std::string what = fmt::format("study {}", study.name);
  const auto findings = AuditStudy(reader, study);
  if (!findings) return {what, Health::kProblem, findings.error().message};
  if (!findings->empty()) {
    return {what, Health::kProblem,
            fmt::format("damaged: {}", fmt::join(*findings, "; "))};
  }
  const auto ahead = FindAhead(reader, paths, study);
  if (!ahead) return {what, Health::kProblem, ahead.error().message};
  if (!ahead->empty()) {
    return {what, Health::kProblem,
            fmt::format("the store is older than its files: {}: was an older copy of it put back?",
                        *ahead)};
  }
  return {what, Health::kOk,
          fmt::format("{} trials and their reports agree with all that happened", study.made())};
}

// What belongs to no study.
std::optional<Checkup> CheckOrphans(Reader& reader) {
  for (const char* table : {"events", "reports", "trials", "snapshots"}) {
    auto query = reader.database().Prepare(fmt::format(
        "SELECT count(*), min(study) FROM {} WHERE study NOT IN (SELECT id FROM studies)", table));
    const auto row = query ? query->Step() : Result<bool>(std::unexpected(query.error()));
    if (!row) return Checkup{"studies", Health::kProblem, row.error().message};
    if (query->Integer(0) == 0) continue;
    return Checkup{"studies", Health::kProblem,
                   fmt::format("damaged: {} {} are of study {}, which is not there",
                               query->Integer(0), table, query->Integer(1))};
  }
  return std::nullopt;
}

Result<Checkup> CheckPages(Reader& reader, const StorePaths& paths, std::size_t studies) {
  SLUICE_ASSIGN(Statement check, reader.database().Prepare("PRAGMA quick_check(1)"));
  SLUICE_ASSIGN(const bool row, check.Step());
  if (row && check.Text(0) != "ok") {
    return Checkup{"store", Health::kProblem,
                   fmt::format("{}: damaged: {}", paths.database, check.Text(0))};
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
  // A reader's view of one moment, while a controller may go on writing.
  if (const Status begun = (*reader)->database().Execute("BEGIN"); !begun)
    return problem(begun.error());
  const auto studies = (*reader)->Studies();
  if (!studies) return problem(studies.error());
  const auto pages = CheckPages(**reader, paths, studies->size());
  if (!pages) return problem(pages.error());
  std::vector<Checkup> checks = {*pages};
  if (pages->health == Health::kProblem) return checks;
  if (auto orphans = CheckOrphans(**reader)) checks.push_back(std::move(*orphans));
  for (const StudyInfo& study : *studies) checks.push_back(CheckStudy(**reader, paths, study));
  return checks;
}

Result<Checkup> CheckReplay(const StorePaths& paths, const std::string& name) {
  SLUICE_ASSIGN(auto reader, Reader::Open(paths.database));
  SLUICE_ASSIGN(const StudyInfo study, reader->FindStudy(name));
  // A reader's view of one moment, while a controller may go on writing.
  SLUICE_TRY(reader->database().Execute("BEGIN"));
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
