#include "config/flow_cures.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "config/yaml_lines.h"

namespace sluice {

std::vector<FlowCure> CuresOfFlow(std::string_view line) {
  std::vector<FlowCure> cures;
  for (const std::string_view open : {":[", ":{"}) {
    if (FindBare(line, open) == kNowhere) continue;
    cures.push_back({fmt::format("put a space after the colon: write ': {}'", open.back()),
                     ReplaceBare(line, open, fmt::format(": {}", open.back()))});
  }
  if (std::ranges::count(line, '"') >= 4 && line.contains("= \""))
    cures.push_back({"write single quotes inside double ones, as in \"o == 'a'\"", ""});
  if (line.contains(" in {"))
    cures.push_back({"write a list in brackets, and quote all: \"o in ['a', 'b']\"", ""});
  if (FindBare(line, ";") != kNowhere)
    cures.push_back({"write ',' in place of ';'", ReplaceBare(line, ";", ",")});
  for (const std::string_view equals : {" = [", " = {", "= [", "= {", "=[", "={"}) {
    if (FindBare(line, equals) == kNowhere) continue;
    cures.push_back({"write ': ' in place of '='",
                     ReplaceBare(line, equals, fmt::format(": {}", equals.back()))});
  }
  for (const std::string_view close : {"] ", "} "}) {
    const std::size_t at = FindBare(line, close);
    if (at == kNowhere) continue;
    const std::string_view rest = Trimmed(line.substr(at + 2));
    const std::string_view word = rest.substr(0, rest.find_first_of(": ,]}"));
    if (!IsKey(word)) continue;
    cures.push_back({fmt::format("put a comma before '{}'", Shown(word)),
                     fmt::format("{}, {}", line.substr(0, at + 1), rest)});
  }
  // "[python train.py {args}]"
  const std::size_t brace = FindBare(line, " {");
  const std::size_t list = FindBare(line, "[");
  if (list != kNowhere && brace != kNowhere && brace > list && line[brace - 1] != ',' &&
      line[brace - 1] != ':' && line[brace - 1] != '[')
    cures.push_back({"quote texts that hold braces, as in [\"{lr}\"]", ""});
  if (line.contains("${")) {  // "[${env}, python]"
    std::string quoted;
    for (std::string_view rest = line; !rest.empty();) {
      const std::size_t end = rest.starts_with("${") ? rest.find('}') : kNowhere;
      const std::size_t length = end == kNowhere ? 1 : end + 1;
      quoted += end == kNowhere ? std::string(rest.substr(0, 1))
                                : fmt::format("\"{}\"", rest.substr(0, length));
      rest.remove_prefix(length);
    }
    cures.push_back({fmt::format("write '{}'", Trimmed(quoted)), quoted});
  }
  // "{int: [1, 4]" and "[1, 4"
  for (const char* close : {"}", "]"}) {
    if (line.ends_with(',') || (*close == ']' && line.substr(line.rfind('[') + 1).contains(':')))
      continue;
    const std::string whole = fmt::format("{}{}", line, close);
    cures.push_back({fmt::format("write '{}'", Shown(Trimmed(whole))), whole});
  }
  return cures;
}

std::string ConditionOn(std::string_view line) {
  const std::size_t when = line.find("when: ");
  if (when == kNowhere) return "";
  std::string_view condition = line.substr(when + 6);
  condition = condition.substr(0, condition.rfind('}'));
  const bool plain = condition.find_first_of("[,") != kNowhere && !condition.starts_with('"') &&
                     !condition.starts_with('\'');
  return plain ? std::string(condition) : "";
}

}  // namespace sluice
