#include "ledger/earlier_measurements.h"

#include <fmt/format.h>

#include <map>
#include <utility>
#include <vector>

#include "ledger/event_codec.h"
#include "ledger/recovery.h"

namespace sluice {
namespace {

constexpr std::int64_t kMostMeasurements = 1000;  // the latest of an earlier study

// What a study trains without a program, without what differs from study to study.
std::string TrainedBy(const StudySpec& spec) {
  if (!spec.training) return "";
  recipe::Recipe recipe = *spec.training;
  recipe.length = 0;
  recipe.recorded.reset();
  return ToJson(recipe);
}

bool HasOneProgram(const StudyCreated& a, const StudyCreated& b) {
  return a.spec.program == b.spec.program && a.folder == b.folder && a.spec.unit == b.spec.unit &&
         TrainedBy(a.spec) == TrainedBy(b.spec);
}

// Studies with measurements, the latest first.
Result<std::vector<StudyId>> StudiesThatMeasured(Database& database) {
  SLUICE_ASSIGN(Statement query,
                database.Prepare("SELECT id FROM studies WHERE EXISTS (SELECT 1 FROM events WHERE "
                                 "study = studies.id AND kind = 'profiled') ORDER BY id DESC"));
  std::vector<StudyId> studies;
  while (true) {
    SLUICE_ASSIGN(const bool found, query.Step());
    if (!found) return studies;
    studies.push_back(StudyId(static_cast<std::uint32_t>(query.Integer(0))));
  }
}

Result<std::vector<Measurement>> MeasurementsOf(Database& database, StudyId study) {
  SLUICE_ASSIGN(
      Statement query,
      database.Prepare("SELECT time_us, kind, body FROM events WHERE study = ? AND kind = "
                       "'profiled' ORDER BY seq DESC LIMIT ?"));
  query.Bind(1, static_cast<std::int64_t>(Number(study))).Bind(2, kMostMeasurements);
  std::vector<Measurement> measured;
  while (true) {
    SLUICE_ASSIGN(const bool found, query.Step());
    if (!found) return measured;
    SLUICE_ASSIGN(const Event event,
                  DecodeEvent(FromMicros(query.Integer(0)), study, query.Text(1), query.Text(2)));
    measured.push_back(std::get<Profiled>(event.body).measured);
  }
}

}  // namespace

Result<MeasurementsGiven> ReadEarlierMeasurements(Database& database, const StudyCreated& created,
                                                  const std::set<std::string>& kinds) {
  MeasurementsGiven given{.study = created.study, .source = "", .measured = {}};
  SLUICE_ASSIGN(const std::vector<StudyId> studies, StudiesThatMeasured(database));
  for (const StudyId id : studies) {
    const auto earlier = FindCreation(database, id);
    // The file of an old study may be one that is refused today.
    if (!earlier || !HasOneProgram(earlier->body(), created)) continue;
    const std::string& name = earlier->body().spec.name;
    SLUICE_ASSIGN(const std::vector<Measurement> all, MeasurementsOf(database, id));
    std::map<SpeedSituation, Measurement> latest;
    for (Measurement measured : all) {
      SpeedSituation& at = measured.situation;
      if (!at.shape.starts_with(name) || !(at.kind.empty() || kinds.contains(at.kind))) continue;
      at.shape = created.spec.name + at.shape.substr(name.size());
      Measurement& kept = latest.try_emplace(at, measured).first->second;
      if (kept.bytes == 0) kept.bytes = measured.bytes;
      if (kept.work_per_second == 0) kept.work_per_second = measured.work_per_second;
    }
    if (latest.empty()) continue;
    for (auto& [situation, measured] : latest) given.measured.push_back(std::move(measured));
    given.source = fmt::format("study '{}'", name);
    return given;
  }
  return given;
}

}  // namespace sluice
