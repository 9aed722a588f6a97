#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/templates/template_text.h"
#include "recipe/fields.h"
#include "recipe/recipe.h"

namespace sluice::recipe {

// Reads the values of a recipe, and collects what is wrong with them. Without parameters, a value
// that names one is unknown, and nothing is said about it.
class SettingsReader {
 public:
  // Both must outlive the reader. `parameters`: null without parameters.
  SettingsReader(const Recipe& recipe, const TemplateValues* parameters)
      : recipe_(recipe), parameters_(parameters) {}

  // The path is that of a field, or of an item of its list or map.
  bool IsUnknown(std::string_view path) const;
  // Whether there is a value that is not unknown, be it right or wrong.
  bool Has(std::string_view path) const;

  // The value if it is known and right. A mistake is collected if it is wrong, or if it is required
  // and is not there.
  std::optional<double> Number(std::string_view path);
  std::optional<std::string> Text(std::string_view path);
  // Leaves `into` as it is unless there is a value.
  template <typename T>
  void Read(std::string_view path, T& into) {
    if (const auto number = Number(path)) into = static_cast<T>(*number);
  }
  void ReadText(std::string_view path, std::string& into) {
    if (auto text = Text(path)) into = std::move(*text);
  }

  // The paths of the items of a list or map, in the order of the list. A list is left out, as a
  // value is, if all its items name parameters that are not active in the trial.
  std::vector<std::string> Items(std::string_view path) const;

  void Refuse(std::string_view path, std::string message);
  std::vector<Mistake> TakeMistakes();

 private:
  const std::string* Find(std::string_view path) const;

  const Recipe& recipe_;
  const TemplateValues* parameters_;
  std::vector<Mistake> mistakes_;
};

// Reads all of a recipe. What is returned is right if no mistake was found and nothing is unknown.
TrialRecipe ReadSettings(const Recipe& recipe, SettingsReader& reader);

}  // namespace sluice::recipe
