// train-driver ARCHIVE|zoo:NETWORK FEED RESULTS: runs a network for several trials at once, as
// tests/train/driver.py asks. FEED and RESULTS are lines, then the bytes of the tensors, in the
// order of the lines that name them. FEED has these lines:
//
//   trials SEED...                   a line of their seeds
//   autocast TYPE                    computes in float32 under autocast; otherwise in float64
//   input TYPE SIZES                 of all trials, in the order of the network
//   parameter NAME TYPE SIZES        with the trials in front
//   end
//
// RESULTS has `output`, `gradient NAME`, `written NAME` likewise, all with the trials in front, and
// `fallback NODE OPERATOR WHY`, `looped NODE OPERATOR`.
//
// train-driver --examples ARCHIVE: compares with the outputs that sluice.export stored. Prints how
// training compares, how evaluation does, and for each output its name, the largest difference, and
// the largest that counts as equal.

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "model/network.h"
#include "model/read/archive.h"
#include "model/zoo/zoo.h"
#include "train/measure/examples.h"
#include "train/program.h"

namespace {

using namespace sluice;
using namespace sluice::train;

const std::map<std::string, at::ScalarType>& Types() {
  static const auto& types = *new std::map<std::string, at::ScalarType>{
      {"float64", at::kDouble}, {"float32", at::kFloat},     {"int64", at::kLong},
      {"int32", at::kInt},      {"bool", at::kBool},         {"complex128", at::kComplexDouble},
      {"uint8", at::kByte},     {"bfloat16", at::kBFloat16}, {"float16", at::kHalf}};
  return types;
}

std::string NameOf(at::ScalarType type) {
  for (const auto& [name, each] : Types())
    if (each == type) return name;
  return "unknown";
}

struct DriverFeed {
  std::vector<std::uint64_t> seeds;
  std::optional<at::ScalarType> autocast;
  std::vector<at::Tensor> inputs;
  std::map<std::string, at::Tensor> parameters;
};

DriverFeed ReadFeed(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  DriverFeed feed;
  std::vector<at::Tensor> order;
  std::string line;
  while (std::getline(file, line) && line != "end") {
    std::istringstream words(line);
    std::string what, name, type;
    words >> what;
    if (what == "trials") {
      feed.seeds.assign(std::istream_iterator<std::uint64_t>(words), {});
      continue;
    }
    if (what == "parameter") words >> name;
    words >> type;
    if (what == "autocast") {
      feed.autocast = Types().at(type);
      continue;
    }
    const std::vector<std::int64_t> sizes{std::istream_iterator<std::int64_t>(words), {}};
    order.push_back(at::empty(sizes, Types().at(type)));
    if (what == "input") {
      feed.inputs.push_back(order.back());
    } else {
      feed.parameters[name] = order.back();
    }
  }
  for (at::Tensor& each : order)
    file.read(static_cast<char*>(each.data_ptr()), static_cast<std::streamsize>(each.nbytes()));
  return feed;
}

class ResultsFile {
 public:
  explicit ResultsFile(const std::string& path) : file_(path, std::ios::binary) {}
  void Line(const std::string& line) { lines_ += line + "\n"; }
  void Tensor(const std::string& what, const at::Tensor& tensor) {
    std::string line = what + " " + NameOf(tensor.scalar_type());
    for (const std::int64_t size : tensor.sizes()) line += fmt::format(" {}", size);
    Line(line);
    tensors_.push_back(tensor.detach().contiguous());
  }
  ~ResultsFile() {
    file_ << lines_ << "end\n";
    for (const at::Tensor& each : tensors_)
      file_.write(static_cast<const char*>(each.data_ptr()),
                  static_cast<std::streamsize>(each.nbytes()));
  }

 private:
  std::ofstream file_;
  std::string lines_;
  std::vector<at::Tensor> tensors_;
};

Result<model::Graph> OpenGraph(const std::string& name) {
  if (model::IsOfZoo(name)) {
    SLUICE_ASSIGN(model::BuiltModel built, model::BuildFromZoo(name.substr(4)));
    return std::move(built.graph);
  }
  SLUICE_ASSIGN(const model::Archive archive, model::Archive::Open(name));
  return archive.graph();
}

// The sum over the trials of what the tests of the graph measure: the mean square of each output.
at::Tensor Measure(const std::vector<Value>& outputs, std::int64_t trials) {
  at::Tensor sum = at::zeros({}, at::kDouble);
  for (const Value& each : outputs)
    if (each.tensor.is_floating_point())
      sum = sum + each.tensor.to(at::kDouble).square().mean() * static_cast<double>(trials);
  return sum;
}

Status Drive(const std::string& network, const DriverFeed& feed, const std::string& results_path) {
  SLUICE_ASSIGN(const model::Graph graph, OpenGraph(network));
  const at::ScalarType real = feed.autocast ? at::kFloat : at::kDouble;
  at::set_default_dtype(c10::scalarTypeToTypeMeta(real));
  SLUICE_ASSIGN(const Program program,
                Program::Prepare(graph, {.real = real, .autocast = feed.autocast}));
  const auto trials = static_cast<std::int64_t>(feed.seeds.size());
  std::vector<at::Tensor> parameters;
  for (std::size_t i = 0; i < graph.parameters.size(); ++i) {
    const model::Parameter& each = graph.parameters[i];
    const std::size_t first = each.tied_to.value_or(i);
    const at::Tensor given = feed.parameters.at(graph.parameters[first].name);
    at::Tensor held = program.stacked(i) ? given : given.select(0, 0);
    if (each.trainable) held.requires_grad_();
    parameters.push_back(std::move(held));
  }
  std::vector<Value> inputs;
  for (const at::Tensor& each : feed.inputs) inputs.push_back(Shared(each));
  std::vector<CounterDraws::Trial> keys;
  for (const std::uint64_t seed : feed.seeds) keys.push_back({.seed = seed, .step = 0});
  const CounterDraws draws(keys);
  SLUICE_ASSIGN(
      const Outcome outcome,
      program.Run({.trials = trials, .parameters = parameters, .inputs = inputs, .draws = &draws}));
  const at::Tensor sum = Measure(outcome.outputs, trials);
  if (sum.requires_grad()) sum.backward();

  ResultsFile results(results_path);
  for (const Value& each : outcome.outputs) results.Tensor("output", At(each, 0, trials));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!graph.parameters[i].tied_to && parameters[i].grad().defined())
      results.Tensor("gradient " + graph.parameters[i].name, parameters[i].grad());
  }
  for (const auto& [place, tensor] : outcome.written)
    results.Tensor("written " + graph.parameters[place].name, tensor);
  for (const Fallback& each : program.fallbacks())
    results.Line(fmt::format("fallback {} {} {}", graph.nodes[model::Index(each.node)].name,
                             each.op, each.why));
  for (const model::NodeId node : outcome.looped)
    results.Line(fmt::format("looped {} {}", graph.nodes[model::Index(node)].name,
                             graph.nodes[model::Index(node)].op));
  return {};
}

Status PrintExamplesCheck(const std::string& archive) {
  SLUICE_ASSIGN(const ExamplesCheck check, CheckExamples(archive));
  fmt::print("{}\n{}\n", ComparisonText(check.training), ComparisonText(check.evaluation));
  for (const ComparedOutput& each : check.outputs)
    fmt::print("{} {} {}\n", each.name, each.difference, each.bound);
  return {};
}

int StatusOf(const Status& status) {
  if (!status) std::cerr << status.error().message << "\n";
  return status ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  at::set_num_threads(1);
  if (count == 3 && std::string_view(words[1]) == "--examples")
    return StatusOf(PrintExamplesCheck(words[2]));
  if (count != 4) {
    std::cerr << "usage: train-driver ARCHIVE FEED RESULTS | --examples ARCHIVE\n";
    return 2;
  }
  return StatusOf(Drive(words[1], ReadFeed(words[2]), words[3]));
}
