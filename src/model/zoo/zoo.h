#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/zoo/builder.h"

namespace sluice::model {

// A network that this program can build. The result has the same form as a network that was read
// from an archive. Its shapes and names are those of the usual implementation in PyTorch
// (docs/models.md), so that the weights of that implementation can be loaded by name.
struct ZooEntry {
  std::string name;  // "resnet18"
  // With their defaults (the first word): "classes=10,image=32,stem=cifar|imagenet".
  std::string options;
  std::string about;
};
std::span<const ZooEntry> Zoo();

// Builds "resnet18" or "resnet18,stem=imagenet,classes=1000". Fails with invalid_argument if there
// is no such network or option, or if sizes do not fit together.
Result<BuiltModel> BuildFromZoo(std::string_view text);

}  // namespace sluice::model
