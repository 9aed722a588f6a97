#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/json_reader.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "wire/message.h"

namespace sluice::wire {
namespace {

constexpr int kDeepest = 32;
constexpr JsonDocument::Limits kLimits{.depth = kDeepest, .members = 10'000};
constexpr Work kMostWork = std::int64_t{1} << 62;

// Python's json writes numbers that JSON lacks as bare words. This quotes these words, since we
// read them as texts.
std::string QuoteBareNumbers(std::string_view line) {
  static constexpr std::array<std::string_view, 3> kWords = {"NaN", "Infinity", "-Infinity"};
  std::string quoted;
  bool in_text = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const std::string_view rest = line.substr(at);
    if (line[at] == '"') in_text = !in_text;
    if (in_text && line[at] == '\\' && rest.size() > 1) quoted += line[at++];
    const auto word = std::ranges::find_if(
        kWords, [&](std::string_view each) { return !in_text && rest.starts_with(each); });
    if (word == kWords.end()) {
      quoted += line[at];
    } else {
      quoted += fmt::format("\"{}\"", *word);
      at += word->size() - 1;
    }
  }
  return quoted;
}

std::optional<JsonDocument> ReadOutputLine(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos || line[begin] != '{' || line.size() > kLongestLine)
    return std::nullopt;
  auto document = JsonDocument::Read(line, kLimits);
  const bool may_be_bare = line.contains("NaN") || line.contains("Infinity");
  if (!document && may_be_bare) document = JsonDocument::Read(QuoteBareNumbers(line), kLimits);
  return document;
}

std::string ObjectOf(const Values& values) {
  JsonWriter json;
  for (const auto& [name, value] : values) json.Add(name, value);
  return json.Take();
}

std::string ListOf(const std::vector<LaunchRef>& launches) {
  return JsonList(launches, [](std::string& list, const LaunchRef& at) {
    list += JsonWriter().Add("trial", Number(at.trial)).Add("launch", Number(at.launch)).Take();
  });
}

struct Encoder {
  JsonWriter json;

  void operator()(const Hello& m) {
    Begin("hello").Add("version", m.version).Add("worker", m.worker).Add("pid", m.pid);
    json.Add("client", m.client);
    if (m.version < 2) json.Add("reuse", m.reuse);
    json.Add("study", m.study);
    if (!m.secret.empty()) json.Add("secret", m.secret);
    if (m.version >= 2) {
      json.Add("capacity", m.capacity).Add("several_shapes", m.several_shapes);
      json.AddJson("launches", ListOf(m.launches)).AddJson("ended", ListOf(m.ended));
    } else if (!m.launches.empty()) {
      const LaunchRef& at = m.launches.front();
      json.Add("trial", Number(at.trial)).Add("launch", Number(at.launch));
    }
  }
  void operator()(const Heartbeat&) { Begin("heartbeat"); }
  void operator()(const Ready&) { Begin("ready"); }
  void operator()(const Capacity& m) { Begin("capacity").Add("capacity", m.capacity); }
  void operator()(const Report& m) {
    At("report", m).Add("work", m.work).AddJson("values", ObjectOf(m.values));
  }
  void operator()(const Attributes& m) {
    At("attributes", m).AddJson("attributes", RewrittenJson(m.attributes));
  }
  void operator()(const Saved& m) { At("saved", m).Add("work", m.work).Add("bytes", m.bytes); }
  void operator()(const Paused& m) { At("paused", m); }
  void operator()(const Done& m) { At("done", m); }
  void operator()(const Failed& m) { At("failed", m).Add("reason", m.reason); }
  void operator()(const Released& m) { At("released", m); }
  void operator()(const Profile& m) {
    At("profile", m).Add("trials", m.trials);
    if (m.bytes > 0) json.Add("bytes", m.bytes);
    if (m.work_per_second > 0) json.Add("work_per_second", m.work_per_second);
  }
  void operator()(const Ask& m) {
    Begin("ask").Add("verb", m.verb).Add("study", m.study).Add("trial", Number(m.trial));
    if (!m.version.empty()) json.Add("version", m.version);
    if (!m.event.empty()) json.Add("event", m.event).AddJson("body", RewrittenJson(m.body));
    if (m.points.empty()) return;
    json.AddJson("points", JsonList(m.points, [](std::string& list, const std::string& point) {
                   list += RewrittenJson(point);
                 }));
  }

  void operator()(const Welcome& m) {
    Begin("welcome").Add("version", m.version);
    json.Add("lease_ms", m.lease_ms).Add("window", m.window);
  }
  void operator()(const Assign& m) {
    Begin("assign").Add("study", m.study);
    json.Add("trial", Number(m.at.trial)).Add("launch", Number(m.at.launch));
    json.AddJson("params", RewrittenJson(m.params));
    if (m.target) json.Add("target", *m.target);
    json.Add("work", m.work).Add("checkpoint_dir", m.checkpoint_dir).Add("folder", m.folder);
    json.Add("seed", m.seed).Add("unit", m.unit).Add("objective", m.objective);
    json.Add("direction", m.maximize ? "maximize" : "minimize");
    json.Add("of", m.last_counts ? "last" : "best");
    if (m.best) json.Add("best", *m.best).Add("best_work", m.best_work);
    json.Add("lease_ms", m.lease_ms).Add("window", m.window);
  }
  void operator()(const Ack& m) { At("ack", m); }
  void operator()(const Budget& m) {
    For("budget", m.at);
    if (m.target) json.Add("target", *m.target);
  }
  void operator()(const Pause& m) { For("pause", m.at); }
  void operator()(const Stop& m) { For("stop", m.at).Add("why", m.why); }
  void operator()(const Exit&) { Begin("exit"); }
  void operator()(const Refuse& m) {
    if (m.at) {
      For("refuse", *m.at).Add("reason", m.reason);
    } else {
      Begin("refuse").Add("reason", m.reason);
    }
  }
  void operator()(const Answer& m) {
    Begin("answer").Add("ok", m.ok).Add("message", m.message);
    if (!m.facts.empty()) json.AddJson("facts", ObjectOf(m.facts));
  }

 private:
  JsonWriter& Begin(std::string_view type) { return json.Add("type", type); }
  JsonWriter& For(std::string_view type, const LaunchRef& at) {
    return Begin(type).Add("trial", Number(at.trial)).Add("launch", Number(at.launch));
  }
  JsonWriter& At(std::string_view type, const auto& m) { return For(type, m.at).Add("seq", m.seq); }
};

template <typename Message>
std::string EncodeAny(const Message& message) {
  Encoder encoder;
  std::visit(encoder, message);
  return encoder.json.Take();
}

class Members : public JsonMembers {
 public:
  using JsonMembers::JsonMembers;

  std::vector<std::string> Objects(std::string_view name) {
    std::vector<std::string> texts;
    for (const JsonValue& each : List(name, "a list of objects")) {
      if (each.kind() != JsonValue::Kind::kObject) return Miss(name, "a list of objects"), texts;
      texts.push_back(each.Written());
    }
    return texts;
  }
  std::vector<LaunchRef> Launches(std::string_view name) {
    constexpr std::string_view kExpected = "a list of objects with 'trial' and 'launch'";
    std::vector<LaunchRef> launches;
    if (!Has(name)) return launches;
    for (const JsonValue& each : List(name, kExpected)) {
      if (each.kind() != JsonValue::Kind::kObject) return Miss(name, kExpected), launches;
      Members launch(each);
      launches.push_back(launch.Launch());
      if (!launch.error().empty()) return Miss(name, kExpected), launches;
    }
    return launches;
  }
  LaunchRef Launch() {
    return {TrialId(static_cast<std::uint32_t>(Integer("trial", 1, UINT32_MAX))), LaunchNumber()};
  }
  LaunchId LaunchNumber() {
    return LaunchId(static_cast<std::uint32_t>(Integer("launch", 1, UINT32_MAX)));
  }
  int Version() { return static_cast<int>(Integer("version", 0, 1'000'000)); }
  int CapacityNumber() { return static_cast<int>(Integer("capacity", 0, kMostCapacity)); }
  // A finite number of at least 0.
  double Positive(std::string_view name) {
    const double number = Number(name);
    if (!(number >= 0) || std::isinf(number)) Miss(name, "a finite number of at least 0");
    return number;
  }
  std::uint64_t Seq() { return static_cast<std::uint64_t>(Integer("seq", 1, INT64_MAX)); }
  std::optional<Work> Target() {
    if (!Has("target")) return std::nullopt;
    return Integer("target", 0, kMostWork);
  }
};

Result<JsonDocument> ReadLine(std::string_view line) {
  if (line.size() > kLongestLine) return InvalidArgument("expected a line of at most 1 MiB");
  auto document = JsonDocument::Read(line, kLimits);
  if (document) return *std::move(document);
  return InvalidArgument(NestsDeeperThan(line, kDeepest)
                             ? "expected a JSON object that is not nested so deeply"
                             : "expected one JSON object per line");
}

template <typename Message>
Result<Message> Finish(const Members& members, std::string_view type, Message message) {
  if (!members.error().empty())
    return InvalidArgument(fmt::format("{}: {}", type, members.error()));
  return message;
}

std::string TypeOf(const JsonValue& object) {
  return std::string(object.Find("type").and_then(&JsonValue::Text).value_or(""));
}

}  // namespace

std::string Encode(const FromWorker& message) { return EncodeAny(message); }
std::string Encode(const ToWorker& message) { return EncodeAny(message); }

Result<FromWorker> DecodeFromWorker(std::string_view line) {
  SLUICE_ASSIGN(const JsonDocument document, ReadLine(line));
  const std::string type = TypeOf(document.object());
  Members in(document.object());
  // Members are read in the order of the code below. The first fault in that order is reported.
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
  if (type == "capacity") return finish(Capacity{in.CapacityNumber()});
  if (type == "hello") {
    Hello m;
    m.version = in.Version();
    m.worker = in.Text("worker");
    m.pid = in.Has("pid") ? in.Integer("pid", 0, INT32_MAX) : 0;
    m.client = in.Has("client") ? in.Text("client") : "";
    m.secret = in.Has("secret") ? in.Text("secret") : "";
    m.study = in.Has("study") ? in.Text("study") : "";
    if (m.version < 2) {
      m.reuse = in.Has("reuse") && in.Boolean("reuse");
      if (in.Has("trial")) m.launches = {in.Launch()};
    } else {
      m.reuse = true;
      m.capacity = in.CapacityNumber();
      m.several_shapes = in.Has("several_shapes") && in.Boolean("several_shapes");
      m.launches = in.Launches("launches");
      m.ended = in.Launches("ended");
    }
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
  if (type == "released") return finish(Released{.at = in.Launch(), .seq = in.Seq()});
  if (type == "profile") {
    Profile m{.at = in.Launch(),
              .seq = in.Seq(),
              .trials = static_cast<int>(in.Integer("trials", 1, kMostCapacity)),
              .bytes = in.Has("bytes") ? in.Integer("bytes", 0, kMostWork) : 0,
              .work_per_second = in.Has("work_per_second") ? in.Positive("work_per_second") : 0};
    return finish(m);
  }
  if (type == "ask") {
    Ask m{.verb = in.Text("verb"),
          .study = in.Text("study"),
          .trial = TrialId(static_cast<std::uint32_t>(in.Integer("trial", 0, UINT32_MAX)))};
    if (in.Has("points")) m.points = in.Objects("points");
    if (in.Has("version")) m.version = in.Text("version");
    if (in.Has("event")) {
      m.event = in.Text("event");
      m.body = in.Object("body");
    }
    return finish(std::move(m));
  }
  return InvalidArgument(
      fmt::format("expected a message of a known type, found '{}'", type.substr(0, 40)));
}

Result<ToWorker> DecodeToWorker(std::string_view line) {
  SLUICE_ASSIGN(const JsonDocument document, ReadLine(line));
  const std::string type = TypeOf(document.object());
  Members in(document.object());
  const auto finish = [&](auto message) { return Finish<ToWorker>(in, type, std::move(message)); };
  if (type == "ack") return finish(Ack{.at = in.Launch(), .seq = in.Seq()});
  if (type == "budget") return finish(Budget{.at = in.Launch(), .target = in.Target()});
  if (type == "pause") return finish(Pause{in.Launch()});
  if (type == "stop") return finish(Stop{.at = in.Launch(), .why = in.Text("why")});
  if (type == "exit") return finish(Exit{});
  if (type == "refuse") {
    Refuse m{.reason = in.Text("reason")};
    if (in.Has("trial")) m.at = in.Launch();
    return finish(std::move(m));
  }
  if (type == "answer") {
    Answer m{.ok = in.Boolean("ok"), .message = in.Text("message")};
    if (in.Has("facts")) m.facts = in.Numbers("facts");
    return finish(std::move(m));
  }
  if (type == "welcome") {
    return finish(Welcome{.version = in.Has("version") ? in.Version() : kOldestVersion,
                          .lease_ms = in.Integer("lease_ms", 1, kMostWork),
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
    m.maximize = in.Has("direction") && in.Text("direction") == "maximize";
    m.last_counts = in.Has("of") && in.Text("of") == "last";
    if (in.Has("best")) {
      m.best = in.Number("best");
      m.best_work = in.Integer("best_work", 0, kMostWork);
    }
    m.lease_ms = in.Integer("lease_ms", 1, kMostWork);
    m.window = static_cast<int>(in.Integer("window", 1, 1 << 20));
    return finish(std::move(m));
  }
  return NotFound(
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

std::vector<std::string> NumbersOn(std::string_view line) {
  std::vector<std::string> names;
  const auto document = ReadOutputLine(line);
  if (!document) return names;
  const auto members = document->object().Members();
  for (const auto& [name, value] : *members) {
    if (value.Number()) names.emplace_back(name);
  }
  return names;
}

Result<std::optional<OutputReport>> DecodeOutputLine(std::string_view line, std::string_view metric,
                                                     std::string_view unit) {
  const auto document = ReadOutputLine(line);
  if (!document) return std::nullopt;
  const JsonValue object = document->object();
  if (!object.Find(metric) && !object.Find("sluice")) return std::nullopt;

  OutputReport report;
  std::string_view work_name = unit;
  if (!object.Find(unit) && object.Find("step")) work_name = "step";
  const auto found = [](const JsonValue& value) { return value.Written().substr(0, 60); };
  const auto members = object.Members();
  for (const auto& [name, value] : *members) {
    if (name == "sluice") continue;
    const auto number = value.Number();
    if (name == work_name) {
      const bool whole = value.IsNumber() && *number == std::floor(*number);
      if (!whole || *number < 0 || *number > 0x1p53) {
        return InvalidArgument(fmt::format("'{}': expected a whole number of at least 0, found {}",
                                           name, found(value)));
      }
      report.work = static_cast<Work>(*number);
    } else if (number) {
      report.values.emplace_back(name, *number);
    } else if (name == metric) {
      return InvalidArgument(fmt::format("'{}': expected a number, found {}", name, found(value)));
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
