#include "ledger/event_codec.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/json_reader.h"
#include "base/json_writer.h"
#include "engine/parts/note.h"
#include "policy/policy.h"

namespace sluice {
namespace {

void AppendDevice(std::string& json, const Device& device) {
  JsonWriter out;
  out.Add("uuid", device.uuid).Add("kind", device.kind).Add("memory_bytes", device.memory_bytes);
  if (device.IsLent()) out.Add("open", device.open);
  json += out.Take();
}

void AppendNode(std::string& json, const Node& node) {
  JsonWriter out;
  out.Add("name", node.name).Add("cpus", node.cpus);
  out.AddJson("devices", JsonList(node.devices, AppendDevice));
  if (!node.up) out.Add("up", false);
  json += out.Take();
}

std::string Numbers(const Point& point) {
  return JsonList(point, [](std::string& json, double value) { AppendJson(json, value); });
}

void AppendKnown(std::string& json, const KnownTrial& trial) {
  JsonWriter out;
  out.AddJson("point", Numbers(trial.point)).Add("outcome", static_cast<int>(trial.outcome));
  out.Add("work", trial.work).Add("value", trial.value);
  json += out.Take();
}

void AddMeasurement(JsonWriter& out, const Measurement& measured) {
  const SpeedSituation& at = measured.situation;
  out.Add("shape", at.shape).Add("kind", at.kind);
  if (at.lent) out.Add("lent", true);
  out.Add("width", at.width).Add("neighbours", at.neighbours).Add("trials", at.fused);
  out.Add("bytes", measured.bytes).Add("work_per_second", measured.work_per_second);
}

// Writes the body of each kind of event as JSON. Decode, below, is the inverse.
struct Encoder {
  StudyId study{};
  std::string_view kind;
  JsonWriter json;

  void operator()(const StudyCreated& e) {
    Become(e.study, "study_created");
    json.Add("name", e.spec.name).Add("folder", e.folder).Add("seed", e.seed);
    json.Add("sampler", e.spec.sampler.name).Add("source", e.source);
    json.Add("rules", e.rules);
    if (e.spec.training && e.spec.training->recorded)
      json.AddJson("recorded", ToJson(*e.spec.training->recorded));
  }
  void operator()(const StudyResumed& e) {
    Become(e.study, "study_resumed");
    if (e.trials) json.Add("trials", *e.trials);
    if (e.deadline) json.Add("deadline_us", Micros(*e.deadline));
    if (!e.change) return;
    json.Add("policy", e.change->policy).Add("parallelism", e.change->parallelism);
    json.Add("retries", e.change->retries).Add("max_failures", e.change->max_failures);
    json.Add("backoff_us", e.change->backoff.count());
    const Timeouts& timeouts = e.change->timeouts;
    json.Add("trial_us", timeouts.trial.count()).Add("report_us", timeouts.report.count());
    json.Add("grace_us", timeouts.grace.count()).Add("lease_us", timeouts.lease.count());
  }
  void operator()(const StudyStopAsked& e) { Become(e.study, "study_stop_asked"); }
  void operator()(const StudyPauseAsked& e) { Become(e.study, "study_pause_asked"); }
  // Openings and closings are of the engine that studies share, and not of the study.
  void operator()(const StudyOpened& e) {
    Become({}, "study_opened");
    json.Add("study", Number(e.study));
    if (!e.hidden.empty())
      json.AddJson("hidden", JsonList(e.hidden, [](std::string& list, const std::string& uuid) {
                     AppendJson(list, uuid);
                   }));
  }
  void operator()(const StudyClosed& e) {
    Become({}, "study_closed");
    json.Add("study", Number(e.study));
  }
  void operator()(const ControllerStarted& e) {
    Become({}, "controller_started");
    json.AddJson("nodes", JsonList(e.nodes, AppendNode));
  }
  void operator()(const NodesChanged& e) {
    Become({}, "nodes_changed");
    json.AddJson("nodes", JsonList(e.nodes, AppendNode));
  }
  void operator()(const DrainAsked& e) {
    Become({}, "drain_asked");
    if (e.only_starts) json.Add("only_starts", true);
  }
  void operator()(const Proposed& e) {
    Become(e.study, "proposed");
    if (IsSet(e.fork)) {
      json.Add("fork", Number(e.fork));
    } else {
      json.Add("counter", e.counter);
    }
    if (e.point) json.AddJson("point", Numbers(*e.point));
  }
  void operator()(const Reported&) { SLUICE_CHECK(false, "reports have a table of their own"); }
  void operator()(const AttributesSet& e) {
    OfTrial(e, "attributes_set");
    json.AddJson("attributes", RewrittenJson(e.attributes));
  }
  void operator()(const CheckpointSaved& e) {
    OfTrial(e, "checkpoint_saved");
    json.Add("work", e.work);
    json.Add("bytes", e.bytes);
  }
  void operator()(const TrialNoted& e) {
    OfTrial(e, "trial_noted");
    json.Add("note", ReadableText(e.note));
  }
  void operator()(const LaunchHeard& e) { OfTrial(e, "launch_heard"); }
  void operator()(const LaunchEnded& e) {
    OfTrial(e, "launch_ended");
    json.Add("ending", static_cast<int>(e.ending));
    if (!e.reason.empty()) json.Add("reason", ReadableText(e.reason));
    if (e.checkpoint_bytes >= 0) json.Add("checkpoint_bytes", e.checkpoint_bytes);
    if (e.checkpoint_work >= 0) json.Add("checkpoint_work", e.checkpoint_work);
  }
  void operator()(const LeaseExpired& e) { OfTrial(e, "lease_expired"); }
  void operator()(const CapacityTold& e) {
    OfTrial(e, "capacity_told");
    json.Add("capacity", e.capacity);
    if (e.several_shapes) json.Add("several_shapes", true);
  }
  void operator()(const LaunchHung& e) { OfTrial(e, "launch_hung"); }
  void operator()(const Profiled& e) {
    OfTrial(e, "profiled");
    AddMeasurement(json, e.measured);
  }
  void operator()(const TrialStopAsked& e) {
    Become(e.trial.study, "trial_stop_asked");
    json.Add("trial", Number(e.trial.trial));
  }
  void operator()(const RetryAsked& e) {
    Become(e.trial.study, "retry_asked");
    json.Add("trial", Number(e.trial.trial));
  }
  void operator()(const Woken&) { Become({}, "woken"); }
  void operator()(const PointsEnqueued& e) {
    Become(e.study, "points_enqueued");
    json.AddJson("points", JsonList(e.points, [](std::string& list, const Point& point) {
                   list += Numbers(point);
                 }));
  }
  void operator()(const CheckpointCopied& e) {
    Become(e.trial.study, "checkpoint_copied");
    json.Add("trial", Number(e.trial.trial));
    if (e.work) json.Add("work", *e.work);
    if (!e.error.empty()) json.Add("error", ReadableText(e.error));
  }
  void operator()(const KnowledgeGiven& e) {
    Become(e.study, "knowledge_given");
    json.Add("source", e.source).AddJson("trials", JsonList(e.trials, AppendKnown));
  }
  void operator()(const MeasurementsGiven& e) {
    Become(e.study, "measurements_given");
    json.Add("source", e.source);
    json.AddJson("measured", JsonList(e.measured, [](std::string& list, const Measurement& each) {
                   JsonWriter out;
                   AddMeasurement(out, each);
                   list += out.Take();
                 }));
  }

 private:
  void Become(StudyId its_study, std::string_view its_kind) {
    study = its_study;
    kind = its_kind;
  }
  // What every event of a launch begins with.
  template <typename Body>
  void OfTrial(const Body& body, std::string_view its_kind) {
    Become(body.trial.study, its_kind);
    json.Add("trial", Number(body.trial.trial)).Add("launch", Number(body.launch));
    if constexpr (requires { body.position; }) {
      if (body.position.seq != 0) json.Add("message", body.position.seq);
      if (body.position.offset != 0) json.Add("offset", body.position.offset);
    }
  }
};

using Values = std::vector<JsonValue>;

// Reads a body, or a part of one. An error in a part is an error in the whole.
class Body : public JsonMembers {
 public:
  using JsonMembers::JsonMembers;

  std::uint32_t Id(std::string_view name) {
    return static_cast<std::uint32_t>(Integer(name, 0, UINT32_MAX));
  }
  std::uint64_t UnsignedOrZero(std::string_view name) { return Has(name) ? Unsigned(name) : 0; }
  std::string TextOr(std::string_view name, std::string_view otherwise) {
    return Has(name) ? Text(name) : std::string(otherwise);
  }
  // A value of an enumeration with `last` as its last value.
  template <typename Enum>
  Enum UpTo(std::string_view name, Enum last) {
    return static_cast<Enum>(Integer(name, 0, static_cast<int>(last)));
  }
  Point PointAt(std::string_view name) { return PointFrom(name, List(name)); }
  Point PointFrom(std::string_view name, const Values& values) {
    Point point;
    for (const JsonValue& value : values) {
      const auto number = value.Number();
      if (!number) Miss(name, "numbers");
      point.push_back(number.value_or(0));
    }
    return point;
  }
  std::vector<std::string> Texts(std::string_view name) {
    std::vector<std::string> texts;
    for (const JsonValue& value : List(name)) {
      if (!value.Text()) Miss(name, "a list of texts");
      texts.emplace_back(value.Text().value_or(""));
    }
    return texts;
  }
  // Calls read(part) for each object of a list.
  template <typename Read>
  void Parts(std::string_view name, Read read) {
    for (const JsonValue& value : List(name)) {
      if (value.kind() != JsonValue::Kind::kObject) return Miss(name, "a list of objects");
      Body part(value);
      read(part);
      if (!part.error().empty())
        Fail(fmt::format("'{}': an entry is not valid ({})", name, part.error()));
    }
  }
  // What every event of a launch begins with.
  template <typename T>
  T OfLaunch(StudyId study) {
    T body;
    body.trial = {study, TrialId(Id("trial"))};
    body.launch = LaunchId(Id("launch"));
    if constexpr (requires { body.position; }) {
      body.position.seq = UnsignedOrZero("message");
      body.position.offset = UnsignedOrZero("offset");
    }
    return body;
  }
};

Node NodeFrom(Body& in) {
  Node node{.name = in.Text("name"),
            .cpus = in.Integer("cpus"),
            .devices = {},
            .up = !in.Has("up") || in.Boolean("up")};
  in.Parts("devices", [&](Body& device) {
    node.devices.push_back({.uuid = device.Text("uuid"),
                            .kind = device.Text("kind"),
                            .memory_bytes = device.Integer("memory_bytes"),
                            .open = device.Has("open")
                                        ? std::clamp<Milli>(device.Integer("open"), 1, kWhole)
                                        : kWhole});
  });
  return node;
}

// The first stores with measurements do not say where the measurements were made. Such a
// measurement has no shape and no values, so it is never used.
Measurement MeasurementFrom(Body& in) {
  Measurement measured;
  measured.situation.fused = static_cast<int>(in.Integer("trials", 1, INT32_MAX));
  if (!in.Has("shape")) return measured;
  measured.situation.shape = in.Text("shape");
  measured.situation.kind = in.Text("kind");
  measured.situation.lent = in.Has("lent") && in.Boolean("lent");
  measured.situation.width = in.Integer("width", 0);
  measured.situation.neighbours = in.Integer("neighbours", 0);
  measured.bytes = in.Integer("bytes", 0);
  measured.work_per_second = in.Number("work_per_second");
  return measured;
}

std::vector<Node> NodesFrom(Body& in) {
  // Older stores have one node, written without a list.
  if (!in.Has("nodes")) return {NodeFrom(in)};
  std::vector<Node> nodes;
  in.Parts("nodes", [&](Body& node) { nodes.push_back(NodeFrom(node)); });
  return nodes;
}

// The caller checks for what is missing or wrong in the body (in.error()).
Result<Event> Decode(Time time, StudyId study, std::string_view kind, Body& in) {
  const auto event = [&](auto body) { return Event{time, std::move(body)}; };
  if (kind == "study_created") {
    StudyCreated created{
        .study = study,
        .source = in.Text("source"),
        .folder = in.Text("folder"),
        .seed = in.Unsigned("seed"),
        .spec = {},
        .rules = in.Has("rules") ? static_cast<int>(in.Integer("rules", 1, kRules)) : 1};
    const std::string name = in.Text("name");
    if (!in.error().empty()) return event(std::move(created));
    auto spec = ReadStudy(created.source, name, name);
    if (!spec) {
      return Corruption(
          fmt::format("study '{}' was made by a Sluice that read its file differently:\n{}", name,
                      spec.error().message));
    }
    created.spec = std::move(*spec);
    created.spec.name = name;
    if (created.spec.training && in.Has("recorded")) {
      auto recorded = recipe::RecordedFromJson(in.Object("recorded"));
      if (!recorded) return Corruption(recorded.error().message);
      created.spec.training->recorded = std::move(*recorded);
    }
    // Events that do not name the sampler are older than tpe: the default was random then.
    if (created.spec.sampler.name == "tpe")
      created.spec.sampler.name = in.TextOr("sampler", "random");
    return event(std::move(created));
  }
  if (kind == "study_resumed") {
    StudyResumed resumed{.study = study, .trials = {}, .deadline = {}};
    if (in.Has("trials")) resumed.trials = static_cast<int>(in.Integer("trials", 0, INT32_MAX));
    if (in.Has("deadline_us")) resumed.deadline = FromMicros(in.Integer("deadline_us"));
    if (in.Has("policy")) {
      const auto count = [&](std::string_view name) {
        return static_cast<int>(in.Integer(name, 0, INT32_MAX));
      };
      const auto time = [&](std::string_view name) { return Duration(in.Integer(name, 0)); };
      resumed.change = {.policy = in.Text("policy"),
                        .parallelism = count("parallelism"),
                        .retries = count("retries"),
                        .max_failures = count("max_failures"),
                        .backoff = time("backoff_us"),
                        .timeouts = {.trial = time("trial_us"),
                                     .report = time("report_us"),
                                     .grace = time("grace_us"),
                                     .lease = time("lease_us")}};
      if (in.error().empty() && !MakePolicy(resumed.change->policy)) in.Miss("policy", "a policy");
    }
    return event(resumed);
  }
  if (kind == "study_stop_asked") return event(StudyStopAsked{study});
  if (kind == "study_pause_asked") return event(StudyPauseAsked{study});
  if (kind == "study_opened") {
    StudyOpened opened{.study = StudyId(in.Id("study"))};
    if (in.Has("hidden")) opened.hidden = in.Texts("hidden");
    return event(std::move(opened));
  }
  if (kind == "study_closed") return event(StudyClosed{StudyId(in.Id("study"))});
  if (kind == "controller_started") return event(ControllerStarted{NodesFrom(in)});
  if (kind == "nodes_changed") return event(NodesChanged{NodesFrom(in)});
  if (kind == "drain_asked")
    return event(DrainAsked{.only_starts = in.Has("only_starts") && in.Boolean("only_starts")});
  if (kind == "proposed") {
    Proposed proposed{.study = study, .point = {}};
    if (in.Has("fork")) {
      proposed.fork = TrialId(in.Id("fork"));
    } else {
      proposed.counter = in.Unsigned("counter");
    }
    if (in.Has("point")) proposed.point = in.PointAt("point");
    return event(std::move(proposed));
  }
  if (kind == "attributes_set") {
    auto set = in.OfLaunch<AttributesSet>(study);
    set.attributes = in.Object("attributes");
    return event(std::move(set));
  }
  if (kind == "checkpoint_saved") {
    auto saved = in.OfLaunch<CheckpointSaved>(study);
    saved.work = in.Integer("work");
    saved.bytes = in.Integer("bytes");
    return event(saved);
  }
  if (kind == "checkpoint_copied") {
    CheckpointCopied copied{
        .trial = {study, TrialId(in.Id("trial"))}, .work = {}, .error = in.TextOr("error", "")};
    if (in.Has("work")) copied.work = in.Integer("work", 0);
    return event(std::move(copied));
  }
  if (kind == "trial_noted") {
    auto noted = in.OfLaunch<TrialNoted>(study);
    noted.note = in.Text("note");
    return event(std::move(noted));
  }
  if (kind == "launch_heard") return event(in.OfLaunch<LaunchHeard>(study));
  if (kind == "launch_ended") {
    auto ended = in.OfLaunch<LaunchEnded>(study);
    ended.ending = in.UpTo("ending", Ending::kBundleLost);
    ended.reason = in.TextOr("reason", "");
    if (in.Has("checkpoint_bytes")) ended.checkpoint_bytes = in.Integer("checkpoint_bytes");
    if (in.Has("checkpoint_work")) ended.checkpoint_work = in.Integer("checkpoint_work");
    return event(std::move(ended));
  }
  if (kind == "lease_expired") return event(in.OfLaunch<LeaseExpired>(study));
  if (kind == "capacity_told") {
    auto told = in.OfLaunch<CapacityTold>(study);
    told.capacity = static_cast<int>(in.Integer("capacity", 0, INT32_MAX));
    told.several_shapes = in.Has("several_shapes") && in.Boolean("several_shapes");
    return event(told);
  }
  if (kind == "launch_hung") return event(in.OfLaunch<LaunchHung>(study));
  if (kind == "profiled") {
    auto profiled = in.OfLaunch<Profiled>(study);
    profiled.measured = MeasurementFrom(in);
    return event(std::move(profiled));
  }
  if (kind == "measurements_given") {
    MeasurementsGiven given{.study = study, .source = in.Text("source"), .measured = {}};
    in.Parts("measured", [&](Body& part) { given.measured.push_back(MeasurementFrom(part)); });
    return event(std::move(given));
  }
  if (kind == "trial_stop_asked") return event(TrialStopAsked{{study, TrialId(in.Id("trial"))}});
  if (kind == "retry_asked") return event(RetryAsked{{study, TrialId(in.Id("trial"))}});
  if (kind == "woken") return event(Woken{});
  if (kind == "points_enqueued") {
    PointsEnqueued enqueued{.study = study, .points = {}};
    for (const JsonValue& point : in.List("points")) {
      if (point.kind() != JsonValue::Kind::kList) in.Miss("points", "a list of lists");
      enqueued.points.push_back(in.PointFrom("points", point.List().value_or(Values{})));
    }
    return event(std::move(enqueued));
  }
  if (kind == "knowledge_given") {
    KnowledgeGiven given{.study = study, .source = in.Text("source"), .trials = {}};
    in.Parts("trials", [&](Body& trial) {
      given.trials.push_back({.point = trial.PointAt("point"),
                              .outcome = trial.UpTo("outcome", Outcome::kFailed),
                              .work = trial.Integer("work"),
                              .value = trial.Number("value")});
    });
    return event(std::move(given));
  }
  return Corruption(fmt::format(
      "an event of unknown kind '{}': if a newer Sluice wrote it, update sluice", kind));
}

}  // namespace

EncodedEvent Encode(const Event& event) {
  Encoder encoder;
  std::visit(encoder, event.body);
  return {encoder.study, encoder.kind, encoder.json.Take()};
}

Result<Event> DecodeEvent(Time time, StudyId study, std::string_view kind, std::string_view body) {
  const auto document = JsonDocument::Read(body);
  if (!document) {
    return Corruption(
        fmt::format("an event of kind '{}' does not read back: its body is no JSON object", kind));
  }
  Body in(document->object());
  auto event = Decode(time, study, kind, in);
  if (event && !in.error().empty())
    return Corruption(
        fmt::format("an event of kind '{}' does not read back: {}", kind, in.error()));
  return event;
}

std::string EncodeMetrics(const Metrics& metrics) {
  JsonWriter json;
  for (const auto& [name, value] : metrics) json.Add(name, value);
  return json.Take();
}

Result<Metrics> DecodeMetrics(std::string_view text) {
  const auto document = JsonDocument::Read(text);
  if (!document) return Corruption("the metrics of a report do not read back: no JSON object");
  Metrics metrics;
  const auto members = document->object().Members();
  for (const auto& [name, value] : *members) {
    const auto number = value.Number();
    if (!number) {
      return Corruption(
          fmt::format("the metrics of a report do not read back: '{}': expected a number", name));
    }
    metrics.emplace_back(name, *number);
  }
  return metrics;
}

}  // namespace sluice
