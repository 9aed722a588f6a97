#include "model/zoo/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "model/analyse/inference.h"

namespace sluice::model {
namespace {

constexpr std::int64_t kExampleBatch = 2;
constexpr std::int64_t kMostBatch = 65536;

}  // namespace

IntegerOrValue Known(std::int64_t size) { return {.number = size}; }

IntegerOrValue BatchOf(Builder& builder, ValueId tensor) {
  return {.number = 0, .value = builder.SizeOf(tensor, 0)};
}

Argument Arg(std::string_view name, ValueId value) {
  return {.name = std::string(name), .value = value};
}
Argument Arg(std::string_view name, std::int64_t number) {
  return {.name = std::string(name), .value = number};
}
Argument Arg(std::string_view name, double number) {
  return {.name = std::string(name), .value = number};
}
Argument Arg(std::string_view name, bool flag) {
  return {.name = std::string(name), .value = flag};
}
Argument Ints(std::string_view name, const std::vector<std::int64_t>& numbers) {
  std::vector<IntegerOrValue> list;
  for (const std::int64_t number : numbers)
    list.push_back({.number = number, .value = std::nullopt});
  return Sizes(name, std::move(list));
}
Argument Sizes(std::string_view name, std::vector<IntegerOrValue> sizes) {
  return {.name = std::string(name), .value = std::move(sizes)};
}
Argument Tensors(std::string_view name, const std::vector<ValueId>& values) {
  return {.name = std::string(name),
          .value = std::vector<std::optional<ValueId>>(values.begin(), values.end())};
}

Builder::Scope::Scope(Builder& builder, std::string_view name)
    : builder_(builder), before_(builder.scope_.size()) {
  if (!builder_.scope_.empty()) builder_.scope_ += '.';
  builder_.scope_ += name;
}
Builder::Scope::~Scope() { builder_.scope_.resize(before_); }

std::string Builder::Full(std::string_view name) const {
  return scope_.empty() ? std::string(name) : fmt::format("{}.{}", scope_, name);
}

ValueId Builder::AddValue(std::string name, DType dtype, Value::Kind kind) {
  made_.graph.values.push_back(
      {.name = std::move(name), .kind = kind, .dtype = dtype, .sizes = {}});
  return ValueId{static_cast<std::uint32_t>(made_.graph.values.size() - 1)};
}

ValueId Builder::Input(std::string_view name, const std::vector<std::int64_t>& others,
                       DType dtype) {
  if (made_.graph.symbols.empty()) {
    made_.graph.symbols.push_back(
        {.name = "batch", .least = 1, .most = kMostBatch, .example = kExampleBatch});
  }
  const ValueId id = AddValue(std::string(name), dtype);
  std::vector<Size>& sizes = made_.graph.values.back().sizes;
  sizes.push_back({.number = kExampleBatch, .symbol = "batch"});
  for (const std::int64_t size : others) sizes.push_back({.number = size, .symbol = {}});
  made_.graph.inputs.push_back(id);
  return id;
}

ValueId Builder::AddParameter(std::string_view name, std::vector<std::int64_t> sizes,
                              const Law& law, Parameter::Role role, DType dtype) {
  const ValueId id = AddValue(Full(name), dtype);
  for (const std::int64_t size : sizes)
    made_.graph.values.back().sizes.push_back({.number = size, .symbol = {}});
  made_.graph.parameters.push_back({.name = Full(name),
                                    .role = role,
                                    .value = id,
                                    .sizes = std::move(sizes),
                                    .trainable = role == Parameter::Role::kParameter,
                                    .tied_to = std::nullopt,
                                    .storage = {}});
  made_.laws.push_back(law);
  return id;
}

ValueId Builder::Weight(std::string_view name, std::vector<std::int64_t> sizes,
                        std::int64_t fan_in) {
  const Law law{.kind = Law::Kind::kNormal,
                .mean = 0,
                .deviation = 1 / std::sqrt(static_cast<double>(fan_in))};
  return AddParameter(name, std::move(sizes), law, Parameter::Role::kParameter, DType::kFloat32);
}

ValueId Builder::Constant(std::string_view name, std::vector<std::int64_t> sizes, double value) {
  const Law law{.kind = Law::Kind::kConstant, .mean = value, .deviation = 0};
  return AddParameter(name, std::move(sizes), law, Parameter::Role::kParameter, DType::kFloat32);
}

ValueId Builder::Tied(std::string_view name, ValueId parameter) {
  std::uint32_t of = 0;
  while (made_.graph.parameters[of].value != parameter) ++of;
  const Parameter& other = made_.graph.parameters[of];
  const Law law = made_.laws[of];
  const ValueId id =
      AddParameter(name, other.sizes, law, Parameter::Role::kParameter, DType::kFloat32);
  made_.graph.parameters.back().tied_to = of;
  return id;
}

ValueId Builder::Buffer(std::string_view name, std::vector<std::int64_t> sizes, const Law& law,
                        DType dtype, bool persistent) {
  const ValueId id = AddParameter(name, std::move(sizes), law, Parameter::Role::kBuffer, dtype);
  made_.graph.parameters.back().persistent = persistent;
  return id;
}

ValueId Builder::Call(std::string_view op, std::vector<Argument> arguments, DType dtype) {
  const ValueId out = CallForMany(op, std::move(arguments), 1, false).front();
  made_.graph.values[Index(out)].dtype = dtype;
  return out;
}

std::vector<ValueId> Builder::CallForMany(std::string_view op, std::vector<Argument> arguments,
                                          std::size_t outputs, bool returns_list) {
  const std::size_t begin = op.find('.') + 1;
  const std::string_view base = op.substr(begin, op.find('.', begin) - begin);
  const std::size_t number = made_.graph.nodes.size();
  Node node{.name = fmt::format("{}_{}", base, number),
            .op = std::string(op),
            .label = scope_,
            .arguments = std::move(arguments),
            .outputs = {},
            .returns_list = returns_list,
            .region = std::nullopt};
  std::vector<ValueId> made;
  for (std::size_t i = 0; i < outputs; ++i) {
    made.push_back(
        AddValue(outputs == 1 ? node.name : fmt::format("{}_{}", node.name, i), DType::kFloat32));
    node.outputs.emplace_back(made.back());
  }
  made_.graph.nodes.push_back(std::move(node));
  return made;
}

ValueId Builder::SizeOf(ValueId tensor, std::int64_t axis) {
  const ValueId out =
      Call("aten.sym_size.int", {Arg("self", tensor), Arg("dim", axis)}, DType::kInt64);
  made_.graph.values[Index(out)].kind = Value::Kind::kInteger;
  return out;
}

Result<BuiltModel> Builder::Finish(std::vector<ValueId> outputs) && {
  Graph& graph = made_.graph;
  graph.outputs = std::move(outputs);
  SLUICE_ASSIGN(const Inference inference, Inference::Run(graph));
  SLUICE_ASSIGN(const Inference other, Inference::Run(graph, {{"batch", kExampleBatch + 1}}));
  for (const Node& node : graph.nodes) {
    for (const auto& output : node.outputs) {
      if (!output || graph.value(*output).kind != Value::Kind::kTensor) continue;
      const std::vector<std::int64_t> sizes = inference.SizesOf(*output);
      const std::vector<std::int64_t> others = other.SizesOf(*output);
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::int64_t times = others[i] - sizes[i];
        const std::string symbol = times == 0   ? ""
                                   : times == 1 ? "batch"
                                                : fmt::format("{}*batch", times);
        graph.values[Index(*output)].sizes.push_back({.number = sizes[i], .symbol = symbol});
      }
    }
  }
  return std::move(made_);
}

ValueId Builder::Linear(std::string_view name, ValueId x, std::int64_t in, std::int64_t out,
                        bool bias) {
  const Scope scope(*this, name);
  std::vector<Argument> arguments = {Arg("input", x),
                                     Arg("weight", Weight("weight", {out, in}, in))};
  if (bias) arguments.push_back(Arg("bias", Constant("bias", {out}, 0)));
  return Call("aten.linear.default", std::move(arguments));
}

ValueId Builder::Conv2d(std::string_view name, ValueId x, const Convolution& about) {
  const Scope scope(*this, name);
  const std::int64_t in = about.in / about.groups;
  const std::int64_t k = about.kernel;
  std::vector<Argument> arguments = {
      Arg("input", x), Arg("weight", Weight("weight", {about.out, in, k, k}, in * k * k))};
  if (about.bias) {
    arguments.push_back(Arg("bias", Constant("bias", {about.out}, 0)));
  } else {
    arguments.push_back({.name = "bias", .value = std::monostate()});
  }
  arguments.push_back(Ints("stride", {about.stride, about.stride}));
  arguments.push_back(Ints("padding", {about.padding, about.padding}));
  arguments.push_back(Ints("dilation", {1, 1}));
  arguments.push_back(Arg("groups", about.groups));
  return Call("aten.conv2d.default", std::move(arguments));
}

ValueId Builder::ConvTranspose2d(std::string_view name, ValueId x, const Convolution& about) {
  const Scope scope(*this, name);
  const std::int64_t k = about.kernel;
  // Each output pixel uses only 1 / (stride * stride) of the kernel's weights, for each input
  // channel.
  const std::int64_t fan_in =
      std::max<std::int64_t>(about.in * k * k / (about.stride * about.stride), 1);
  const ValueId weight = Weight("weight", {about.in, about.out, k, k}, fan_in);
  return Call("aten.conv_transpose2d.input", {Arg("input", x),
                                              Arg("weight", weight),
                                              {.name = "bias", .value = std::monostate()},
                                              Ints("stride", {about.stride, about.stride}),
                                              Ints("padding", {about.padding, about.padding})});
}

ValueId Builder::BatchNorm(std::string_view name, ValueId x, std::int64_t channels, double eps,
                           double momentum) {
  const Scope scope(*this, name);
  const auto constant = [](double value) {
    return Law{.kind = Law::Kind::kConstant, .mean = value, .deviation = 0};
  };
  const ValueId weight = Constant("weight", {channels}, 1);
  const ValueId bias = Constant("bias", {channels}, 0);
  const ValueId mean = Buffer("running_mean", {channels}, constant(0));
  const ValueId variance = Buffer("running_var", {channels}, constant(1));
  const ValueId count = Buffer("num_batches_tracked", {}, constant(0), DType::kInt64);
  Call("aten.add_.Tensor", {Arg("self", count), Arg("other", std::int64_t{1})}, DType::kInt64);
  return Call("aten.batch_norm.default",
              {Arg("input", x), Arg("weight", weight), Arg("bias", bias), Arg("running_mean", mean),
               Arg("running_var", variance), Arg("training", true), Arg("momentum", momentum),
               Arg("eps", eps), Arg("cudnn_enabled", true)});
}

ValueId Builder::LayerNorm(std::string_view name, ValueId x, std::int64_t width, double eps) {
  const Scope scope(*this, name);
  const ValueId weight = Constant("weight", {width}, 1);
  const ValueId bias = Constant("bias", {width}, 0);
  return Call("aten.layer_norm.default",
              {Arg("input", x), Ints("normalized_shape", {width}), Arg("weight", weight),
               Arg("bias", bias), Arg("eps", eps)});
}

ValueId Builder::Embedding(std::string_view name, ValueId indices, const Table& about) {
  const Scope scope(*this, name);
  const ValueId weight = Weight("weight", {about.rows, about.width}, about.fan_in);
  std::vector<Argument> arguments = {Arg("weight", weight), Arg("indices", indices)};
  if (about.untrained_row >= 0) arguments.push_back(Arg("padding_idx", about.untrained_row));
  return Call("aten.embedding.default", std::move(arguments));
}

ValueId Builder::Dropout(ValueId x, double p) {
  if (p == 0) return x;
  return Call("aten.dropout.default", {Arg("input", x), Arg("p", p), Arg("train", true)});
}

ValueId Builder::Elementwise(std::string_view op, ValueId x) { return Call(op, {Arg("self", x)}); }

ValueId Builder::Add(ValueId a, ValueId b) {
  return Call("aten.add.Tensor", {Arg("self", a), Arg("other", b)});
}

ValueId Builder::Multiply(ValueId a, ValueId b) {
  return Call("aten.mul.Tensor", {Arg("self", a), Arg("other", b)});
}

ValueId Builder::Transpose(ValueId x, std::int64_t a, std::int64_t b) {
  return Call("aten.transpose.int", {Arg("self", x), Arg("dim0", a), Arg("dim1", b)});
}

ValueId Builder::View(ValueId x, std::vector<IntegerOrValue> sizes) {
  return Call("aten.reshape.default", {Arg("self", x), Sizes("shape", std::move(sizes))});
}

ValueId Builder::Flatten(ValueId x, std::int64_t start, std::int64_t end) {
  return Call("aten.flatten.using_ints",
              {Arg("self", x), Arg("start_dim", start), Arg("end_dim", end)});
}

ValueId Builder::MaxPool(ValueId x, std::int64_t kernel, std::int64_t stride,
                         std::int64_t padding) {
  return Call("aten.max_pool2d.default",
              {Arg("self", x), Ints("kernel_size", {kernel, kernel}),
               Ints("stride", {stride, stride}), Ints("padding", {padding, padding})});
}

ValueId Builder::AveragePool(ValueId x, std::int64_t size) {
  return Call("aten.adaptive_avg_pool2d.default",
              {Arg("self", x), Ints("output_size", {size, size})});
}

ValueId Builder::Cat(const std::vector<ValueId>& parts, std::int64_t axis) {
  return Call("aten.cat.default", {Tensors("tensors", parts), Arg("dim", axis)});
}

ValueId Builder::Attention(ValueId query, ValueId key, ValueId value, bool causal, double dropout) {
  return Call("aten.scaled_dot_product_attention.default",
              {Arg("query", query),
               Arg("key", key),
               Arg("value", value),
               {.name = "attn_mask", .value = std::monostate()},
               Arg("dropout_p", dropout),
               Arg("is_causal", causal)});
}

}  // namespace sluice::model
