#include "model/shrink/carries_over.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace sluice::model {
namespace {

// The words of a name in lower case, with a space before and after each: " weight decay " for
// "weight_decay" and "weightDecay".
std::string WordsOf(std::string_view name) {
  std::string words = " ";
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) == 0) {
      words += ' ';
      continue;
    }
    if (std::isupper(letter) != 0 && words.back() != ' ' &&
        std::islower(static_cast<unsigned char>(words.back())) != 0)
      words += ' ';
    words += static_cast<char>(std::tolower(letter));
  }
  return words + " ";
}

constexpr std::string_view kRegularises =
    "a wide network needs another amount of it than a narrow one";
constexpr std::string_view kDepth = "only widths shrink: another depth is another network";
constexpr std::string_view kBatch = "it carries over with care: check it on the network itself";
constexpr std::string_view kWidth = "it is a width itself, and would shrink";

constexpr std::array<std::pair<std::string_view, std::string_view>, 22> kNames = {{
    {" dropout ", kRegularises},
    {" drop ", kRegularises},
    {" droppath ", kRegularises},
    {" weight decay ", kRegularises},
    {" weightdecay ", kRegularises},
    {" wd ", kRegularises},
    {" l2 ", kRegularises},
    {" label smoothing ", kRegularises},
    {" depth ", kDepth},
    {" layers ", kDepth},
    {" n layer ", kDepth},
    {" num layer ", kDepth},
    {" blocks ", kDepth},
    {" batch size ", kBatch},
    {" batchsize ", kBatch},
    {" batch ", kBatch},
    {" width ", kWidth},
    {" hidden ", kWidth},
    {" hidden size ", kWidth},
    {" channels ", kWidth},
    {" heads ", kWidth},
    {" d model ", kWidth},
}};

}  // namespace

std::string WhyItDoesNotCarryOver(std::string_view hyperparameter) {
  const std::string words = WordsOf(hyperparameter);
  const auto found = std::ranges::find_if(
      kNames, [&](const auto& each) { return words.find(each.first) != std::string::npos; });
  return found == kNames.end() ? "" : std::string(found->second);
}

}  // namespace sluice::model
