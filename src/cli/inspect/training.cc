#include "cli/inspect/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/random.h"
#include "base/text.h"
#include "cli/inspect/dropout_reach.h"
#include "cli/inspect/narrow_check.h"
#include "cli/inspect/study_model.h"
#include "cli/study_file.h"
#include "data/sets/data_set.h"
#include "exec/trainer.h"
#include "model/evaluate/metrics.h"
#include "model/example_sizes.h"
#include "model/loss.h"
#include "model/network.h"
#include "model/shrink/carries_over.h"
#include "model/shrink/shrink.h"

namespace sluice {
namespace {

// So many trials are drawn. A value that is wrong in one trial in twenty is found 9999 times in
// 10000.
constexpr int kDrawnTrials = 200;

class TrainingInspector {
 public:
  TrainingInspector(const StudySpec& spec, const std::string& source, const std::string& file,
                    const std::string& folder)
      : spec_(spec), source_(source), file_(file), folder_(folder) {}

  Result<TrainingSummary> Inspect() {
    auto data = data::OpenDataSet(DataIn(spec_.training->data, folder_));
    if (!data) {
      const std::string& message = data.error().message;
      const std::string path = PathOfDataError(message);
      return Refuse(path, path == "data" ? message : "data." + message);
    }
    data_ = std::move(*data);
    if (const auto networks = NetworksOf(spec_); !networks)
      return Refuse("model.network", networks.error().message);
    SLUICE_TRY(InspectTrials());
    summary_.data = DescribeData();
    SLUICE_TRY(CheckMetric("objective", spec_.objective.metric));
    for (const StopAt& stop : spec_.stop_at) SLUICE_TRY(CheckMetric("stop_at", stop.metric));
    return std::move(summary_);
  }

 private:
  // Fails with a message at the place of a key; `path` is left out where the message begins so.
  std::unexpected<Error> Refuse(const std::string& path, const std::string& message) const {
    return InvalidArgument(fmt::format("{}: {}{}", PlaceOf(source_, file_, path),
                                       message.starts_with(path) ? "" : path + ": ", message));
  }

  // Messages of data begin with a file, or with the name of a field.
  static std::string PathOfDataError(const std::string& message) {
    const std::string field = message.substr(0, message.find(':'));
    const bool is_word = !field.empty() && field.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") ==
                                               std::string::npos;
    return is_word && field != "data" ? "data." + field : "data";
  }

  Status InspectTrials() {
    const Random draws = Random(0).Fork("check");
    std::set<std::string> losses;
    for (int number = 0; number < kDrawnTrials; ++number) {
      Random draw = draws.Fork(static_cast<std::uint64_t>(number));
      std::vector<double> unit(spec_.space.size());
      for (double& each : unit) each = draw.Uniform();
      const Point point = spec_.space.FromUnit(unit);
      if (!spec_.space.Satisfies(point)) continue;
      const std::string params = spec_.space.Encode(point);
      const auto trial = recipe::Resolve(*spec_.training, params);
      if (!trial) {
        const std::string& message = trial.error().message;
        return Refuse(message.substr(0, message.find(':')),
                      fmt::format("{}; so in the trial {}", message, params));
      }
      losses.insert(trial->loss);
      if (trial->scale != 1) AddNarrow(summary_.narrow, *trial);
      if (seen_.insert(NetworkKey(*trial)).second) SLUICE_TRY(InspectNetwork(*trial));
      SLUICE_TRY(CheckBatch(*trial));
      dropout_.AddTrial(*trial);
    }
    if (const auto mistake = dropout_.Mistake()) return Refuse(mistake->path, mistake->message);
    for (std::string& note : dropout_.Notes()) summary_.notes.push_back(std::move(note));
    if (!summary_.narrow.empty()) NoteWhatDoesNotCarryOver();
    if (losses.size() > 1)
      summary_.networks +=
          fmt::format("; losses: {}", Join(std::vector<std::string>(losses.begin(), losses.end())));
    return {};
  }

  static std::string NetworkKey(const recipe::TrialRecipe& trial) {
    return fmt::format("{}\n{}\n{}", trial.network, trial.loss, trial.scale);
  }

  Status InspectNetwork(const recipe::TrialRecipe& trial) {
    const auto network = model::OpenNetwork(NetworkOf({.network = trial.network}, folder_));
    if (!network) return Refuse("model.network", network.error().message);
    if (const Status fits = model::CheckLoss(network->graph, trial.loss); !fits)
      return Refuse("model.loss", fits.error().message);
    if (trial.scale != 1) {
      if (const auto narrow =
              model::Shrink(network->graph, network->widths, {.scale = trial.scale});
          !narrow)
        return Refuse("model.scale", narrow.error().message);
    }
    SLUICE_TRY(CheckInput(trial.network, network->graph));
    AddMetrics(network->graph, trial);
    const auto [fixed, is_new] =
        fixed_batches_.try_emplace(trial.network, model::FixedBatch(network->graph));
    if (!is_new) return {};
    summary_.networks += fmt::format("{}{}", summary_.networks.empty() ? "" : ", ", trial.network);
    dropout_.AddNetwork(trial.network, network->graph);
    if (fixed->second) NoteExamplesLeftOut(trial.network, *fixed->second);
    return {};
  }

  // Parameters are known by the keys that they reach, whatever they are called.
  void NoteWhatDoesNotCarryOver() {
    for (const auto& [name, reach] : recipe::ReachOf(*spec_.training)) {
      for (const std::string& path : reach.paths) {
        const std::string below = path.substr(path.find('.') + 1);
        const std::string why = model::WhyItDoesNotCarryOver(below.substr(0, below.find('.')));
        if (why.empty()) continue;
        summary_.notes.push_back(
            fmt::format("{}: trials train a narrower network: '{}': {}", path, name, why));
      }
    }
  }

  // Whether the network takes the examples of the data.
  Status CheckInput(const std::string& name, const model::Graph& graph) {
    if (graph.inputs.empty()) return {};  // the trainer says what it takes
    const auto& [type, shape] = data_.train->input();
    if (model::HowItTakes(graph, shape) == model::Takes::kNot)
      return Refuse("data",
                    fmt::format("expected examples of the sizes [{}], as the network {} takes "
                                "them, found [{}]; take other data, or another network",
                                model::SizesItTakes(graph), name, fmt::join(shape, ", ")));
    const Status fits = model::CheckElements(
        graph, name, {.type = data::Name(type), .whole = type == data::DType::kInt64});
    if (!fits) return Refuse("data", fits.error().message);
    return {};
  }

  // How many examples trials are evaluated on.
  std::int64_t EvaluationExamples() const {
    const auto& evaluated = data_.evaluated();
    return evaluated ? evaluated->count() : 0;
  }

  // Whether the trial's network takes batches of the trial's size.
  Status CheckBatch(const recipe::TrialRecipe& trial) const {
    const std::optional<std::int64_t> fixed = fixed_batches_.at(trial.network);
    if (!fixed) return {};
    const Status fits = model::CheckBatching(*fixed, trial.network,
                                             {.batch = trial.batch,
                                              .training_examples = data_.train->count(),
                                              .evaluation_examples = EvaluationExamples()});
    if (fits) return {};
    const std::string& message = fits.error().message;
    return Refuse(message.substr(0, message.find(':')), message);
  }

  // A network of a fixed batch cannot be evaluated on what remains after the last whole batch.
  void NoteExamplesLeftOut(const std::string& network, std::int64_t batch) {
    const std::int64_t examples = EvaluationExamples();
    if (examples % batch == 0) return;
    summary_.notes.push_back(
        fmt::format("data: {} of the {} examples for evaluation are left out, since the network {} "
                    "takes batches of {} alone (dynamic_batch=False)",
                    examples % batch, examples, network, batch));
  }

  // Trials may train different networks. What one of them lacks cannot compare trials.
  void AddMetrics(const model::Graph& graph, const recipe::TrialRecipe& trial) {
    const auto add = [&](const std::string& name) {
      if (std::ranges::find(summary_.metrics, name) == summary_.metrics.end())
        summary_.metrics.push_back(name);
    };
    add("loss");
    add("train_loss");
    if (!data_.validation && !data_.test) return;
    const model::Metrics metrics = model::MetricsOf(graph, trial.loss, {}, data_.train->classes());
    for (const std::string& name : metrics.names) add(name);
    for (const auto& [name, why] : metrics.missing)
      lacking_.try_emplace(name, fmt::format("{}: {}", trial.network, why));
    if (trial.loss != "returned") return;
    for (const std::string& line : model::MissingText(metrics))
      summary_.notes.push_back(fmt::format("model.network: {}: {}", trial.network, line));
  }

  Status CheckMetric(const std::string& key, const std::string& metric) const {
    if (const auto lacking = lacking_.find(metric); lacking != lacking_.end())
      return Refuse(key, fmt::format("expected a metric that every trial has, found '{}', which is "
                                     "missing: {}",
                                     metric, lacking->second));
    if (std::ranges::find(summary_.metrics, metric) != summary_.metrics.end()) return {};
    const bool measured = data_.validation || data_.test;
    return Refuse(key, fmt::format("expected a metric that sluice-trainer reports here ({}), found "
                                   "'{}'{}{}",
                                   Join(summary_.metrics), Shown(metric),
                                   DidYouMean(metric, summary_.metrics),
                                   measured ? ""
                                            : "; more can be measured on examples that are not "
                                              "trained on: add 'validation_fraction: 0.1' to "
                                              "'data'"));
  }

  std::string DescribeData() {
    std::string text = fmt::format("{}, {} training examples of {}", data::Name(data_.kind),
                                   data_.train->count(), data::Text(data_.train->input()));
    if (data_.train->classes() > 0) text += fmt::format(", {} classes", data_.train->classes());
    if (data_.validation) {
      text += fmt::format("; evaluated on {} for validation", data_.validation->count());
    } else if (data_.test) {
      text += fmt::format("; evaluated on {} for tests", data_.test->count());
      summary_.notes.emplace_back(
          "data: trials are compared on the test examples, since there are none for validation: "
          "add 'validation_fraction: 0.1'");
    } else {
      text += "; not evaluated";
      summary_.notes.emplace_back(
          "data: trials are compared by their loss in training, since no other examples are there: "
          "add 'validation_fraction: 0.1'");
    }
    return text;
  }

  const StudySpec& spec_;
  const std::string& source_;
  const std::string& file_;
  const std::string& folder_;
  data::DataSet data_;
  TrainingSummary summary_;
  std::map<std::string, std::string> lacking_;  // metrics that some trials do not have, and why
  std::set<std::string> seen_;                  // networks with their losses and scales
  // The networks that trials name, each with the batch that it must have if it is fixed.
  std::map<std::string, std::optional<std::int64_t>> fixed_batches_;
  DropoutReach dropout_;
};

}  // namespace

Result<TrainingSummary> InspectTraining(const StudySpec& spec, const std::string& source,
                                        const std::string& file, const std::string& folder) {
  return TrainingInspector(spec, source, file, folder).Inspect();
}

std::map<std::string, std::string> DescribeReach(const StudySpec& spec) {
  const auto reaches = recipe::ReachOf(*spec.training);
  std::map<std::string, std::string> described;
  for (const Parameter& parameter : spec.space.parameters()) {
    const auto reach = reaches.find(parameter.name);
    if (reach == reaches.end()) {
      described[parameter.name] = "decides which parameters are active";
      continue;
    }
    std::string text = Join(reach->second.paths);
    const auto is_in = [&](const std::vector<std::string>& names) {
      return std::ranges::find(names, parameter.name) != names.end();
    };
    if (is_in(spec.shape)) {
      text += " (of the shape: trials with other values are trained apart)";
    } else if (is_in(spec.shape_by_presence)) {
      text += " (of the shape where it is active: trials without it are trained apart)";
    }
    described[parameter.name] = std::move(text);
  }
  return described;
}

}  // namespace sluice
