// rooms: engine

// Any bytes at all are an engine's state or are refused; what is taken goes together
// and is written the same way again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "policy/policy.h"

namespace {

using namespace sluice;

StudyCreated Created(const std::string& stopper) {
  const std::string source =
      std::string(
          "program: train\nspace: {lr: {float: [0, 1]}}\nobjective: {minimize: loss}\ntrials: 9\n"
          "budget: {min: 1, max: 9, eta: 3}\nstopper: ") +
      stopper + "\n";
  auto spec = ReadStudy(source, "study.yaml", "study");
  if (!spec) std::abort();
  return {.study = StudyId{1}, .source = source, .folder = "/", .seed = 1, .spec = *spec};
}

std::unique_ptr<Engine> NewEngine() { return std::make_unique<Engine>(*MakePolicy("fifo")); }

void TryLoad(std::string_view bytes, const StudyCreated& created) {
  const auto engine = NewEngine();
  if (const Status loaded = engine->Load(bytes, {created}); !loaded) {
    if (loaded.error().code != ErrorCode::kCorruption) std::abort();
    return;
  }
  (void)engine->Unfinished();
  const std::string saved = engine->Save();
  const auto again = NewEngine();
  if (!again->Load(saved, {created}) || again->Save() != saved) std::abort();
}

// A state that the bytes lead to, each of them an event.
std::string Grown(std::string_view recipe, const StudyCreated& created) {
  const auto engine = NewEngine();
  engine->Apply({FromMicros(0), created});
  engine->Apply(
      {FromMicros(0), ControllerStarted{{Node{.name = "n", .cpus = 3 * kWhole, .devices = {}}}}});
  std::uint64_t proposals = 0;
  std::int64_t now = 0;
  for (const char byte : recipe) {
    const auto code = static_cast<unsigned char>(byte);
    const TrialKey key{StudyId{1}, TrialId(1 + code % 8)};
    const Trial* trial = engine->trial(key);
    const LaunchId launch = trial != nullptr ? trial->launch.id : LaunchId{};
    now += 1'000'000;
    const Time time = FromMicros(now);
    switch (code / 8 % 7) {
      case 0: engine->Apply({time, Proposed{StudyId{1}, proposals++, Point{0.5}}}); break;
      case 1:
        if (trial != nullptr)
          engine->Apply({time, Reported{key,
                                        launch,
                                        {trial->launch.seq + 1, 0},
                                        trial->work + 1 + code / 64,
                                        {{"loss", code / 50 * 0.1}}}});
        break;
      case 2:
        engine->Apply(
            {time, LaunchEnded{key, launch, {}, static_cast<Ending>(code / 64), "why", code}});
        break;
      case 3: engine->Apply({time, LeaseExpired{key, launch}}); break;
      case 4: engine->Apply({time, Woken{}}); break;
      case 5: engine->Apply({time, RetryAsked{key}}); break;
      case 6: engine->Apply({time, PointsEnqueued{StudyId{1}, {{0.25}, {0.75}}}}); break;
    }
  }
  return engine->Save();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<StudyCreated> studies = [] {
    std::vector<StudyCreated> all;
    for (const std::string& stopper : StopperNames()) all.push_back(Created(stopper));
    return all;
  }();
  if (size < 4) return 0;
  const StudyCreated& created = studies[data[0] % studies.size()];
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 4, size - 4);
  if (data[1] % 2 == 0) {
    TryLoad(bytes, created);
    return 0;
  }
  // A state that was, with one byte changed, or cut off.
  std::string state = Grown(bytes.substr(0, 64), created);
  TryLoad(state, created);
  const std::size_t at = (data[2] * 256U + data[3]) % state.size();
  state[at] = static_cast<char>(state[at] ^ (1 + data[1]));
  TryLoad(state, created);
  TryLoad(std::string_view(state).substr(0, at), created);
  return 0;
}
