#include <fmt/format.h>

#include <algorithm>

#include "cli/points_file.h"
#include "cli/study_state.h"
#include "cli/text/print.h"
#include "cli/text/print_json.h"
#include "cli/verbs/verb.h"
#include "exec/session/session.h"

namespace sluice {
namespace {

constexpr std::string_view kEnqueueHelp =
    R"(usage: sluice enqueue NAME PARAMETER=VALUE...
       sluice enqueue NAME --file FILE

Gives a study points to try before the points that its sampler proposes. They are tried in the
order in which they were enqueued: immediately if the study runs, else when it is resumed.
Parameters that are left out are drawn from the space. Enqueued points count in the study's number
of trials. If one point of a file is wrong, no point of the file is taken.

  --file FILE   points as JSON objects, one per line; as CSV with a header line if FILE is *.csv
  --store FILE  where studies are kept
  --json        as a JSON object
  -h, --help    print this

examples:
  sluice enqueue fashion lr=0.01 width=64
  sluice enqueue fashion lr=0.01          the other parameters are drawn
  sluice enqueue fashion --file points.jsonl && sluice resume fashion --trials 40
)";

struct EnqueueOptions {
  std::string study;
  std::vector<std::string> values;  // words such as "lr=0.1", which make one point
  std::optional<std::string> file;  // a file of points
};

void EnqueueFlags(Flags& flags, EnqueueOptions& options) {
  flags.Required("NAME", options.study, "the name of a study");
  flags.Check([&options]() -> Status {
    if (options.study.find('=') == std::string::npos) return {};
    return InvalidArgument(fmt::format(
        "enqueue: expected the name of a study before the values of a point, found '{}': {}",
        options.study, SeeHelp("enqueue")));
  });
  flags.List("VALUES", options.values);
  flags.Check([&flags, &options]() -> Status {
    const bool file = flags.Given("--file");
    if (options.values.empty() == file) return {};
    return InvalidArgument(
        fmt::format("enqueue: expected either values such as lr=0.1 or --file FILE, found {}: {}",
                    file ? "both" : "neither", SeeHelp("enqueue")));
  });
  flags.NotEmpty("--file", options.file, "a file");
}

Result<std::vector<PointPart>> ReadPoints(const EnqueueOptions& options, const Space& space) {
  if (options.file) return ReadPointsFile(*options.file, space);
  SLUICE_ASSIGN(PointPart point, ReadAssignments(options.values, space));
  return std::vector<PointPart>{std::move(point)};
}

// The command that the user must still run so that all points are tried; empty if none is needed.
std::string WhatItTakes(const StudyInfo& study, const EnqueueEnd& end) {
  const bool short_of_room = end.room < end.waiting;
  if (end.at_once && !short_of_room) return "";
  std::string command = fmt::format("sluice resume {}", study.name);
  // A study that reached its goal can be resumed only with more trials than before.
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

Result<int> EnqueueAction(const Context& context, const EnqueueOptions& options) {
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

}  // namespace

Verb EnqueueVerb() { return MakeVerb(kEnqueueHelp, EnqueueFlags, EnqueueAction); }

}  // namespace sluice
