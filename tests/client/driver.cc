// client-driver VERSION: carries out the steps of a recorded conversation with the C++ client.
// Reads steps on standard input, answers each with one line (tests/conversations/README.md).

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/json_reader.h"
#include "client/client.h"

namespace {

using namespace sluice;
using client::Client;
using client::MustLeave;
using wire::LaunchRef;
using Words = std::vector<std::string>;
using Answer = Result<std::string>;

constexpr auto kPause = std::chrono::milliseconds(100);

std::pair<std::string, std::string> Split(const std::string& word) {
  const std::size_t equals = word.find('=');
  return {word.substr(0, equals), equals == std::string::npos ? "" : word.substr(equals + 1)};
}

Answer AnswerOf(Status status) {
  if (!status) return std::unexpected(std::move(status).error());
  return "";
}

std::string InWords(const MustLeave& must_leave) {
  switch (must_leave.why) {
    case MustLeave::Why::kPause: return "pause";
    case MustLeave::Why::kStop: return "stop " + must_leave.reason;
    case MustLeave::Why::kRefused: return "refused";
    case MustLeave::Why::kAlone: return "alone";
  }
  return "";
}

class Steps {
 public:
  Answer Do(const std::string& line) {
    std::istringstream in(line);
    const Words words{std::istream_iterator<std::string>(in), {}};
    const auto step = words.empty() ? kSteps.end() : kSteps.find(words[0]);
    if (step == kSteps.end()) return InvalidArgument("expected a step, found: " + line);
    if (words.size() <= step->second.arguments)
      return InvalidArgument("expected more arguments, found: " + line);
    if (client_ == nullptr && words[0] != "open")
      return FailedPrecondition("expected the step 'open' first");
    return step->second.act(*this, words);
  }

 private:
  struct Step {
    std::size_t arguments;  // at least
    std::function<Answer(Steps&, const Words&)> act;
  };
  static const std::map<std::string, Step> kSteps;

  Answer Open(const Words& words) {
    const bool several_shapes = words.size() > 2 && words[2] == "several_shapes";
    SLUICE_ASSIGN(auto settings,
                  client::SettingsFromEnvironment(std::atoi(words[1].c_str()), several_shapes));
    SLUICE_ASSIGN(client_, Client::Open(std::move(settings)));
    TakeIn(client_->Take());
    return "";
  }
  Answer Report(const Words& words) {
    client::LaunchReport report{.at = At(words[1]), .work = std::atoll(words[2].c_str())};
    for (std::size_t i = 3; i < words.size(); ++i) {
      const auto [name, number] = Split(words[i]);
      report.values.emplace_back(name, std::strtod(number.c_str(), nullptr));
    }
    return AnswerOf(client_->Report(std::move(report)));
  }
  Answer Attributes(const Words& words) {
    const auto [name, json] = Split(words[2]);
    const auto document = JsonDocument::Read(fmt::format("{{\"value\":{}}}", json));
    if (!document) return InvalidArgument("expected JSON, found " + json);
    const JsonValue value = *document->object().Find("value");
    client::AttributeValue attribute;
    if (const auto truth = value.Boolean())
      attribute = *truth;
    else if (const auto integer = value.Integer())
      attribute = *integer;
    else if (const auto text = value.Text())
      attribute = std::string(*text);
    else
      attribute = value.Number().value_or(0);
    return AnswerOf(client_->SetAttribute(At(words[1]), name, attribute));
  }
  Answer Save(const Words& words) {
    const LaunchRef at = At(words[1]);
    SLUICE_TRY(client_->Secure(at));
    return AnswerOf(client_->Saved(at, std::atoll(words[2].c_str()), 5));
  }
  Answer Profile(const Words& words) {
    client::Measured measured;
    for (std::size_t i = 2; i < words.size(); ++i) {
      const auto [name, number] = Split(words[i]);
      if (name == "trials") measured.trials = std::atoi(number.c_str());
      if (name == "bytes") measured.bytes = std::atoll(number.c_str());
      if (name == "work_per_second") measured.work_per_second = std::atof(number.c_str());
    }
    return AnswerOf(client_->Profile(At(words[1]), measured));
  }
  Answer Verdict(const Words& words) {
    const LaunchRef at = At(words[1]);
    Await([&] { return !client_->AwaitsVerdict(at); });
    TakeIn(client_->Take());
    const auto leaving = leaving_.find(at);
    return leaving == leaving_.end() ? "continue" : leaving->second;
  }
  Answer AwaitLeave(const Words& words) {
    const LaunchRef at = At(words[1]);
    Await([&] { return leaving_.contains(at); });
    return leaving_.at(at);
  }
  Answer Leave(const Words& words) {
    const LaunchRef at = At(words[1]);
    const std::string& as = words[2];
    if (as == "done") return AnswerOf(client_->Leave(at, Client::As::kDone));
    if (as == "paused") return AnswerOf(client_->Leave(at, Client::As::kPaused));
    if (as == "released") return AnswerOf(client_->Leave(at, Client::As::kReleased));
    if (as != "failed") return InvalidArgument("expected a way to leave, found " + as);
    std::string reason;
    for (std::size_t i = 3; i < words.size(); ++i) reason += (i > 3 ? " " : "") + words[i];
    return AnswerOf(client_->LeaveAsFailed(at, reason));
  }
  Answer Joined(const Words& words) {
    const auto trial = static_cast<std::uint32_t>(std::atoi(words[1].c_str()));
    Await([&] { return joined_.contains(trial); });
    return "";
  }
  Answer Carried(const Words&) {
    std::string text;
    for (const LaunchRef& at : client_->Carried())
      text += fmt::format("{}{}", text.empty() ? "" : " ", Number(at.trial));
    return text;
  }
  Answer Shrink(const Words& words) {
    for (std::size_t i = 2; i < words.size(); ++i)
      SLUICE_TRY(client_->Leave(At(words[i]), Client::As::kReleased));
    return Grow(words);
  }
  Answer Grow(const Words& words) {
    return AnswerOf(client_->SetCapacity(std::atoi(words[1].c_str())));
  }
  Answer Finished(const Words&) {
    Await([&] { return finished_; });
    return alone_ ? "alone" : "exit";
  }
  Answer Close(const Words&) {
    client_->Close();
    return "";
  }

  // A trial that never joined has launch 1 here, for the client to refuse.
  LaunchRef At(const std::string& word) const {
    const auto trial = static_cast<std::uint32_t>(std::atoi(word.c_str()));
    const auto found = joined_.find(trial);
    return {TrialId(trial), found == joined_.end() ? LaunchId(1) : found->second};
  }
  void Await(const std::function<bool()>& is_ready) {
    TakeIn(client_->Take());
    while (!is_ready()) TakeIn(client_->Wait(client::Clock::now() + kPause));
  }
  void TakeIn(const client::News& news) {
    for (const wire::Assign& assign : news.joined)
      joined_[Number(assign.at.trial)] = assign.at.launch;
    for (const MustLeave& each : news.must_leave) leaving_[each.at] = InWords(each);
    finished_ = news.finished;
    alone_ = !news.alone.empty();
  }

  std::unique_ptr<Client> client_;
  std::map<std::uint32_t, LaunchId> joined_;
  std::map<LaunchRef, std::string> leaving_;
  bool finished_ = false;
  bool alone_ = false;
};

const std::map<std::string, Steps::Step> Steps::kSteps = {
    {"open", {1, &Steps::Open}},
    {"report", {2, &Steps::Report}},
    {"attributes", {2, &Steps::Attributes}},
    {"save", {2, &Steps::Save}},
    {"profile", {2, &Steps::Profile}},
    {"verdict", {1, &Steps::Verdict}},
    {"must-leave", {1, &Steps::AwaitLeave}},
    {"leave", {2, &Steps::Leave}},
    {"joined", {1, &Steps::Joined}},
    {"carried", {0, &Steps::Carried}},
    {"shrink", {1, &Steps::Shrink}},
    {"grow", {1, &Steps::Grow}},
    {"finished", {0, &Steps::Finished}},
    {"close", {0, &Steps::Close}},
};

}  // namespace

int main(int count, char** words) {
  if (count != 2 || std::string_view(words[1]) != "2") {
    std::fputs("usage: client-driver 2 < steps\n", stderr);
    return 2;
  }
  Steps steps;
  for (std::string line; std::getline(std::cin, line);) {
    const Answer answer = steps.Do(line);
    std::cout << (!answer           ? "error " + answer.error().message
                  : answer->empty() ? "ok"
                                    : "ok " + *answer)
              << std::endl;
    if (line == "close") return 0;
  }
}
