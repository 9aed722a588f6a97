#include "cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <memory>

#include "base/text.h"
#include "cli/help.h"

namespace sluice {
namespace {

constexpr int kMaxTrials = 10'000'000;
constexpr std::uint32_t kMaxSeeds = 10'000;

// What CLI11 finds, as texts. They are read below, with messages in our own words.
using Text = std::optional<std::string>;

struct RawOptions {
  Text store, study, cluster, file, trial, name, trials, seed, deadline, state, sort, limit, top,
      launch, format, output, topic, points, policy, seeds, gantt, on, like, unit_time, start_up,
      workload, action, scale, min_width, parameters, rule, decay, readout;
  std::vector<std::string> values, widths, pins;
  bool json = false, quiet = false, plain = false, follow = false, standard_error = false,
       yes = false;
  bool reports = false, version = false, explain = false, best = false, replace = false;
};

// CLI11 2.1 wants a plain string to fill.
CLI::Option* Add(CLI::App& app, const std::string& names, Text& into) {
  auto* option = app.add_option_function<std::string>(
      names, [&into](const std::string& text) { into = text; });
  return option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void AddList(CLI::App& app, const std::string& names, std::vector<std::string>& into) {
  app.add_option_function<std::vector<std::string>>(
      names, [&into](const std::vector<std::string>& texts) { into = texts; });
}

void AddGlobal(CLI::App& app, RawOptions& words) {
  app.set_help_flag("-h,--help");
  Add(app, "--store", words.store);
  app.add_flag("--json", words.json);
}

void AddView(CLI::App& app, RawOptions& words) {
  app.add_flag("-q,--quiet", words.quiet);
  app.add_flag("--plain", words.plain);
}

// The flags of each verb, and the order of its arguments.
void AddVerb(CLI::App& app, std::string_view verb, RawOptions& words) {
  AddGlobal(app, words);
  if (verb == "tune") {
    Add(app, "STUDY", words.file);
    Add(app, "--name", words.name);
    Add(app, "--trials", words.trials);
    Add(app, "--seed", words.seed);
    app.add_flag("--replace", words.replace);
    AddView(app, words);
  } else if (verb == "check") {
    Add(app, "STUDY", words.file);
    Add(app, "--trials", words.trials);
  } else if (verb == "resume") {
    Add(app, "NAME", words.study);
    Add(app, "--trials", words.trials);
    Add(app, "--deadline", words.deadline);
    AddView(app, words);
  } else if (verb == "run") {
    Add(app, "NAME", words.study);
    app.add_flag("--best", words.best);
    Add(app, "--trial", words.trial);
  } else if (verb == "status") {
    Add(app, "NAME", words.study);
  } else if (verb == "stop") {
    Add(app, "NAME", words.study);
    Add(app, "--trial", words.trial);
  } else if (verb == "watch") {
    Add(app, "NAME", words.study);
    app.add_flag("--plain", words.plain);
  } else if (verb == "trials") {
    Add(app, "NAME", words.study);
    Add(app, "--state", words.state);
    Add(app, "--sort", words.sort);
    Add(app, "--limit", words.limit);
  } else if (verb == "best") {
    Add(app, "NAME", words.study);
    Add(app, "--top", words.top);
  } else if (verb == "logs") {
    Add(app, "TRIAL", words.trial);
    Add(app, "--study", words.study);
    Add(app, "--launch", words.launch);
    app.add_flag("-f,--follow", words.follow);
    app.add_flag("--stderr", words.standard_error);
  } else if (verb == "retry") {
    Add(app, "TRIAL", words.trial);
    Add(app, "--study", words.study);
  } else if (verb == "enqueue") {
    Add(app, "NAME", words.study);
    AddList(app, "VALUES", words.values);
    Add(app, "--file", words.points);
  } else if (verb == "delete") {
    Add(app, "NAME", words.study);
    app.add_flag("-y,--yes", words.yes);
  } else if (verb == "export") {
    Add(app, "NAME", words.study);
    Add(app, "--format", words.format);
    app.add_flag("--reports", words.reports);
    Add(app, "-o,--output", words.output);
  } else if (verb == "import") {
    Add(app, "FILE", words.file);
    Add(app, "--study", words.study);
    Add(app, "--name", words.name);
  } else if (verb == "doctor") {
    Add(app, "--replay", words.study);
  } else if (verb == "simulate") {
    Add(app, "SCENARIO", words.file);
    Add(app, "--policy", words.policy);
    Add(app, "--cluster", words.cluster);
    Add(app, "--seeds", words.seeds);
    Add(app, "--gantt", words.gantt);
  } else if (verb == "plan") {
    Add(app, "STUDY", words.file);
    Add(app, "--trials", words.trials);
    Add(app, "--on", words.on);
    Add(app, "--cluster", words.cluster);
    Add(app, "--policy", words.policy);
    Add(app, "--seeds", words.seeds);
    Add(app, "--like", words.like);
    Add(app, "--unit-time", words.unit_time);
    Add(app, "--start-up", words.start_up);
    Add(app, "--workload", words.workload);
  } else if (verb == "model") {
    Add(app, "ACTION", words.action);
    Add(app, "FILE", words.file);
    Add(app, "--scale", words.scale);
    Add(app, "--min-width", words.min_width);
    Add(app, "--parameters", words.parameters);
    Add(app, "--rule", words.rule);
    Add(app, "--decay", words.decay);
    Add(app, "--readout", words.readout);
    Add(app, "--study", words.study);
    AddList(app, "--width", words.widths);
    AddList(app, "--pin", words.pins);
    app.add_flag("--explain", words.explain);
  } else if (verb == "help") {
    Add(app, "VERB", words.topic);
  }
}

std::unique_ptr<CLI::App> MakeApp(RawOptions& words) {
  auto app = std::make_unique<CLI::App>("", "sluice");
  AddGlobal(*app, words);
  app->add_flag("--version", words.version);
  // At most one: a study may be called like a verb.
  app->require_subcommand(0, 1);
  for (const std::string& verb : Verbs()) AddVerb(*app->add_subcommand(verb), verb, words);
  AddVerb(*app->add_subcommand("help"), "help", words);
  return app;
}

std::vector<std::string> Flags(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

std::string SeeHelp(std::string_view verb) {
  return verb.empty() ? "'sluice --help' shows what there is"
                      : fmt::format("'sluice {} --help' shows examples", verb);
}

template <typename Unsigned>
Result<Unsigned> ReadNumber(std::string_view what, const std::string& text, Unsigned min,
                            Unsigned max) {
  Unsigned number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && rest == end && number >= min && number <= max) return number;
  const std::string range = max == std::numeric_limits<Unsigned>::max()
                                ? fmt::format("from {}", min)
                                : fmt::format("from {} to {}", min, max);
  return InvalidArgument(
      fmt::format("{}: expected a whole number {}, found '{}'", what, range, text));
}

Result<std::optional<int>> ReadCount(std::string_view what, const Text& text,
                                     std::uint32_t most = kMaxTrials) {
  if (!text) return std::optional<int>();
  SLUICE_ASSIGN(const auto count, ReadNumber<std::uint32_t>(what, *text, 1, most));
  return std::optional(static_cast<int>(count));
}

Result<std::size_t> ReadOneOf(std::string_view what, const std::string& text,
                              std::span<const std::string> names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return i;
  }
  return InvalidArgument(fmt::format("{}: expected one of {}, found '{}'{}", what, Join(names),
                                     text, DidYouMean(text, names)));
}

Result<std::string> Need(std::string_view verb, std::string_view what, const Text& text) {
  if (text && !text->empty()) return *text;
  return InvalidArgument(fmt::format("{}: expected {}: {}", verb, what, SeeHelp(verb)));
}

Result<TrialId> ReadTrial(std::string_view verb, const Text& text) {
  SLUICE_ASSIGN(const std::string word, Need(verb, "the number of a trial", text));
  SLUICE_ASSIGN(const auto number,
                ReadNumber<std::uint32_t>(fmt::format("{} TRIAL", verb), word, 1,
                                          static_cast<std::uint32_t>(kMaxTrials)));
  return TrialId(number);
}

Result<TuneOptions> ReadTune(const RawOptions& words) {
  TuneOptions tune;
  tune.name = words.name;
  tune.quiet = words.quiet;
  tune.plain = words.plain;
  tune.replace = words.replace;
  SLUICE_ASSIGN(tune.file,
                Need("tune", "a study file, as in 'sluice tune study.yaml'", words.file));
  SLUICE_ASSIGN(tune.trials, ReadCount("--trials", words.trials));
  if (words.seed) {
    // As in a study file.
    constexpr std::uint64_t kMaxSeed = std::numeric_limits<std::int64_t>::max();
    SLUICE_ASSIGN(tune.seed, ReadNumber<std::uint64_t>("--seed", *words.seed, 0, kMaxSeed));
  }
  return tune;
}

Result<ResumeOptions> ReadResume(const RawOptions& words) {
  ResumeOptions resume;
  resume.deadline = words.deadline;
  resume.quiet = words.quiet;
  resume.plain = words.plain;
  SLUICE_ASSIGN(resume.study, Need("resume", "the name of a study, or its file", words.study));
  SLUICE_ASSIGN(resume.trials, ReadCount("--trials", words.trials));
  return resume;
}

Result<TrialsOptions> ReadTrials(const RawOptions& words) {
  TrialsOptions trials;
  trials.study = words.study;
  if (words.state) {
    const std::vector<std::string> states(kTrialStateNames.begin(), kTrialStateNames.end());
    SLUICE_ASSIGN(const std::size_t state, ReadOneOf("--state", *words.state, states));
    trials.state = static_cast<TrialState>(state);
  }
  if (words.sort) {
    const std::vector<std::string> orders = {"id", "value"};
    SLUICE_ASSIGN(const std::size_t order, ReadOneOf("--sort", *words.sort, orders));
    trials.order = static_cast<TrialOrder>(order);
  }
  SLUICE_ASSIGN(trials.limit, ReadCount("--limit", words.limit));
  return trials;
}

Result<LogsOptions> ReadLogs(const RawOptions& words) {
  LogsOptions logs;
  logs.study = words.study;
  logs.follow = words.follow;
  logs.standard_error = words.standard_error;
  SLUICE_ASSIGN(logs.trial, ReadTrial("logs", words.trial));
  if (words.launch) {
    SLUICE_ASSIGN(const auto launch,
                  ReadNumber<std::uint32_t>("--launch", *words.launch, 1,
                                            std::numeric_limits<std::uint32_t>::max()));
    logs.launch = LaunchId(launch);
  }
  return logs;
}

Result<EnqueueOptions> ReadEnqueue(const RawOptions& words) {
  EnqueueOptions enqueue{.study = {}, .values = words.values, .file = words.points};
  SLUICE_ASSIGN(enqueue.study, Need("enqueue", "the name of a study", words.study));
  if (enqueue.study.find('=') != std::string::npos) {
    return InvalidArgument(fmt::format(
        "enqueue: expected the name of a study before the values of a point, found '{}': {}",
        enqueue.study, SeeHelp("enqueue")));
  }
  if (enqueue.values.empty() == !enqueue.file) {
    return InvalidArgument(
        fmt::format("enqueue: expected either values such as lr=0.1 or --file FILE, found {}: {}",
                    enqueue.file ? "both" : "neither", SeeHelp("enqueue")));
  }
  if (enqueue.file && enqueue.file->empty())
    return InvalidArgument("--file: expected a file, found ''");
  return enqueue;
}

Result<ExportOptions> ReadExport(const RawOptions& words) {
  ExportOptions options;
  options.study = words.study;
  options.reports = words.reports;
  options.file = words.output;
  if (words.output && words.output->empty())
    return InvalidArgument("--output: expected a file, found ''");
  if (words.format) {
    const std::vector<std::string> formats = {"csv", "jsonl", "optuna"};
    SLUICE_ASSIGN(const std::size_t format, ReadOneOf("--format", *words.format, formats));
    options.format = static_cast<ExportFormat>(format);
  }
  if (options.format == ExportFormat::kOptuna) {
    if (!options.file || *options.file == "-") {
      return InvalidArgument(
          "export: expected a file for --format optuna, as in '-o study.db', found none");
    }
    if (options.reports) {
      return InvalidArgument(
          "export: expected no --reports with --format optuna, which holds trials and reports");
    }
  }
  if (words.json && !options.file && options.format == ExportFormat::kCsv) {
    return InvalidArgument("export: expected either --json or --format csv, found both");
  }
  return options;
}

// Policies separated by commas, each once. Whether they exist is checked when the scenario is read.
std::vector<std::string> ReadPolicies(const std::string& list) {
  std::vector<std::string> policies;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string name = list.substr(begin, end - begin);
    if (std::ranges::find(policies, name) == policies.end()) policies.push_back(name);
    begin = end + 1;
  }
  return policies;
}

Result<SimulateOptions> ReadSimulate(const RawOptions& words) {
  SimulateOptions simulate;
  SLUICE_ASSIGN(
      simulate.file,
      Need("simulate", "a scenario, as in 'sluice simulate scenarios/one-box.yaml'", words.file));
  if (words.policy) simulate.policies = ReadPolicies(*words.policy);
  simulate.cluster = words.cluster.value_or("");
  SLUICE_ASSIGN(simulate.seeds, ReadCount("--seeds", words.seeds, kMaxSeeds));
  if (words.gantt && words.gantt->empty())
    return InvalidArgument("--gantt: expected a file, found ''");
  simulate.gantt = words.gantt;
  return simulate;
}

Result<std::optional<Duration>> ReadTime(std::string_view what, const Text& text) {
  if (!text) return std::optional<Duration>();
  const auto time = ParseDuration(*text);
  if (!time) return InvalidArgument(fmt::format("{}: {}", what, time.error().message));
  return std::optional(*time);
}

Result<PlanOptions> ReadPlan(const RawOptions& words) {
  PlanOptions plan;
  SLUICE_ASSIGN(plan.file,
                Need("plan", "a study file, as in 'sluice plan study.yaml'", words.file));
  SLUICE_ASSIGN(plan.trials, ReadCount("--trials", words.trials));
  plan.on = words.on;
  plan.cluster = words.cluster.value_or("");
  if (plan.on && plan.on->empty()) return InvalidArgument("--on: expected a scenario, found ''");
  if (!plan.cluster.empty() && !plan.on) {
    return InvalidArgument(
        "plan: expected --on SCENARIO.yaml beside --cluster, which is one of its clusters");
  }
  if (words.policy) plan.policies = ReadPolicies(*words.policy);
  SLUICE_ASSIGN(plan.seeds, ReadCount("--seeds", words.seeds, kMaxSeeds));
  plan.like = words.like;
  SLUICE_ASSIGN(plan.unit_time, ReadTime("--unit-time", words.unit_time));
  if (plan.unit_time && *plan.unit_time == Duration(0))
    return InvalidArgument("--unit-time: expected a time above 0, found 0s");
  SLUICE_ASSIGN(plan.start_up, ReadTime("--start-up", words.start_up));
  plan.workload = words.workload.value_or("");
  return plan;
}

// Refuses the flags that 'model show' would silently ignore.
Status RefuseShrinkFlags(const RawOptions& words) {
  const std::pair<const char*, bool> flags[] = {{"--scale", words.scale.has_value()},
                                                {"--parameters", words.parameters.has_value()},
                                                {"--min-width", words.min_width.has_value()},
                                                {"--width", !words.widths.empty()},
                                                {"--rule", words.rule.has_value()},
                                                {"--decay", words.decay.has_value()},
                                                {"--readout", words.readout.has_value()},
                                                {"--study", words.study.has_value()},
                                                {"--explain", words.explain}};
  for (const auto& [flag, given] : flags) {
    if (given)
      return InvalidArgument(fmt::format("model show: {} belongs to 'sluice model shrink'", flag));
  }
  return {};
}

Result<ModelOptions> ReadModel(const RawOptions& words) {
  ModelOptions model;
  SLUICE_ASSIGN(const std::string action,
                Need("model", "what to do, as in 'sluice model show net.pt2'", words.action));
  const std::vector<std::string> actions = {"show", "shrink", "zoo"};
  SLUICE_ASSIGN(const std::size_t which, ReadOneOf("model", action, actions));
  model.action = static_cast<ModelAction>(which);
  if (model.action == ModelAction::kZoo) return model;
  if (model.action == ModelAction::kShow) SLUICE_TRY(RefuseShrinkFlags(words));
  if (words.study) {
    model.file = words.file.value_or("");
  } else {
    SLUICE_ASSIGN(
        model.file,
        Need("model",
             "a file that torch.export.save wrote or zoo:NAME, as in 'sluice model show net.pt2'",
             words.file));
  }
  model.pins = words.pins;
  model.widths = words.widths;
  model.explain = words.explain;
  if (words.scale) {
    const char* end = words.scale->data() + words.scale->size();
    double& scale = model.scale.emplace();
    const auto [rest, error] = std::from_chars(words.scale->data(), end, scale);
    if (error != std::errc() || rest != end || !(scale >= 1 && scale <= 1e6)) {
      return InvalidArgument(
          fmt::format("--scale: expected a number from 1 to 1000000, found '{}'", *words.scale));
    }
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (words.min_width) {
    SLUICE_ASSIGN(model.min_width,
                  ReadNumber<std::int64_t>("--min-width", *words.min_width, 1, kMost));
  }
  if (words.parameters) {
    if (words.scale)
      return InvalidArgument("model: expected either --scale or --parameters, found both");
    SLUICE_ASSIGN(model.parameters,
                  ReadNumber<std::int64_t>("--parameters", *words.parameters, 1, kMost));
  }
  model.study = words.study;
  model.rule = words.rule.value_or("mup");
  model.decay = words.decay.value_or("scaled");
  if (words.readout) {
    const std::vector<std::string> readouts = {"zero", "keep"};
    SLUICE_ASSIGN(const std::size_t readout, ReadOneOf("--readout", *words.readout, readouts));
    model.keep_readout = readout == 1;
  }
  return model;
}

Result<Options> ReadVerb(std::string_view verb, const RawOptions& words) {
  Options options{.store = words.store, .json = words.json, .verb = HelpOptions{}};
  if (verb == "tune") {
    SLUICE_ASSIGN(options.verb, ReadTune(words));
  } else if (verb == "check") {
    SLUICE_ASSIGN(std::string file,
                  Need(verb, "a study file, as in 'sluice check study.yaml'", words.file));
    SLUICE_ASSIGN(const auto trials, ReadCount("--trials", words.trials));
    options.verb = CheckOptions{std::move(file), trials};
  } else if (verb == "resume") {
    SLUICE_ASSIGN(options.verb, ReadResume(words));
  } else if (verb == "run") {
    if (words.best && words.trial)
      return InvalidArgument("run: expected either --best or --trial, found both");
    RunOptions run{words.study, TrialId{}};
    if (words.trial) {
      SLUICE_ASSIGN(run.trial, ReadTrial("run --trial", words.trial));
    }
    options.verb = std::move(run);
  } else if (verb == "studies") {
    options.verb = StudiesOptions{};
  } else if (verb == "status") {
    options.verb = StatusOptions{words.study};
  } else if (verb == "watch") {
    options.verb = WatchOptions{words.study, words.plain};
  } else if (verb == "trials") {
    SLUICE_ASSIGN(options.verb, ReadTrials(words));
  } else if (verb == "best") {
    SLUICE_ASSIGN(const auto top, ReadCount("--top", words.top));
    options.verb = BestOptions{words.study, top.value_or(1)};
  } else if (verb == "logs") {
    SLUICE_ASSIGN(options.verb, ReadLogs(words));
  } else if (verb == "retry") {
    SLUICE_ASSIGN(const TrialId trial, ReadTrial(verb, words.trial));
    options.verb = RetryOptions{trial, words.study};
  } else if (verb == "enqueue") {
    SLUICE_ASSIGN(options.verb, ReadEnqueue(words));
  } else if (verb == "stop") {
    StopOptions stop{words.study, TrialId{}};
    if (words.trial) {
      SLUICE_ASSIGN(stop.trial, ReadTrial("stop --trial", words.trial));
    }
    options.verb = std::move(stop);
  } else if (verb == "delete") {
    SLUICE_ASSIGN(std::string study, Need(verb, "the name of a study", words.study));
    options.verb = DeleteOptions{std::move(study), words.yes};
  } else if (verb == "export") {
    SLUICE_ASSIGN(options.verb, ReadExport(words));
  } else if (verb == "import") {
    SLUICE_ASSIGN(std::string file,
                  Need(verb, "an Optuna storage, as in 'sluice import optuna.db'", words.file));
    options.verb = ImportOptions{std::move(file), words.study, words.name};
  } else if (verb == "doctor") {
    options.verb = DoctorOptions{words.study};
  } else if (verb == "simulate") {
    SLUICE_ASSIGN(options.verb, ReadSimulate(words));
  } else if (verb == "plan") {
    SLUICE_ASSIGN(options.verb, ReadPlan(words));
  } else if (verb == "model") {
    SLUICE_ASSIGN(options.verb, ReadModel(words));
  }
  return options;
}

std::unexpected<Error> UnknownVerb(const std::string& typed) {
  return InvalidArgument(
      fmt::format("no verb '{}'{}: 'sluice --help' lists them", typed, DidYouMean(typed, Verbs())));
}

// Explains what CLI11 could not place, in our words. An unknown flag explains more than the errors
// it causes.
std::unexpected<Error> Explain(const CLI::App& app, const CLI::ParseError& error) {
  const auto verbs = app.get_subcommands();
  const CLI::App& active = verbs.empty() ? app : *verbs.front();
  const std::string verb = verbs.empty() ? "" : active.get_name();
  const std::vector<std::string> left = app.remaining(/*recurse=*/true);
  for (const std::string& word : left) {
    if (!word.starts_with('-')) continue;
    const std::string flag = word.substr(0, word.find('='));
    return InvalidArgument(fmt::format("{}{}no flag '{}'{}: {}", verb, verb.empty() ? "" : ": ",
                                       flag, DidYouMean(flag, Flags(active)), SeeHelp(verb)));
  }
  if (!left.empty() && verb.empty()) return UnknownVerb(left.front());
  if (!left.empty()) {
    return InvalidArgument(fmt::format("{}: expected no further argument, found '{}': {}", verb,
                                       left.front(), SeeHelp(verb)));
  }
  return InvalidArgument(
      fmt::format("{}{}{}: {}", verb, verb.empty() ? "" : ": ", error.what(), SeeHelp(verb)));
}

}  // namespace

Result<Options> ParseOptions(int argc, const char* const* argv) {
  RawOptions words;
  const std::unique_ptr<CLI::App> app = MakeApp(words);
  try {
    app->parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const auto verbs = app->get_subcommands();
    const std::vector<std::string> left = app->remaining();
    const auto word = std::ranges::find_if(left, [](const auto& w) { return !w.starts_with('-'); });
    if (verbs.empty() && word != left.end()) return UnknownVerb(*word);
    std::string verb =
        verbs.empty() || verbs.front()->get_name() == "help" ? "" : verbs.front()->get_name();
    return Options{.store = {}, .json = false, .verb = HelpOptions{std::move(verb)}};
  } catch (const CLI::ParseError& error) {
    return Explain(*app, error);
  }
  if (words.version) return Options{.store = {}, .json = words.json, .verb = VersionOptions{}};
  const auto verbs = app->get_subcommands();
  if (verbs.empty())
    return InvalidArgument(
        "expected a verb, as in 'sluice tune study.yaml': 'sluice --help' lists them");
  if (words.store && words.store->empty())
    return InvalidArgument("--store: expected a file, found ''");
  if (verbs.front()->get_name() != "help") return ReadVerb(verbs.front()->get_name(), words);
  const std::string topic = words.topic.value_or("");
  if (!topic.empty() && HelpFor(topic).empty()) return UnknownVerb(topic);
  return Options{.store = {}, .json = false, .verb = HelpOptions{topic}};
}

std::vector<std::string> FlagsOf(std::string_view verb) {
  RawOptions words;
  CLI::App app;
  AddVerb(app, verb, words);
  return Flags(app);
}

}  // namespace sluice
