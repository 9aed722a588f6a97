#include "model/zoo/zoo.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "model/zoo/zoo_networks.h"

namespace sluice::model {
namespace {

struct Network {
  ZooEntry entry;
  Result<BuiltModel> (*build)(const ZooOptions&);
};

const std::vector<Network>& Networks() {
  const std::string images = "classes=10,image=32,stem=cifar|imagenet";
  static const auto& networks = *new std::vector<Network>{
      {{"mlp", "in=784,hidden=512,layers=2,classes=10", "a multi-layer perceptron"}, BuildMlp},
      {{"lenet", "channels=1,image=28,classes=10", "LeNet-5"}, BuildLenet},
      {{"vgg11", images + ",norm=batch|none", "VGG-11, as in torchvision"}, BuildVgg11},
      {{"resnet18", images, "ResNet-18, as in torchvision"}, BuildResnet18},
      {{"resnet34", images, "ResNet-34, as in torchvision"}, BuildResnet34},
      {{"resnet50", images, "ResNet-50, as in torchvision"}, BuildResnet50},
      {{"wideresnet50", images, "Wide ResNet-50-2, as in torchvision"}, BuildWideResnet50},
      {{"mobilenetv3", images, "MobileNetV3-Large, as in torchvision"}, BuildMobilenetV3},
      {{"shufflenetv2", images, "ShuffleNetV2 1.0x, as in torchvision"}, BuildShufflenetV2},
      {{"vit-tiny", "classes=1000,image=224,patch=16,width=192,layers=12,heads=3,distilled=no|yes",
        "ViT-Tiny, as in timm"},
       BuildVit},
      {{"deit-tiny", "classes=1000,image=224,patch=16,width=192,layers=12,heads=3,distilled=yes|no",
        "DeiT-Tiny with its distillation token, as in timm"},
       BuildVit},
      {{"dcgan-generator", "latent=100,width=64,channels=3", "of DCGAN, 64x64 images"},
       BuildDcganGenerator},
      {{"dcgan-discriminator", "width=64,channels=3", "of DCGAN, 64x64 images"},
       BuildDcganDiscriminator},
      {{"lstm-lm", "vocab=10000,tokens=35,width=200,hidden=200,layers=2", "an LSTM language model"},
       BuildLstmLm},
      {{"transformer-lm", "vocab=10000,tokens=35,width=200,heads=2,hidden=200,layers=2",
        "a language model of PyTorch's encoder layers, with learned positions"},
       BuildTransformerLm},
      {{"gpt", "vocab=50257,tokens=1024,width=768,layers=12,heads=12,dropout=yes|no",
        "GPT-2, as in transformers"},
       BuildGpt},
      {{"gpt3-xl", "vocab=50257,tokens=2048,width=2048,layers=24,heads=16,dropout=no|yes",
        "GPT-3 XL"},
       BuildGpt},
      {{"pythia-14m", "vocab=50304,tokens=2048,width=128,layers=6,heads=4",
        "Pythia-14M, as in transformers"},
       BuildPythia},
      {{"pythia-31m", "vocab=50304,tokens=2048,width=256,layers=6,heads=8",
        "Pythia-31M, as in transformers"},
       BuildPythia},
      {{"bert-tiny", "vocab=30522,tokens=128,positions=512,width=128,layers=2,heads=2,classes=2",
        "BERT-Tiny for classification, as in transformers"},
       BuildBert},
  };
  return networks;
}

}  // namespace

std::span<const ZooEntry> Zoo() {
  static const auto& entries = *[] {
    auto* list = new std::vector<ZooEntry>;
    for (const Network& network : Networks()) list->push_back(network.entry);
    return list;
  }();
  return entries;
}

Result<BuiltModel> BuildFromZoo(std::string_view text) {
  const std::size_t comma = std::min(text.find(','), text.size());
  const std::string name(text.substr(0, comma));
  const auto& networks = Networks();
  const auto found =
      std::ranges::find(networks, name, [](const Network& n) { return n.entry.name; });
  if (found == networks.end()) {
    std::vector<std::string> names;
    for (const ZooEntry& entry : Zoo()) names.push_back(entry.name);
    return InvalidArgument(fmt::format("expected one of {}, found '{}'{}", Join(names), Shown(name),
                                       DidYouMean(name, names)));
  }
  text.remove_prefix(std::min(comma + 1, text.size()));
  const auto fail = [&](const Error& error) {
    return Fail(error.code, fmt::format("{}: {}", name, error.message));
  };
  const auto options = ZooOptions::Read(found->entry.options, text);
  if (!options) return fail(options.error());
  auto built = found->build(*options);
  if (!built) return fail(built.error());
  return built;
}

}  // namespace sluice::model
