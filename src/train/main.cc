#include "train/main.h"

#include <fmt/format.h>
#include <malloc.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/client.h"
#include "client/settings.h"
#include "data/sets/data_set.h"
#include "recipe/recipe.h"
#include "train/bundle/trainer.h"
#include "train/check/command.h"
#include "train/failure.h"
#include "train/tensor_bound.h"

namespace sluice::train {
namespace {

constexpr std::string_view kHelp = R"(sluice-trainer: trains networks for `sluice tune`

  sluice-trainer train --recipe JSON|FILE [--capacity N]
      Trains the trials of a study. `sluice tune` starts it for a study with the key 'train'.

  sluice-trainer check NETWORK [--svg FILE]
      Says whether a network that was exported (net.pt2), or one of the zoo (zoo:NAME), is trained
      here as PyTorch trains it. `sluice-trainer check --help` says more.

  sluice-trainer --help
)";

// Tensors of a step are of the same sizes each time. By default each large one is given back to the
// kernel when it is freed, and every page of the next one is a fault.
void KeepFreedMemory() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

void Say(const std::string& text) { fmt::print(stderr, "sluice-trainer: {}\n", text); }

int WrongUsage(const std::string& what) {
  Say(what + "; see sluice-trainer --help");
  return 2;
}

struct TrainFlags {
  std::string recipe;
  int capacity = recipe::kTrainedTogether;
};

Result<TrainFlags> ReadTrainFlags(std::span<char*> words) {
  TrainFlags flags;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const std::string_view flag = words[i];
    if (flag != "--recipe" && flag != "--capacity")
      return InvalidArgument(fmt::format("expected --recipe or --capacity, found '{}'", flag));
    if (i + 1 == words.size()) return InvalidArgument(fmt::format("expected a value of {}", flag));
    const std::string value = words[i + 1];
    if (flag == "--recipe") {
      flags.recipe = value;
      continue;
    }
    const int number = value.size() <= 4 && value.find_first_not_of("0123456789") == value.npos
                           ? std::atoi(value.c_str())
                           : 0;
    if (number < 1 || number > wire::kMostCapacity)
      return InvalidArgument(fmt::format("--capacity: expected a number from 1 to {}, found '{}'",
                                         wire::kMostCapacity, value));
    flags.capacity = number;
  }
  if (flags.recipe.empty()) return InvalidArgument("expected --recipe JSON, or a file of it");
  return flags;
}

struct Opened {
  recipe::Recipe recipe;
  data::DataSet data;
};

// Reads what the recipe names, and holds it against what the study was made with. Networks are held
// against it when a trial begins.
Result<Opened> OpenRecipe(const std::string& given) {
  Opened opened;
  std::string text = given;
  if (!given.starts_with('{')) {  // a recipe that is too long for a command line is in a file
    std::ifstream file(given, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(file), {});
    if (!file) return NotFound(fmt::format("{}: expected a recipe, cannot read the file", given));
  }
  SLUICE_ASSIGN(opened.recipe, recipe::RecipeFromJson(text));
  SLUICE_ASSIGN(opened.data, data::OpenDataSet(opened.recipe.data));
  if (opened.recipe.recorded)
    SLUICE_TRY(recipe::CheckSameData(*opened.recipe.recorded, opened.data.files, opened.data.hash));
  return opened;
}

Status TrainTrials(const TrainFlags& flags) {
  SLUICE_ASSIGN(client::Settings settings,
                client::SettingsFromEnvironment(flags.capacity, /*several_shapes=*/true));
  settings.client_name = "sluice-trainer 0.1.0";
  const client::LaunchRef first = settings.first.at;
  SLUICE_ASSIGN(const auto client, client::Client::Open(std::move(settings)));
  const auto opened = OpenRecipe(flags.recipe);
  if (!opened) {
    SLUICE_TRY(client->LeaveAsFailed(first, opened.error().message));
    client->Close();
    return std::unexpected(opened.error());
  }
  Trainer trainer(opened->recipe, opened->data, *client, {.say = Say});
  const Status status = trainer.Run();
  client->Close();
  return status;
}

}  // namespace

int RunTrainer(int argc, char** argv) {
  const std::span<char*> words(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0));
  if (words.empty()) return WrongUsage("expected train or check");
  const std::string_view verb = words[0];
  if (verb == "--help" || verb == "-h") {
    fmt::print("{}", kHelp);
    return 0;
  }
  KeepFreedMemory();
  BoundTensors();
  LimitMemory();
  if (verb == "check") return RunCheck(words.subspan(1));
  if (verb != "train") return WrongUsage(fmt::format("expected train or check, found '{}'", verb));
  const auto flags = ReadTrainFlags(words.subspan(1));
  if (!flags) return WrongUsage(flags.error().message);
  // What is thrown here leaves trials half changed. They go on from their checkpoints, in another
  // process.
  const Status trained = Guarded("training", [&] { return TrainTrials(*flags); });
  if (!trained) {
    Say(trained.error().message);
    return 1;
  }
  return 0;
}

}  // namespace sluice::train
