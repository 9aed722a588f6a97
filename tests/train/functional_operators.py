"""Lists the operators of PyTorch that the trainer may call: src/train/functional_names.cc.

    python tests/train/functional_operators.py > src/train/functional_names.cc

An operator is in the list if all it takes and returns are tensors, numbers, texts and devices, if
it writes nothing, and if its name does not tell that it is for storages, files, random numbers,
other layouts or inner use.
"""

import re

import torch

TYPES = {
    *(f"{shape}[{kind}]" for shape in ("Optional", "List") for kind in
      ("Tensor", "int", "float", "bool", "number", "str", "Device")),
    "Tensor", "int", "float", "bool", "number", "str", "Device",
    "List[Optional[Tensor]]", "Optional[List[int]]", "Optional[List[float]]",
}
INNER = {
    "_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "_log_softmax", "_reshape_alias", "_softmax",
    "_to_copy", "lift_fresh_copy", "_unsafe_view", "_weight_norm", "__and__", "__or__", "__xor__",
}
# Of layouts, of devices, of training on several machines, and what reads lengths from tensors.
OTHERS = re.compile(
    r".*(backward|quantize|sparse|mkldnn|cudnn|miopen|nested|storage|_copy|fbgemm|fake_quant|fused"
    r"|pin_memory|padded|names|_overrideable|strided|resize|jvp).*"
    r"|(set|from_file|item|data|tensor|as_tensor|cpu|cuda|record_stream|lift"
    r"|(un)?flatten_dense_tensors|coalesce|values|(c?col_|crow_|row_)?indices|to_dense"
    r"|embedding_renorm"
    r"|h?s?smm|hspmm|sspaddmm|thnn_.*|slow_.*|hash_tensor|retain.*|requires_grad"
    # They trust that sizes fit, as their callers have checked.
    r"|batch_norm_.*|native_batch_norm"
    r"|is_.*|sym_.*|choose_.*|int_repr|q_.*|segment_reduce|special_.*|range|slice_inverse|sorted)$")
# Trials draw from numbers of their own (rules/random.cc).
RANDOM = re.compile(
    r".*(rand|normal|bernoulli|dropout|multinomial|poisson$|rrelu|binomial|fractional)")
DRAWN = {
    "alpha_dropout", "bernoulli", "cauchy", "dropout", "exponential", "feature_alpha_dropout",
    "feature_dropout", "geometric", "log_normal", "normal_functional", "rand", "rand_like", "randn",
    "randn_like", "random", "rrelu", "uniform",
}
# What asks for memory that is not written is given zeros (preparation.cc).
EMPTY = {"empty", "empty_like", "new_empty"}


def functional(schema):
    name = schema.name.removeprefix("aten::")
    if not schema.name.startswith("aten::") or not hasattr(torch.ops.aten, name):
        return False
    overloads = getattr(torch.ops.aten, name).overloads()
    if schema.overload_name and schema.overload_name not in overloads:
        return False
    if any(each.alias_info and each.alias_info.is_write for each in schema.arguments):
        return False
    if name in DRAWN:
        return True
    if not all(str(each.type).replace("SymInt", "int") in TYPES for each in schema.arguments):
        return False
    if not schema.returns or any(str(each.type) not in ("Tensor", "List[Tensor]")
                                 for each in schema.returns):
        return False
    if name in INNER | EMPTY:
        return True
    if name.startswith("_") or (name.endswith("_") and not name.endswith("__")):
        return False
    return not OTHERS.fullmatch(name) and not RANDOM.match(name) and not name.startswith("empty")


def main():
    names = sorted({schema.name.removeprefix("aten::")
                    for schema in torch._C._jit_get_all_schemas() if functional(schema)})
    version = torch.__version__.split("+")[0]
    print("// Made by tests/train/functional_operators.py of PyTorch", version)
    print('#include "train/functional.h"\n\nnamespace sluice::train {\n')
    print("const std::string_view kFunctionalNames[] = {\n    // clang-format off")
    line = "   "
    for name in names:
        if len(line) + len(name) + 4 > 100:
            print(line)
            line = "   "
        line += f' "{name}",'
    print(line)
    print("    // clang-format on\n};")
    print("const std::size_t kFunctionalCount = std::size(kFunctionalNames);")
    print("\n}  // namespace sluice::train")


if __name__ == "__main__":
    main()
