// train_overhead [ROUNDS]: how long a node of a network takes beside a direct call of the operators
// that it comes to. Chains of kCalls calls on tensors of 8 elements run in turns, once by a Program
// and once as C++ that calls ATen. Printed are the medians, per call of the direct chain, and the
// median of the ratios of two neighbours in time: what else the machine does slows both. Printed
// twice: without gradients, and with the graph that autograd records.

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "train/program.h"
#include "train/test_graph.h"

namespace {

using namespace sluice;
using namespace sluice::train;
using Given = GraphMaker::Given;

constexpr std::int64_t kTrials = 2;
constexpr int kCalls = 32;  // of ATen in a chain: few enough that most rounds are not interrupted

// What the chains are made of. Of two trials, whose dimension is in front: x and row have the sizes
// [1, 4] in each, matrix [4, 4], and vector [4].
struct Tensors {
  at::Tensor row, matrix, vector;
};
struct Values {
  GraphMaker& maker;
  model::ValueId row, matrix, vector;

  model::ValueId Call(const std::string& op, std::vector<Given> given) const {
    return maker.Call("aten." + op, given);
  }
};
Given Sized(std::vector<std::int64_t> numbers) {
  std::vector<model::IntegerOrValue> list;
  for (const std::int64_t each : numbers) list.push_back({.number = each, .value = {}});
  return list;
}
Given Whole(std::int64_t number) { return number; }

struct Row {
  std::string name;
  int calls;  // of ATen, in a link of the direct chain
  std::function<model::ValueId(const Values&, model::ValueId)> node;
  at::Tensor (*direct)(const at::Tensor& x, const Tensors& with);
};

const std::vector<Row>& Rows() {
  static const auto& rows = *new std::vector<Row>{
      {"relu", 1, [](const Values& v, model::ValueId x) { return v.Call("relu.default", {x}); },
       [](const at::Tensor& x, const Tensors&) { return at::relu(x); }},
      {"sqrt of square", 2,
       [](const Values& v, model::ValueId x) {
         return v.Call("sqrt.default", {v.Call("square.default", {x})});
       },
       [](const at::Tensor& x, const Tensors&) { return at::sqrt(at::square(x)); }},
      {"gelu", 1, [](const Values& v, model::ValueId x) { return v.Call("gelu.default", {x}); },
       [](const at::Tensor& x, const Tensors&) { return at::gelu(x); }},
      {"add a tensor", 1,
       [](const Values& v, model::ValueId x) { return v.Call("add.Tensor", {x, v.row}); },
       [](const at::Tensor& x, const Tensors& with) { return at::add(x, with.row); }},
      {"maximum", 1,
       [](const Values& v, model::ValueId x) { return v.Call("maximum.default", {x, v.row}); },
       [](const at::Tensor& x, const Tensors& with) { return at::maximum(x, with.row); }},
      {"multiply by a number", 1,
       [](const Values& v, model::ValueId x) { return v.Call("mul.Tensor", {x, 0.5}); },
       [](const at::Tensor& x, const Tensors&) { return at::mul(x, 0.5); }},
      {"square by pow", 1,
       [](const Values& v, model::ValueId x) { return v.Call("pow.Tensor_Scalar", {x, Whole(2)}); },
       [](const at::Tensor& x, const Tensors&) { return at::pow(x, 2); }},
      {"clamp", 1,
       [](const Values& v, model::ValueId x) { return v.Call("clamp.default", {x, -1.0, 1.0}); },
       [](const at::Tensor& x, const Tensors&) { return at::clamp(x, -1.0, 1.0); }},
      {"linear", 3,
       [](const Values& v, model::ValueId x) {
         return v.Call("linear.default", {x, v.matrix, v.vector});
       },
       [](const at::Tensor& x, const Tensors& with) {
         return at::baddbmm(with.vector.unsqueeze(1), x, with.matrix.transpose(1, 2));
       }},
      {"matmul", 1,
       [](const Values& v, model::ValueId x) { return v.Call("matmul.default", {x, v.matrix}); },
       [](const at::Tensor& x, const Tensors& with) { return at::bmm(x, with.matrix); }},
      {"softmax", 1,
       [](const Values& v, model::ValueId x) { return v.Call("softmax.int", {x, Whole(-1)}); },
       [](const at::Tensor& x, const Tensors&) { return at::softmax(x, 2); }},
      {"layer_norm", 4,
       [](const Values& v, model::ValueId x) {
         return v.Call("layer_norm.default", {x, Sized({4}), v.vector, v.vector});
       },
       [](const at::Tensor& x, const Tensors& with) {
         return at::addcmul(with.vector.unsqueeze(1), at::layer_norm(x, {4}),
                            with.vector.unsqueeze(1));
       }},
      {"view twice", 2,
       [](const Values& v, model::ValueId x) {
         return v.Call("view.default", {v.Call("view.default", {x, Sized({2, 2})}), Sized({1, 4})});
       },
       [](const at::Tensor& x, const Tensors&) { return x.view({2, 2, 2}).view({2, 1, 4}); }},
      {"transpose", 1,
       [](const Values& v, model::ValueId x) {
         return v.Call("transpose.int", {x, Whole(0), Whole(1)});
       },
       [](const at::Tensor& x, const Tensors&) { return at::transpose(x, 1, 2); }},
      {"less the mean", 2,
       [](const Values& v, model::ValueId x) {
         return v.Call("sub.Tensor", {x, v.Call("mean.dim", {x, Sized({-1}), true})});
       },
       [](const at::Tensor& x, const Tensors&) { return at::sub(x, at::mean(x, {2}, true)); }},
      {"halves in turn", 2,
       [](const Values& v, model::ValueId x) {
         const auto halves =
             v.maker.CallMany("aten.chunk.default", {x, Whole(2), Whole(1)}, 2, true);
         return v.Call(
             "cat.default",
             {std::vector<std::optional<model::ValueId>>{halves[1], halves[0]}, Whole(1)});
       },
       [](const at::Tensor& x, const Tensors&) {
         const auto halves = at::chunk(x, 2, 2);
         return at::cat({halves[1], halves[0]}, 2);
       }},
      {"a block of a network", 11,
       [](const Values& v, model::ValueId x) {
         auto y = v.Call("layer_norm.default", {x, Sized({4}), v.vector, v.vector});
         y = v.Call("linear.default", {y, v.matrix, v.vector});
         y = v.Call("gelu.default", {y});
         y = v.Call("mul.Tensor", {y, 0.5});
         y = v.Call("add.Tensor", {y, x});
         return v.Call("softmax.int", {y, Whole(-1)});
       },
       [](const at::Tensor& x, const Tensors& with) {
         at::Tensor y = at::addcmul(with.vector.unsqueeze(1), at::layer_norm(x, {4}),
                                    with.vector.unsqueeze(1));
         y = at::baddbmm(with.vector.unsqueeze(1), y, with.matrix.transpose(1, 2));
         return at::softmax(at::add(at::mul(at::gelu(y), 0.5), x), 2);
       }},
  };
  return rows;
}

double Median(std::vector<double> numbers) {
  std::ranges::nth_element(numbers,
                           numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2));
  return numbers[numbers.size() / 2];
}

template <typename Work>
double Nanoseconds(Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

struct Timed {
  double direct = 0;   // nanoseconds of a call
  double program = 0;  // of the same call, by a program
  double ratio = 0;
};

Timed Measure(const Row& row, int rounds, bool gradients) {
  const bool before = at::GradMode::is_enabled();
  at::GradMode::set_enabled(gradients);
  GraphMaker maker;
  auto y = maker.Parameter("x");
  const Values values{maker, maker.Parameter("row"), maker.Parameter("matrix"),
                      maker.Parameter("vector")};
  const int links = std::max(1, kCalls / row.calls);
  for (int i = 0; i < links; ++i) y = row.node(values, y);
  const auto program = Program::Prepare(maker.Finish({y}));
  if (!program) {
    fmt::print(stderr, "{}: {}\n", row.name, program.error().message);
    std::exit(1);
  }
  std::vector<at::Tensor> held = {at::rand({kTrials, 1, 4}), at::rand({kTrials, 1, 4}),
                                  at::rand({kTrials, 4, 4}), at::rand({kTrials, 4})};
  for (at::Tensor& each : held) each.requires_grad_();
  const Tensors with{held[1], held[2], held[3]};
  const auto direct = [&] {
    at::Tensor at_hand = held[0];
    for (int i = 0; i < links; ++i) at_hand = row.direct(at_hand, with);
    return at_hand;
  };
  const auto run = [&] {
    auto outcome = program->Run({.trials = kTrials, .parameters = held, .inputs = {}});
    if (!outcome) {
      fmt::print(stderr, "{}\n", outcome.error().message);
      std::exit(1);
    }
    return std::move(outcome->outputs[0].tensor);
  };
  if (!at::allclose(direct(), run())) {
    fmt::print(stderr, "{}: the program and the direct chain differ\n", row.name);
    std::exit(1);
  }
  std::vector<double> theirs, ours, ratios;
  for (int round = 0; round < rounds; ++round) {
    theirs.push_back(Nanoseconds([&] { direct(); }));
    ours.push_back(Nanoseconds([&] { run(); }));
    ratios.push_back(ours.back() / theirs.back());
  }
  at::GradMode::set_enabled(before);
  const double calls = static_cast<double>(links * row.calls);
  return {Median(theirs) / calls, Median(ours) / calls, Median(ratios)};
}

}  // namespace

int main(int count, char** words) {
  at::set_num_threads(1);
  at::manual_seed(1);
  const int rounds = count > 1 ? std::atoi(words[1]) : 1001;
  for (const bool gradients : {false, true}) {
    fmt::print("\n{} gradients\n\n| nodes | direct, ns a call | program, ns a call | ratio |\n",
               gradients ? "With" : "Without");
    fmt::print("|---|---:|---:|---:|\n");
    double worst = 0;
    double all = 0;
    for (const Row& row : Rows()) {
      const Timed timed = Measure(row, rounds, gradients);
      worst = std::max(worst, timed.ratio);
      all += std::log(timed.ratio);
      fmt::print("| {} | {:.0f} | {:.0f} | {:.2f} |\n", row.name, timed.direct, timed.program,
                 timed.ratio);
    }
    fmt::print("\nmean ratio {:.2f}, largest {:.2f}\n",
               std::exp(all / static_cast<double>(Rows().size())), worst);
  }
}
