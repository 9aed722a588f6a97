#pragma once

#include "base/result.h"
#include "model/zoo/builder.h"
#include "model/zoo/zoo_options.h"

namespace sluice::model {

// The networks of the zoo, by the source that builds them; zoo.cc has their names.

// zoo_plain.cc
Result<BuiltModel> BuildMlp(const ZooOptions& options);
Result<BuiltModel> BuildLenet(const ZooOptions& options);
Result<BuiltModel> BuildVgg11(const ZooOptions& options);
Result<BuiltModel> BuildDcganGenerator(const ZooOptions& options);
Result<BuiltModel> BuildDcganDiscriminator(const ZooOptions& options);

// zoo_resnet.cc
Result<BuiltModel> BuildResnet18(const ZooOptions& options);
Result<BuiltModel> BuildResnet34(const ZooOptions& options);
Result<BuiltModel> BuildResnet50(const ZooOptions& options);
Result<BuiltModel> BuildWideResnet50(const ZooOptions& options);

// zoo_mobilenet.cc
Result<BuiltModel> BuildMobilenetV3(const ZooOptions& options);

// zoo_shufflenet.cc
Result<BuiltModel> BuildShufflenetV2(const ZooOptions& options);

// zoo_vit.cc
Result<BuiltModel> BuildVit(const ZooOptions& options);

// zoo_language.cc
Result<BuiltModel> BuildLstmLm(const ZooOptions& options);
Result<BuiltModel> BuildTransformerLm(const ZooOptions& options);
Result<BuiltModel> BuildGpt(const ZooOptions& options);
Result<BuiltModel> BuildBert(const ZooOptions& options);

// zoo_pythia.cc
Result<BuiltModel> BuildPythia(const ZooOptions& options);

}  // namespace sluice::model
