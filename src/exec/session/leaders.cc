#include "exec/session/leaders.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "ledger/recovery.h"
#include "space/same_points.h"

namespace sluice {
namespace {

Result<StudySpec> SpecOf(Reader& reader, StudyId study) {
  SLUICE_ASSIGN(const Creation created, FindCreation(reader.database(), study));
  return created.body().spec;
}

// Fails if following the leaders from `first` comes to `study`, or runs in a circle without it.
Status CheckNoCircle(Reader& reader, const std::string& study, const std::string& first) {
  std::vector<std::string> way = {study};
  for (std::string next = first; !next.empty();) {
    const bool again = std::ranges::find(way, next) != way.end();
    way.push_back(next);
    if (again) {
      return FailedPrecondition(
          fmt::format("transfer: expected studies that lead to one that searches, found a circle: "
                      "{}; name a study that does not depend on '{}'",
                      Join(way, " -> "), study));
    }
    const auto found = reader.FindStudy(next);
    if (!found) return {};  // it was deleted after its follower had finished
    SLUICE_ASSIGN(next, LeaderOf(reader, found->id));
  }
  return {};
}

}  // namespace

Result<std::string> LeaderOf(Reader& reader, StudyId study) {
  SLUICE_ASSIGN(const StudySpec spec, SpecOf(reader, study));
  return spec.transfer;
}

Status CheckLeader(const std::string& database, const StudySpec& spec) {
  if (spec.transfer.empty()) return {};
  if (spec.transfer == spec.name) {
    return FailedPrecondition(fmt::format(
        "transfer: expected the name of another study, found that of this one, '{}'", spec.name));
  }
  const auto missing = [&spec](const Error& error) {
    return FailedPrecondition(
        fmt::format("transfer: expected a study '{}', whose best trial this study trains, found "
                    "none: {}; tune '{}' first",
                    spec.transfer, error.message, spec.transfer));
  };
  const auto reader = Reader::Open(database);
  if (!reader) return missing(reader.error());
  const auto leader = (*reader)->FindStudy(spec.transfer);
  if (!leader) return missing(leader.error());
  SLUICE_ASSIGN(const StudySpec its, SpecOf(**reader, leader->id));
  if (const std::string why = WhyOtherPoints(spec.space, its.space); !why.empty()) {
    return FailedPrecondition(
        fmt::format("transfer: expected the space of study '{}', since its best point is trained "
                    "here, found another: {}; copy 'space' and 'constraints' from its file",
                    spec.transfer, why));
  }
  return CheckNoCircle(**reader, spec.name, spec.transfer);
}

Status CheckNotFollowed(const std::string& database, const std::string& study) {
  SLUICE_ASSIGN(const auto reader, Reader::Open(database));
  SLUICE_ASSIGN(const std::vector<StudyInfo> studies, reader->Studies());
  for (const StudyInfo& other : studies) {
    if (other.finished || other.name == study) continue;
    const auto leader = LeaderOf(*reader, other.id);
    if (!leader || *leader != study) continue;  // damage of another study is no obstacle
    return FailedPrecondition(
        fmt::format("study '{0}' is needed by study '{1}', which trains its best trial and has not "
                    "finished: end it by 'sluice stop {1}', or delete it by 'sluice delete {1}', "
                    "then delete '{0}'",
                    study, other.name));
  }
  return {};
}

}  // namespace sluice
