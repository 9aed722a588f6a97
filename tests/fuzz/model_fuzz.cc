// rooms: model

// Any bytes at all are an archive or are refused with a message, and so are the texts of a program.
// What is taken can be looked at and shrunk. Never a crash, a hang or much memory.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "model/analyse/law.h"
#include "model/read/archive.h"
#include "model/read/program_reader.h"
#include "model/shrink/shrink.h"
#include "model/shrink/widths.h"

namespace {

using namespace sluice;

constexpr std::size_t kMostElements = 1 << 16;

void CheckRefusal(const Error& error) {
  if (error.message.empty()) std::abort();
  if (error.code != ErrorCode::kInvalidArgument && error.code != ErrorCode::kCorruption)
    std::abort();
}

void TryGraph(const model::Graph& graph) {
  if (const Status checked = model::CheckShapes(graph); !checked) CheckRefusal(checked.error());
  const auto widths = model::Widths::Find(graph);
  if (!widths) return CheckRefusal(widths.error());
  const auto narrow = model::Shrink(graph, *widths, {.scale = 8});
  if (!narrow) return CheckRefusal(narrow.error());
  if (narrow->sizes.size() != widths->classes().size()) std::abort();
}

void TryArchive(std::string_view bytes) {
  const auto archive = model::Archive::Open(FromMemory(std::string(bytes)), "it.pt2");
  if (!archive) {
    CheckRefusal(archive.error());
    if (!archive.error().message.starts_with("it.pt2: ")) std::abort();
    return;
  }
  if (const auto laws = model::MeasureLaws(*archive); !laws) CheckRefusal(laws.error());
  for (const model::Parameter& parameter : archive->graph().parameters) {
    if (!archive->HasTensor(parameter)) continue;
    const auto read = archive->ReadTensor(parameter, kMostElements);
    if (!read) CheckRefusal(read.error());
  }
  TryGraph(archive->graph());
}

// Checksums keep changes to a text from being seen in an archive: here the texts follow each other.
void TryTexts(std::string_view texts) {
  constexpr std::string_view kBetween = "\n====\n";
  const auto next = [&] {
    const std::size_t end = texts.find(kBetween);
    const std::string_view text = texts.substr(0, end);
    texts.remove_prefix(end == std::string_view::npos ? texts.size() : end + kBetween.size());
    return text;
  };
  const std::string_view program = next();
  const std::string_view weights = next();
  const std::string_view constants = next();
  const auto graph = model::ReadProgram(program, weights, constants);
  if (!graph) return CheckRefusal(graph.error());
  TryGraph(*graph);
}

// Where the numbers of JSON texts stand, or what is between quotes.
std::vector<std::string_view> TokensOf(std::string_view json, bool numbers) {
  constexpr std::string_view kDigits = "-0123456789";
  std::vector<std::string_view> tokens;
  for (std::size_t at = 0; at < json.size();) {
    std::size_t end = at + 1;
    if (json[at] == '"') {
      end = std::min(json.find('"', at + 1), json.size());
      if (!numbers) tokens.push_back(json.substr(at + 1, end - at - 1));
      ++end;
    } else if (kDigits.find(json[at]) != std::string_view::npos) {
      end = std::min(json.find_first_not_of(kDigits, at), json.size());
      if (numbers) tokens.push_back(json.substr(at, end - at));
    }
    at = end;
  }
  return tokens;
}

std::string OtherNumber(Random& random, std::string_view number) {
  static constexpr std::int64_t kOften[] = {
      0, 1, -1, 2, 3, 4, 7, 8, 16, 64, 1009, 1LL << 31, 1LL << 32, 1LL << 40, INT64_MAX, INT64_MIN};
  const std::uint64_t choice = random.Below(std::size(kOften) + 4);
  if (choice < std::size(kOften)) return std::to_string(kOften[choice]);
  const std::int64_t old = std::atoi(std::string(number.substr(0, 9)).c_str());
  if (choice % 4 == 0) return std::to_string(old + 1);
  if (choice % 4 == 1) return std::to_string(old - 1);
  return std::to_string(old * static_cast<std::int64_t>(2 + random.Below(3)));
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

// Most changes to single bytes of a text leave no JSON. So three times in four a number becomes
// another number, or a name becomes another name of the text.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned int seed) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  Random random(seed);
  const bool numbers = random.Below(2) == 0;
  std::vector<std::string_view> tokens;
  if (input.starts_with('{') && random.Below(4) != 0) tokens = TokensOf(input, numbers);
  if (tokens.empty()) return LLVMFuzzerMutate(data, size, max_size);
  const std::string_view old = tokens[random.Below(tokens.size())];
  const std::string other =
      numbers ? OtherNumber(random, old) : std::string(tokens[random.Below(tokens.size())]);
  std::string changed(input.substr(0, static_cast<std::size_t>(old.data() - input.data())));
  changed += other;
  changed += std::string_view(old.data() + old.size(), input.data() + input.size());
  changed.resize(std::min(changed.size(), max_size));
  std::ranges::copy(changed, reinterpret_cast<char*>(data));
  return changed.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.starts_with('{')) {
    TryTexts(input);
  } else {
    TryArchive(input);
  }
  return 0;
}
