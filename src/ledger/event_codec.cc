#include "ledger/event_codec.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/json_number.h"
#include "engine/note.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const Node& node) {
  Json devices = Json::array();
  for (const Device& device : node.devices) {
    devices.push_back(
        {{"uuid", device.uuid}, {"kind", device.kind}, {"memory_bytes", device.memory_bytes}});
  }
  Json json = {{"name", node.name}, {"cpus", node.cpus}, {"devices", devices}};
  if (!node.up) json["up"] = false;
  return json;
}

Json ToJson(const std::vector<Node>& nodes) {
  Json json = Json::array();
  for (const Node& node : nodes) json.push_back(ToJson(node));
  return json;
}

Node NodeFrom(const Json& json) {
  Node node{.name = json.at("name"),
            .cpus = json.at("cpus"),
            .devices = {},
            .up = json.value("up", true)};
  for (const Json& device : json.at("devices")) {
    node.devices.push_back({.uuid = device.at("uuid"),
                            .kind = device.at("kind"),
                            .memory_bytes = device.at("memory_bytes")});
  }
  return node;
}

std::vector<Node> NodesFrom(const Json& json) {
  // Stores of before know one node, and say it without a list.
  if (!json.contains("nodes")) return {NodeFrom(json)};
  std::vector<Node> nodes;
  for (const Json& node : json.at("nodes")) nodes.push_back(NodeFrom(node));
  return nodes;
}

Json Numbers(const Point& point) {
  Json array = Json::array();
  for (double value : point) array.push_back(NumberToJson<Json>(value));
  return array;
}

Point PointFrom(const Json& json) {
  Point point;
  for (const Json& value : json) point.push_back(NumberFromJson(value));
  return point;
}

// What every event of a launch begins with.
template <typename Body>
Json OfLaunch(const Body& body) {
  Json json = {{"trial", Number(body.trial.trial)}, {"launch", Number(body.launch)}};
  if constexpr (requires { body.position; }) {
    if (body.position.seq != 0) json["message"] = body.position.seq;
    if (body.position.offset != 0) json["offset"] = body.position.offset;
  }
  return json;
}

template <typename Body>
Body LaunchFrom(StudyId study, const Json& json) {
  Body body;
  body.trial = {study, TrialId(json.at("trial").get<std::uint32_t>())};
  body.launch = LaunchId(json.at("launch").get<std::uint32_t>());
  if constexpr (requires { body.position; }) {
    body.position.seq = json.value("message", std::uint64_t{0});
    body.position.offset = json.value("offset", std::uint64_t{0});
  }
  return body;
}

// One pair of functions for each kind of event: the body's JSON, and back.
struct Encoder {
  StudyId study{};
  std::string_view kind;
  Json json = Json::object();

  void operator()(const StudyCreated& e) {
    Become(e.study, "study_created");
    json = {{"name", e.spec.name},
            {"folder", e.folder},
            {"seed", e.seed},
            {"sampler", e.spec.sampler.name},
            {"source", e.source}};
  }
  void operator()(const StudyResumed& e) {
    Become(e.study, "study_resumed");
    if (e.trials) json["trials"] = *e.trials;
    if (e.deadline) json["deadline_us"] = Micros(*e.deadline);
  }
  void operator()(const StudyStopAsked& e) { Become(e.study, "study_stop_asked"); }
  void operator()(const ControllerStarted& e) {
    Become({}, "controller_started");
    json["nodes"] = ToJson(e.nodes);
  }
  void operator()(const NodesChanged& e) {
    Become({}, "nodes_changed");
    json["nodes"] = ToJson(e.nodes);
  }
  void operator()(const DrainAsked&) { Become({}, "drain_asked"); }
  void operator()(const Proposed& e) {
    Become(e.study, "proposed");
    if (IsSet(e.fork)) {
      json["fork"] = Number(e.fork);
    } else {
      json["counter"] = e.counter;
    }
    if (e.point) json["point"] = Numbers(*e.point);
  }
  void operator()(const Reported&) { SLUICE_CHECK(false, "reports have a table of their own"); }
  void operator()(const AttributesSet& e) {
    OfTrial(e, "attributes_set");
    json["attributes"] = Json::parse(e.attributes);
  }
  void operator()(const CheckpointSaved& e) {
    OfTrial(e, "checkpoint_saved");
    json["work"] = e.work;
    json["bytes"] = e.bytes;
  }
  void operator()(const TrialNoted& e) {
    OfTrial(e, "trial_noted");
    json["note"] = ReadableText(e.note);
  }
  void operator()(const LaunchHeard& e) { OfTrial(e, "launch_heard"); }
  void operator()(const LaunchEnded& e) {
    OfTrial(e, "launch_ended");
    json["ending"] = static_cast<int>(e.ending);
    if (!e.reason.empty()) json["reason"] = ReadableText(e.reason);
    if (e.checkpoint_bytes >= 0) json["checkpoint_bytes"] = e.checkpoint_bytes;
  }
  void operator()(const LeaseExpired& e) { OfTrial(e, "lease_expired"); }
  void operator()(const RetryAsked& e) {
    Become(e.trial.study, "retry_asked");
    json["trial"] = Number(e.trial.trial);
  }
  void operator()(const Woken&) { Become({}, "woken"); }
  void operator()(const PointsEnqueued& e) {
    Become(e.study, "points_enqueued");
    json["points"] = Json::array();
    for (const Point& point : e.points) json["points"].push_back(Numbers(point));
  }
  void operator()(const CheckpointCopied& e) {
    Become(e.trial.study, "checkpoint_copied");
    json["trial"] = Number(e.trial.trial);
    if (e.work) json["work"] = *e.work;
    if (!e.error.empty()) json["error"] = ReadableText(e.error);
  }
  void operator()(const KnowledgeGiven& e) {
    Become(e.study, "knowledge_given");
    json = {{"source", e.source}, {"trials", Json::array()}};
    for (const KnownTrial& trial : e.trials) {
      json["trials"].push_back({{"point", Numbers(trial.point)},
                                {"outcome", static_cast<int>(trial.outcome)},
                                {"work", trial.work},
                                {"value", NumberToJson<Json>(trial.value)}});
    }
  }

 private:
  void Become(StudyId its_study, std::string_view its_kind) {
    study = its_study;
    kind = its_kind;
  }
  template <typename Body>
  void OfTrial(const Body& body, std::string_view its_kind) {
    Become(body.trial.study, its_kind);
    json = OfLaunch(body);
  }
};

Result<KnownTrial> KnownTrialFrom(const Json& json) {
  const int outcome = json.at("outcome");
  if (outcome < 0 || outcome > static_cast<int>(Outcome::kFailed)) {
    return Corruption(
        fmt::format("an event of kind 'knowledge_given' does not read back: outcome {}", outcome));
  }
  return KnownTrial{.point = PointFrom(json.at("point")),
                    .outcome = static_cast<Outcome>(outcome),
                    .work = json.at("work"),
                    .value = NumberFromJson(json.at("value"))};
}

std::string_view CheckedText(const Json& json) { return json.get_ref<const std::string&>(); }

Result<Event> Decode(Time time, StudyId study, std::string_view kind, const Json& json) {
  const auto event = [&](auto body) { return Event{time, std::move(body)}; };
  if (kind == "study_created") {
    StudyCreated created{.study = study,
                         .source = json.at("source"),
                         .folder = json.at("folder"),
                         .seed = json.at("seed"),
                         .spec = {}};
    const std::string name = json.at("name");
    auto spec = ReadStudy(created.source, name, name);
    if (!spec) {
      return Corruption(
          fmt::format("study '{}' was made by a Sluice that read its file differently:\n{}", name,
                      spec.error().message));
    }
    created.spec = std::move(*spec);
    created.spec.name = name;
    // Before the sampler was written down there was no tpe, and who named none got random.
    if (created.spec.sampler.name == "tpe")
      created.spec.sampler.name = json.value("sampler", "random");
    return event(std::move(created));
  }
  if (kind == "study_resumed") {
    StudyResumed resumed{.study = study, .trials = {}, .deadline = {}};
    if (json.contains("trials")) resumed.trials = json["trials"].get<int>();
    if (json.contains("deadline_us"))
      resumed.deadline = FromMicros(json["deadline_us"].get<std::int64_t>());
    return event(resumed);
  }
  if (kind == "study_stop_asked") return event(StudyStopAsked{study});
  if (kind == "controller_started") return event(ControllerStarted{NodesFrom(json)});
  if (kind == "nodes_changed") return event(NodesChanged{NodesFrom(json)});
  if (kind == "drain_asked") return event(DrainAsked{});
  if (kind == "proposed") {
    Proposed proposed{.study = study, .point = {}};
    if (json.contains("fork")) {
      proposed.fork = TrialId(json["fork"].get<std::uint32_t>());
    } else {
      proposed.counter = json.at("counter");
    }
    if (json.contains("point")) proposed.point = PointFrom(json["point"]);
    return event(std::move(proposed));
  }
  if (kind == "attributes_set") {
    auto set = LaunchFrom<AttributesSet>(study, json);
    set.attributes = json.at("attributes").dump();
    return event(std::move(set));
  }
  if (kind == "checkpoint_saved") {
    auto saved = LaunchFrom<CheckpointSaved>(study, json);
    saved.work = json.at("work");
    saved.bytes = json.at("bytes");
    return event(saved);
  }
  if (kind == "checkpoint_copied") {
    CheckpointCopied copied{.trial = {study, TrialId(json.at("trial").get<std::uint32_t>())},
                            .work = {},
                            .error = json.value("error", "")};
    if (const auto work = json.find("work"); work != json.end()) copied.work = work->get<Work>();
    return event(std::move(copied));
  }
  if (kind == "trial_noted") {
    auto noted = LaunchFrom<TrialNoted>(study, json);
    noted.note = CheckedText(json.at("note"));
    return event(std::move(noted));
  }
  if (kind == "launch_heard") return event(LaunchFrom<LaunchHeard>(study, json));
  if (kind == "launch_ended") {
    auto ended = LaunchFrom<LaunchEnded>(study, json);
    const int ending = json.at("ending");
    if (ending < 0 || ending > static_cast<int>(Ending::kStopped)) {
      return Corruption(
          fmt::format("an event of kind '{}' does not read back: ending {}", kind, ending));
    }
    ended.ending = static_cast<Ending>(ending);
    ended.reason = json.value("reason", "");
    ended.checkpoint_bytes = json.value("checkpoint_bytes", std::int64_t{-1});
    return event(std::move(ended));
  }
  if (kind == "lease_expired") return event(LaunchFrom<LeaseExpired>(study, json));
  if (kind == "retry_asked")
    return event(RetryAsked{{study, TrialId(json.at("trial").get<std::uint32_t>())}});
  if (kind == "woken") return event(Woken{});
  if (kind == "points_enqueued") {
    PointsEnqueued enqueued{.study = study, .points = {}};
    for (const Json& point : json.at("points")) enqueued.points.push_back(PointFrom(point));
    return event(std::move(enqueued));
  }
  if (kind == "knowledge_given") {
    KnowledgeGiven given{.study = study, .source = json.at("source"), .trials = {}};
    for (const Json& each : json.at("trials")) {
      SLUICE_ASSIGN(KnownTrial trial, KnownTrialFrom(each));
      given.trials.push_back(std::move(trial));
    }
    return event(std::move(given));
  }
  return Corruption(fmt::format(
      "an event of unknown kind '{}': if a newer Sluice wrote it, update sluice", kind));
}

}  // namespace

EncodedEvent Encode(const Event& event) {
  Encoder encoder;
  std::visit(encoder, event.body);
  // Texts of programs may hold anything: what is not UTF-8 is replaced, never refused.
  return {encoder.study, encoder.kind,
          encoder.json.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

Result<Event> DecodeEvent(Time time, StudyId study, std::string_view kind, std::string_view body) {
  try {
    return Decode(time, study, kind, Json::parse(body));
  } catch (const Json::exception& error) {
    return Corruption(
        fmt::format("an event of kind '{}' does not read back: {}", kind, error.what()));
  }
}

std::string EncodeMetrics(const Metrics& metrics) {
  Json json = Json::object();
  for (const auto& [name, value] : metrics) json[name] = NumberToJson<Json>(value);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Metrics> DecodeMetrics(std::string_view text) {
  try {
    Metrics metrics;
    const Json json = Json::parse(text);
    for (const auto& [name, value] : json.items())
      metrics.emplace_back(name, NumberFromJson(value));
    return metrics;
  } catch (const Json::exception& error) {
    return Corruption(fmt::format("the metrics of a report do not read back: {}", error.what()));
  }
}

}  // namespace sluice
