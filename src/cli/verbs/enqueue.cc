#include <fmt/format.h>

#include <algorithm>

#include "cli/points_file.h"
#include "cli/study_state.h"
#include "cli/text/print.h"
#include "cli/text/print_json.h"
#include "cli/verbs/verbs.h"
#include "exec/session.h"

namespace sluice {
namespace {

Result<std::vector<PointPart>> ReadPoints(const EnqueueOptions& options, const Space& space) {
  if (options.file) return ReadPointsFile(*options.file, space);
  SLUICE_ASSIGN(PointPart point, ReadAssignments(options.values, space));
  return std::vector<PointPart>{std::move(point)};
}

// The command that is still needed for all points to be tried; empty if none is.
std::string WhatItTakes(const StudyInfo& study, const EnqueueEnd& end) {
  const bool short_of_room = end.room < end.waiting;
  if (end.at_once && !short_of_room) return "";
  std::string command = fmt::format("sluice resume {}", study.name);
  // A study that reached its goal goes on only if it is to have more trials than before.
  const bool reached = study.finished && study.ending == Name(Finish::kTarget);
  if (short_of_room || reached)
    command += fmt::format(" --trials {}", std::max(end.total, study.trials + 1));
  if (study.finished && study.ending == Name(Finish::kDeadline)) command += " --deadline 1h";
  return command;
}

std::string Describe(const StudyInfo& study, const EnqueueEnd& end, const std::string& command) {
  std::string text = fmt::format("{}: {} enqueued", study.name, Counted(end.added, "point"));
  if (end.waiting > end.added) text += fmt::format(", {} in the queue", end.waiting);
  if (end.known > 0)
    text += fmt::format(" ({} tried or enqueued before)",
                        end.known == 1 ? "1 was" : fmt::format("{} were", end.known));
  if (command.empty()) return text + "; tried when there is room";
  if (end.at_once) {
    return text + fmt::format("; the study makes {} more, then '{}' tries the rest",
                              Counted(end.room, "trial"), command);
  }
  return text + fmt::format("; tried when the study is resumed: {}", command);
}

}  // namespace

Result<int> RunVerb(const Context& context, const EnqueueOptions& options) {
  SLUICE_ASSIGN(const auto reader, Reader::Open(context.paths.database));
  SLUICE_ASSIGN(const StudyInfo study, ChooseStudy(*reader, options.study));
  SLUICE_ASSIGN(const std::string source, reader->Source(study.id));
  SLUICE_ASSIGN(const StudySpec spec, ReadStudy(source, study.name, study.name));
  SLUICE_ASSIGN(const std::vector<PointPart> partial, ReadPoints(options, spec.space));
  std::vector<std::string> points;
  for (const PointPart& point : partial) points.push_back(EncodePart(spec.space, point));
  SLUICE_ASSIGN(const EnqueueEnd end, EnqueuePoints(context.paths, study.name, points));
  const std::string command = WhatItTakes(study, end);
  if (!context.json) {
    PrintLine(Describe(study, end, command));
    return kExitOk;
  }
  JsonWriter object;
  object.Add("study", study.name).Add("enqueued", end.added).Add("known", end.known);
  object.Add("waiting", end.waiting).Add("room", end.room).Add("at_once", end.at_once);
  object.AddOptional("then", command.empty() ? std::nullopt : std::optional(command));
  PrintLine(object.Take());
  return kExitOk;
}

}  // namespace sluice
