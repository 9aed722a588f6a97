#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/zoo/builder.h"

namespace sluice::model {

// Networks that are built here, in the form that archives are read into. They have the shapes and
// names of their usual implementations in PyTorch (docs/models.md), so that weights of those can be
// given to them by name.
struct ZooEntry {
  std::string name;     // "resnet18"
  std::string options;  // with their defaults: "classes=10,image=32,stem=cifar|imagenet"
  std::string about;
};
std::span<const ZooEntry> Zoo();

// "resnet18" or "resnet18,stem=imagenet,classes=1000". Fails with invalid_argument if there is no
// such network or option, or if sizes do not fit together.
Result<BuiltModel> BuildFromZoo(std::string_view text);

}  // namespace sluice::model
