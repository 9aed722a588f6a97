#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_number.h"
#include "base/text.h"
#include "wire/message.h"

namespace sluice::wire {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDeepest = 32;
constexpr Work kMostWork = std::int64_t{1} << 62;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json For(const char* type, const LaunchRef& at) {
  return {{"type", type}, {"trial", Number(at.trial)}, {"launch", Number(at.launch)}};
}

Json At(const char* type, const LaunchRef& at, std::uint64_t seq) {
  Json json = For(type, at);
  json["seq"] = seq;
  return json;
}

struct ToJson {
  Json operator()(const Hello& m) const {
    Json json = {{"type", "hello"},    {"version", m.version}, {"worker", m.worker}, {"pid", m.pid},
                 {"client", m.client}, {"reuse", m.reuse},     {"study", m.study}};
    if (m.at) {
      json["trial"] = Number(m.at->trial);
      json["launch"] = Number(m.at->launch);
    }
    return json;
  }
  Json operator()(const Heartbeat&) const { return {{"type", "heartbeat"}}; }
  Json operator()(const Ready&) const { return {{"type", "ready"}}; }
  Json operator()(const Report& m) const {
    Json json = At("report", m.at, m.seq);
    json["work"] = m.work;
    Json& values = json["values"] = Json::object();
    for (const auto& [name, value] : m.values) values[name] = NumberToJson<Json>(value);
    return json;
  }
  Json operator()(const Attributes& m) const {
    Json json = At("attributes", m.at, m.seq);
    json["attributes"] = Json::parse(m.attributes);
    return json;
  }
  Json operator()(const Saved& m) const {
    Json json = At("saved", m.at, m.seq);
    json["work"] = m.work;
    json["bytes"] = m.bytes;
    return json;
  }
  Json operator()(const Paused& m) const { return At("paused", m.at, m.seq); }
  Json operator()(const Done& m) const { return At("done", m.at, m.seq); }
  Json operator()(const Failed& m) const {
    Json json = At("failed", m.at, m.seq);
    json["reason"] = m.reason;
    return json;
  }
  Json operator()(const Ask& m) const {
    Json json = {{"type", "ask"}, {"verb", m.verb}, {"study", m.study}, {"trial", Number(m.trial)}};
    for (const std::string& point : m.points) json["points"].push_back(Json::parse(point));
    return json;
  }

  Json operator()(const Welcome& m) const {
    return {
        {"type", "welcome"}, {"version", kVersion}, {"lease_ms", m.lease_ms}, {"window", m.window}};
  }
  Json operator()(const Assign& m) const {
    Json json = {{"type", "assign"},
                 {"study", m.study},
                 {"trial", Number(m.at.trial)},
                 {"launch", Number(m.at.launch)},
                 {"params", Json::parse(m.params)}};
    if (m.target) json["target"] = *m.target;
    json.update(Json{{"work", m.work},
                     {"checkpoint_dir", m.checkpoint_dir},
                     {"folder", m.folder},
                     {"seed", m.seed},
                     {"unit", m.unit},
                     {"objective", m.objective},
                     {"lease_ms", m.lease_ms},
                     {"window", m.window}});
    return json;
  }
  Json operator()(const Ack& m) const {
    Json json = For("ack", m.at);
    json["seq"] = m.seq;
    return json;
  }
  Json operator()(const Budget& m) const {
    Json json = For("budget", m.at);
    if (m.target) json["target"] = *m.target;
    return json;
  }
  Json operator()(const Pause& m) const { return For("pause", m.at); }
  Json operator()(const Stop& m) const {
    Json json = For("stop", m.at);
    json["why"] = m.why;
    return json;
  }
  Json operator()(const Exit&) const { return {{"type", "exit"}}; }
  Json operator()(const Refuse& m) const { return {{"type", "refuse"}, {"reason", m.reason}}; }
  Json operator()(const Answer& m) const {
    Json json = {{"type", "answer"}, {"ok", m.ok}, {"message", m.message}};
    for (const auto& [name, value] : m.facts) json["facts"][name] = NumberToJson<Json>(value);
    return json;
  }
};

// Reads typed members; the first that is missing or wrong is remembered.
class Members {
 public:
  explicit Members(const Json& json) : json_(json) {}

  std::int64_t Integer(const char* key, std::int64_t low, std::int64_t high) {
    const auto found = json_.find(key);
    if (found == json_.end()) return Miss(key, "an integer"), low;
    if (!found->is_number_integer()) return Miss(key, "an integer"), low;
    if (found->is_number_unsigned() &&
        found->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) {
      return Miss(key, "a smaller integer"), low;
    }
    const auto value = found->get<std::int64_t>();
    if (value < low || value > high)
      return Miss(key, fmt::format("an integer from {} to {}", low, high)), low;
    return value;
  }
  std::uint64_t Unsigned(const char* key) {
    const auto found = json_.find(key);
    if (found == json_.end() || !found->is_number_unsigned())
      return Miss(key, "an integer of at least 0"), 0;
    return found->get<std::uint64_t>();
  }
  std::string Text(const char* key) {
    const auto found = json_.find(key);
    if (found == json_.end() || !found->is_string()) return Miss(key, "a text"), std::string();
    return found->get<std::string>();
  }
  bool Boolean(const char* key) {
    const auto found = json_.find(key);
    if (found == json_.end() || !found->is_boolean()) return Miss(key, "true or false"), false;
    return found->get<bool>();
  }
  std::string Object(const char* key) {
    const auto found = json_.find(key);
    if (found == json_.end() || !found->is_object())
      return Miss(key, "an object"), std::string("{}");
    return Dump(*found);
  }
  std::vector<std::string> Objects(const char* key) {
    std::vector<std::string> texts;
    const auto found = json_.find(key);
    if (found == json_.end() || !found->is_array()) return Miss(key, "a list of objects"), texts;
    for (const Json& each : *found) {
      if (!each.is_object()) return Miss(key, "a list of objects"), texts;
      texts.push_back(Dump(each));
    }
    return texts;
  }
  Values Numbers(const char* key) {
    Values values;
    const auto found = json_.find(key);
    if (found == json_.end() || !found->is_object())
      return Miss(key, "an object of numbers"), values;
    for (const auto& [name, value] : found->items()) {
      if (!value.is_number() && !value.is_string()) Miss(name.c_str(), "a number");
      if (!error_.empty()) break;
      try {
        values.emplace_back(name, NumberFromJson(value));
      } catch (const Json::exception&) {
        Miss(name.c_str(), "a number, \"NaN\", \"Infinity\" or \"-Infinity\"");
      }
    }
    return values;
  }
  bool Has(const char* key) const { return json_.contains(key); }

  LaunchRef Launch() {
    return {TrialId(static_cast<std::uint32_t>(Integer("trial", 1, UINT32_MAX))), LaunchNumber()};
  }
  LaunchId LaunchNumber() {
    return LaunchId(static_cast<std::uint32_t>(Integer("launch", 1, UINT32_MAX)));
  }
  std::uint64_t Seq() { return static_cast<std::uint64_t>(Integer("seq", 1, INT64_MAX)); }
  std::optional<Work> Target() {
    if (!Has("target")) return std::nullopt;
    return Integer("target", 0, kMostWork);
  }

  const std::string& error() const { return error_; }

 private:
  void Miss(const char* key, std::string_view expected) {
    if (error_.empty()) error_ = fmt::format("'{}': expected {}", key, expected);
  }
  const Json& json_;
  std::string error_;
};

Result<Json> ParseObject(std::string_view line) {
  if (line.size() > kLongestLine) return InvalidArgument("expected a line of at most 1 MiB");
  if (NestsDeeperThan(line, kDeepest))
    return InvalidArgument("expected a JSON object that is not nested so deeply");
  Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return InvalidArgument("expected one JSON object a line");
  return json;
}

template <typename Message>
Result<Message> Finish(const Members& members, std::string_view type, Message message) {
  if (!members.error().empty())
    return InvalidArgument(fmt::format("{}: {}", type, members.error()));
  return message;
}

std::string TypeOf(const Json& json) {
  const auto found = json.find("type");
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

std::string Encode(const FromWorker& message) { return Dump(std::visit(ToJson{}, message)); }
std::string Encode(const ToWorker& message) { return Dump(std::visit(ToJson{}, message)); }

Result<FromWorker> DecodeFromWorker(std::string_view line) {
  SLUICE_ASSIGN(const Json json, ParseObject(line));
  const std::string type = TypeOf(json);
  Members in(json);
  // Members are read in the order they are written here, so that the first fault is the one told.
  const auto finish = [&](auto message) {
    return Finish<FromWorker>(in, type, std::move(message));
  };
  if (type == "report") {
    Report m{.at = in.Launch(),
             .seq = in.Seq(),
             .work = in.Integer("work", 0, kMostWork),
             .values = in.Numbers("values")};
    return finish(std::move(m));
  }
  if (type == "heartbeat") return finish(Heartbeat{});
  if (type == "ready") return finish(Ready{});
  if (type == "hello") {
    Hello m;
    m.version = static_cast<int>(in.Integer("version", 0, 1'000'000));
    m.worker = in.Text("worker");
    m.pid = in.Has("pid") ? in.Integer("pid", 0, INT32_MAX) : 0;
    m.client = in.Has("client") ? in.Text("client") : "";
    m.reuse = in.Has("reuse") && in.Boolean("reuse");
    m.study = in.Has("study") ? in.Text("study") : "";
    if (in.Has("trial")) m.at = in.Launch();
    return finish(std::move(m));
  }
  if (type == "attributes") {
    Attributes m{.at = in.Launch(), .seq = in.Seq(), .attributes = in.Object("attributes")};
    return finish(std::move(m));
  }
  if (type == "saved") {
    Saved m{.at = in.Launch(),
            .seq = in.Seq(),
            .work = in.Integer("work", 0, kMostWork),
            .bytes = in.Integer("bytes", 0, kMostWork)};
    return finish(m);
  }
  if (type == "paused") return finish(Paused{.at = in.Launch(), .seq = in.Seq()});
  if (type == "done") return finish(Done{.at = in.Launch(), .seq = in.Seq()});
  if (type == "failed")
    return finish(Failed{.at = in.Launch(), .seq = in.Seq(), .reason = in.Text("reason")});
  if (type == "ask") {
    Ask m{.verb = in.Text("verb"),
          .study = in.Text("study"),
          .trial = TrialId(static_cast<std::uint32_t>(in.Integer("trial", 0, UINT32_MAX)))};
    if (in.Has("points")) m.points = in.Objects("points");
    return finish(std::move(m));
  }
  return InvalidArgument(
      fmt::format("expected a message of a known type, found '{}'", type.substr(0, 40)));
}

Result<ToWorker> DecodeToWorker(std::string_view line) {
  SLUICE_ASSIGN(const Json json, ParseObject(line));
  const std::string type = TypeOf(json);
  Members in(json);
  const auto finish = [&](auto message) { return Finish<ToWorker>(in, type, std::move(message)); };
  if (type == "ack") return finish(Ack{.at = in.Launch(), .seq = in.Seq()});
  if (type == "budget") return finish(Budget{.at = in.Launch(), .target = in.Target()});
  if (type == "pause") return finish(Pause{in.Launch()});
  if (type == "stop") return finish(Stop{.at = in.Launch(), .why = in.Text("why")});
  if (type == "exit") return finish(Exit{});
  if (type == "refuse") return finish(Refuse{in.Text("reason")});
  if (type == "answer") {
    Answer m{.ok = in.Boolean("ok"), .message = in.Text("message")};
    if (in.Has("facts")) m.facts = in.Numbers("facts");
    return finish(std::move(m));
  }
  if (type == "welcome") {
    return finish(Welcome{.lease_ms = in.Integer("lease_ms", 1, kMostWork),
                          .window = static_cast<int>(in.Integer("window", 1, 1 << 20))});
  }
  if (type == "assign") {
    Assign m;
    m.study = in.Text("study");
    m.at = in.Launch();
    m.params = in.Object("params");
    m.target = in.Target();
    m.work = in.Integer("work", 0, kMostWork);
    m.checkpoint_dir = in.Text("checkpoint_dir");
    m.folder = in.Text("folder");
    m.seed = in.Unsigned("seed");
    m.unit = in.Text("unit");
    m.objective = in.Text("objective");
    m.lease_ms = in.Integer("lease_ms", 1, kMostWork);
    m.window = static_cast<int>(in.Integer("window", 1, 1 << 20));
    return finish(std::move(m));
  }
  return InvalidArgument(
      fmt::format("expected a message of a known type, found '{}'", type.substr(0, 40)));
}

Numbered NumberOf(const FromWorker& message) {
  return std::visit(
      [](const auto& m) -> Numbered {
        if constexpr (requires { m.seq; }) return {m.at, m.seq};
        return {};
      },
      message);
}

Result<std::optional<OutputReport>> DecodeOutputLine(std::string_view line, std::string_view metric,
                                                     std::string_view unit) {
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos || line[begin] != '{' || line.size() > kLongestLine)
    return std::nullopt;
  if (NestsDeeperThan(line, kDeepest)) return std::nullopt;
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || (!json.contains(metric) && !json.contains("sluice")))
    return std::nullopt;

  OutputReport report;
  std::string_view work_key = unit;
  if (!json.contains(unit) && json.contains("step")) work_key = "step";
  for (const auto& [name, value] : json.items()) {
    if (name == "sluice") continue;
    if (name == work_key) {
      const bool whole =
          value.is_number_integer() ||
          (value.is_number() && value.get<double>() == std::floor(value.get<double>()));
      if (!whole || value.get<double>() < 0 || value.get<double>() > 0x1p53) {
        return InvalidArgument(fmt::format("'{}': expected a whole number of at least 0, found {}",
                                           name, Dump(value).substr(0, 60)));
      }
      report.work = static_cast<Work>(value.get<double>());
      continue;
    }
    try {
      report.values.emplace_back(name, NumberFromJson(value));
    } catch (const Json::exception&) {
      if (name == metric) {
        return InvalidArgument(
            fmt::format("'{}': expected a number, found {}", name, Dump(value).substr(0, 60)));
      }
    }
  }
  return report;
}

std::optional<std::string_view> LineBuffer::Next() {
  const std::size_t end = bytes_.find('\n', begin_);
  if (end == std::string::npos) {
    bytes_.erase(0, begin_);
    begin_ = 0;
    return std::nullopt;
  }
  const std::string_view line(bytes_.data() + begin_, end - begin_);
  begin_ = end + 1;
  return line;
}

}  // namespace sluice::wire
