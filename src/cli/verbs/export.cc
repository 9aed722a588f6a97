#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "cli/new_file.h"
#include "cli/output_file.h"
#include "cli/text/csv.h"
#include "cli/text/describe.h"
#include "cli/text/flat_json.h"
#include "cli/text/print.h"
#include "cli/text/print_json.h"
#include "cli/verbs/verb.h"
#include "exec/wall_clock.h"
#include "ledger/optuna/optuna_writer.h"

namespace sluice {
namespace {

constexpr std::string_view kExportHelp =
    R"(usage: sluice export [NAME] [--format csv|jsonl|optuna] [--reports] [-o FILE]

Writes a study's trials, one per row; with --reports, every report of every trial. Parameters are
in columns named params_NAME. Attributes that programs reported are in columns attributes_NAME.

With --format optuna, writes an SQLite file that Optuna 3.2 to 5 can load and continue. Stopped and
paused trials are pruned trials there; a trial's value is its best report, as in 'sluice best'.

  --format F         csv, jsonl or optuna; by default what the file's name ends with, else csv
  --reports          one row per report: trial, launch, time, work, and a column for each metric
  -o, --output FILE  write FILE instead of standard output; it appears only once it is complete.
                     With --format optuna, FILE must not exist yet
  --store FILE       where studies are kept
  --json             to standard output: the same as --format jsonl
  -h, --help         print this

examples:
  sluice export > trials.csv
  sluice export fashion --reports -o curves.csv
  sluice export fashion --format jsonl | jq .params
  sluice export fashion --format optuna -o fashion.db
)";

enum class ExportFormat { kCsv, kJsonl, kOptuna };

struct ExportOptions {
  std::optional<std::string> study;
  std::optional<ExportFormat> format;
  bool reports = false;
  std::optional<std::string> file;
};

void ExportFlags(Flags& flags, ExportOptions& options) {
  flags.Text("NAME", options.study);
  flags.NotEmpty("-o,--output", options.file, "a file");
  flags.Choice("--format", {"csv", "jsonl", "optuna"}, options.format);
  flags.Switch("--reports", options.reports);
  flags.Check([&flags, &options]() -> Status {
    const bool optuna = options.format == ExportFormat::kOptuna;
    if (optuna && (!options.file || *options.file == "-")) {
      return InvalidArgument(
          "export: expected a file for --format optuna, as in '-o study.db', found none");
    }
    if (optuna && options.reports) {
      return InvalidArgument(
          "export: expected no --reports with --format optuna, which holds trials and reports");
    }
    if (flags.Given("--json") && !options.file && options.format == ExportFormat::kCsv)
      return InvalidArgument("export: expected either --json or --format csv, found both");
    return {};
  });
}

// The columns of a table whose rows are JSON objects. Each object is noted before the first is
// written, so that there is a column for every name. Columns have the order of their first object.
class Columns {
 public:
  // Adds a column for each new name in an object.
  void Note(std::string_view json) {
    EachMember(json, [this](const std::string& name, const std::string&) {
      if (places_.try_emplace(name, names_.size()).second) names_.push_back(name);
    });
  }
  const std::vector<std::string>& names() const { return names_; }

  // The values of an object, one for each column; "" for a name that the object lacks.
  const std::vector<std::string>& Spread(std::string_view json) {
    row_.assign(names_.size(), "");
    EachMember(json, [this](const std::string& name, const std::string& value) {
      if (const auto place = places_.find(name); place != places_.end())
        row_[place->second] = value;
    });
    return row_;
  }

 private:
  std::map<std::string, std::size_t> places_;
  std::vector<std::string> names_;
  std::vector<std::string> row_;
};

// A value of the trial: "" if the trial has reported nothing, "NaN" if it reported NaN.
std::string ValueField(double value, const TrialInfo& trial) {
  return std::isnan(value) && trial.reports == 0 ? "" : FullNumber(value);
}

std::string TimeField(Time time) { return time == Time{} ? "" : FormatPreciseTime(time); }

void WriteTrialsCsv(const std::vector<TrialInfo>& trials, OutputSink& sink, Time now) {
  Columns params;
  Columns attributes;
  for (const TrialInfo& trial : trials) {
    params.Note(trial.params);
    attributes.Note(trial.attributes);
  }
  CsvLine line;
  for (const char* name :
       {"trial", "state", "value", "best_value", "best_work", "work", "target", "launches",
        "failures", "reports", "created", "started", "ended", "busy_s"}) {
    line.Add(name);
  }
  for (const std::string& name : params.names()) line.Add("params_" + name);
  for (const std::string& name : attributes.names()) line.Add("attributes_" + name);
  sink.Write(line.Add("note").Finish());
  for (const TrialInfo& trial : trials) {
    line.Add(std::to_string(Number(trial.id))).Add(Name(trial.state));
    line.Add(ValueField(trial.value, trial)).Add(ValueField(trial.result, trial));
    line.Add(std::to_string(trial.result_work)).Add(std::to_string(trial.work));
    line.Add(trial.target ? std::to_string(*trial.target) : "")
        .Add(std::to_string(Number(trial.launch)));
    line.Add(std::to_string(trial.failures)).Add(std::to_string(trial.reports));
    line.Add(TimeField(trial.created)).Add(TimeField(trial.started)).Add(TimeField(trial.ended));
    line.Add(FullNumber(Seconds(BusyOf(trial, now))));
    for (const std::string& value : params.Spread(trial.params)) line.Add(value);
    for (const std::string& value : attributes.Spread(trial.attributes)) line.Add(value);
    sink.Write(line.Add(trial.note).Finish());
  }
}

Result<std::int64_t> WriteTrials(Reader& reader, const StudyInfo& study, ExportFormat format,
                                 OutputSink& sink) {
  SLUICE_ASSIGN(const std::vector<TrialInfo> trials, reader.Trials(study.id));
  const Time now = WallNow();
  if (format == ExportFormat::kCsv) {
    WriteTrialsCsv(trials, sink, now);
  } else {
    for (const TrialInfo& trial : trials) {
      sink.Write(TrialJson(trial, now));
      sink.Write("\n");
    }
  }
  return static_cast<std::int64_t>(trials.size());
}

Result<std::int64_t> WriteReportsCsv(Reader& reader, const StudyInfo& study, OutputSink& sink) {
  const std::vector<std::string> fixed = {"trial", "launch", "time", "work"};
  Columns metrics;
  SLUICE_TRY(reader.EachReport(study.id, std::nullopt,
                               [&](const ReportInfo& report) { metrics.Note(report.metrics); }));
  CsvLine line;
  for (const std::string& name : fixed) line.Add(name);
  for (const std::string& name : metrics.names()) {
    const bool taken = std::ranges::find(fixed, name) != fixed.end();
    line.Add(taken ? "metrics_" + name : name);
  }
  sink.Write(line.Finish());
  std::int64_t rows = 0;
  SLUICE_TRY(reader.EachReport(study.id, std::nullopt, [&](const ReportInfo& report) {
    line.Add(std::to_string(Number(report.trial))).Add(std::to_string(Number(report.launch)));
    line.Add(FormatPreciseTime(report.time)).Add(std::to_string(report.work));
    for (const std::string& value : metrics.Spread(report.metrics)) line.Add(value);
    sink.Write(line.Finish());
    ++rows;
  }));
  return rows;
}

Result<std::int64_t> WriteReports(Reader& reader, const StudyInfo& study, ExportFormat format,
                                  OutputSink& sink) {
  if (format == ExportFormat::kCsv) return WriteReportsCsv(reader, study, sink);
  std::int64_t rows = 0;
  SLUICE_TRY(reader.EachReport(study.id, std::nullopt, [&](const ReportInfo& report) {
    sink.Write(ReportJson(report));
    sink.Write("\n");
    ++rows;
  }));
  return rows;
}

// Writes the file of Optuna, and not through an OutputSink, because SQLite itself writes it.
Result<std::int64_t> WriteOptuna(Reader& reader, const StudyInfo& study, const std::string& path) {
  SLUICE_ASSIGN(NewFile file, NewFile::Reserve(path));
  SLUICE_ASSIGN(const std::int64_t rows, WriteOptunaStudy(reader, study, file.temporary()));
  SLUICE_TRY(file.Commit());
  return rows;
}

Result<std::int64_t> WriteText(Reader& reader, const StudyInfo& study, const ExportOptions& options,
                               ExportFormat format) {
  SLUICE_ASSIGN(OutputSink sink, OutputSink::Open(options.file));
  SLUICE_ASSIGN(const std::int64_t rows, options.reports
                                             ? WriteReports(reader, study, format, sink)
                                             : WriteTrials(reader, study, format, sink));
  SLUICE_TRY(sink.Commit());
  return rows;
}

ExportFormat ChooseFormat(const ExportOptions& options, bool json) {
  if (options.format) return *options.format;
  if (!options.file) return json ? ExportFormat::kJsonl : ExportFormat::kCsv;
  const std::string& file = *options.file;
  const bool lines =
      file.ends_with(".jsonl") || file.ends_with(".ndjson") || file.ends_with(".json");
  return lines ? ExportFormat::kJsonl : ExportFormat::kCsv;
}

Result<int> ExportAction(const Context& context, const ExportOptions& options) {
  SLUICE_ASSIGN(const auto reader, Reader::Open(context.paths.database));
  // From here on the reader sees the store as it is now, even if reports arrive meanwhile.
  SLUICE_TRY(reader->Freeze());
  SLUICE_ASSIGN(const StudyInfo study, ChooseStudy(*reader, options.study));
  const ExportFormat format = ChooseFormat(options, context.json);
  SLUICE_ASSIGN(const std::int64_t rows, format == ExportFormat::kOptuna
                                             ? WriteOptuna(*reader, study, *options.file)
                                             : WriteText(*reader, study, options, format));
  if (!options.file || *options.file == "-") return kExitOk;
  if (context.json) {
    JsonWriter object;
    object.Add("study", study.name).Add("file", *options.file).Add("rows", rows);
    PrintLine(object.Take());
  } else {
    PrintLine(fmt::format("{} of {} in {}", Counted(rows, options.reports ? "report" : "trial"),
                          study.name, *options.file));
  }
  return kExitOk;
}

}  // namespace

Verb ExportVerb() { return MakeVerb(kExportHelp, ExportFlags, ExportAction); }

}  // namespace sluice
