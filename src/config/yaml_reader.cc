#include "config/yaml_reader.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>
#include <utility>

#include "base/text.h"
#include "config/config.h"
#include "config/yaml_fault.h"

namespace sluice {
namespace {

// The length of the valid UTF-8 sequence at the front, or 0 if there is none.
std::size_t Utf8Length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second > 0x9F;
  const bool beyond = first == 0xF4 && second > 0x8F;
  return overlong || surrogate || beyond ? 0 : length;
}

// Whether the first word of the line is a key. Unusual blanks are an error only before a key.
// Elsewhere, for example in the text of a block scalar, they are allowed.
bool BeginsKey(std::string_view line) {
  line = FirstLine(line);
  const auto letter = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  const auto first = std::ranges::find_if(line, letter);
  const auto end = std::find_if_not(
      first, line.end(), [&](unsigned char c) { return letter(c) || c == '.' || c == '-'; });
  return end != line.end() && *end == ':' && (end + 1 == line.end() || *(end + 1) == ' ');
}

// Throws for bytes that must not reach yaml-cpp. yaml-cpp guesses UTF-16 from NULs, takes byte 4
// for the end of the file, and has messages about tabs that are hard to understand.
void CheckBytes(std::string_view text) {
  int line = 1;
  bool indenting = true;
  bool tab = false;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = Utf8Length(text.substr(i));
    if (length == 0) {
      throw Unreadable{line, "expected UTF-8, found a byte that is not; save the file as UTF-8"};
    }
    const char c = text[i];
    const auto code = static_cast<unsigned char>(c);
    if ((code < 0x20 && c != '\n' && c != '\r' && c != '\t') || code == 0x7F) {
      throw Unreadable{
          line,
          fmt::format("expected text, found the control character 0x{:02x}; remove it", code)};
    }
    if (c == '\n' || c == '\r') {
      if (c == '\n' || i + 1 == text.size() || text[i + 1] != '\n') ++line;
      indenting = true;
      tab = false;
    } else if (indenting && c == '\t') {
      tab = true;
    } else if (c != ' ') {
      if (const std::string hidden = HiddenCharacter(text.substr(i, length));
          indenting && !hidden.empty() && BeginsKey(text.substr(i))) {
        throw Unreadable{line,
                         fmt::format("expected spaces before the first word of a line, found {}, "
                                     "which is none; type the beginning of the line again",
                                     hidden)};
      }
      if (indenting && tab && c != '#') {
        throw Unreadable{
            line,
            "expected spaces before the first word of a line, found a tab; indent with spaces"};
      }
      indenting = false;
    }
    i += length;
  }
}

// False if a quoted scalar at `position`, or behind an anchor or a tag there, is not closed.
// yaml-cpp 0.7 takes the end of the file for the closing quote.
bool QuoteCloses(std::string_view text, std::size_t position) {
  std::size_t at = std::min(position, text.size());
  while (at < text.size() && (text[at] == '&' || text[at] == '!')) {
    at = std::min(text.find_first_of(" \t\r\n", at), text.size());
    at = std::min(text.find_first_not_of(" \t\r\n", at), text.size());
  }
  if (at == text.size() || (text[at] != '"' && text[at] != '\'')) return true;
  const char quote = text[at];
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\' && quote == '"') {
      ++at;
    } else if (text[at] == quote) {
      if (quote == '"' || at + 1 == text.size() || text[at + 1] != '\'') return true;
      ++at;
    }
  }
  return false;
}

// Builds our nodes from yaml-cpp's events. yaml-cpp recurses once for each list or map inside
// another, and sends an event first. So a limit on the depth here also bounds yaml-cpp's stack.
class Builder : public YAML::EventHandler {
 public:
  Builder(ConfigData& data, std::string_view text) : data_(data), text_(text) {}

  // The innermost list or map that was begun and not ended, if any.
  const ConfigRawNode* open() const { return open_.empty() ? nullptr : open_.back(); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) {
      throw Unreadable{
          Line(mark),
          "expected one document, found the beginning of a second; remove the line '---' to make "
          "one of them"};
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    AddLeaf(New(mark, anchor));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end() || !found->second->complete) {
      throw Unreadable{Line(mark),
                       "expected an alias of something before it, found one that holds itself"};
    }
    if (open_.size() + found->second->depth > kMaxConfigDepth) TooDeep(mark);
    Attach(found->second, Line(mark));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (!QuoteCloses(text_, static_cast<std::size_t>(std::max(mark.pos, 0)))) {
      throw Unreadable{
          Line(mark),
          "expected a closing quote, found the end of the file; close the quote that begins "
          "on this line"};
    }
    CheckTag(mark, tag);
    ConfigRawNode& node = New(mark, anchor);
    node.kind = ConfigKind::kScalar;
    node.quoted = tag == "!" || tag == "tag:yaml.org,2002:str";
    node.text = value;
    AddLeaf(node);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    Open(mark, tag, anchor, ConfigKind::kList, style);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    Open(mark, tag, anchor, ConfigKind::kMap, style);
  }
  void OnMapEnd() override { Close(); }

 private:
  static int Line(const YAML::Mark& mark) { return std::max(mark.line, 0) + 1; }

  [[noreturn]] static void TooDeep(const YAML::Mark& mark) {
    throw Unreadable{Line(mark),
                     fmt::format("expected at most {} lists and maps inside each other, found more",
                                 kMaxConfigDepth)};
  }
  [[noreturn]] static void TooMany(int line) {
    throw Unreadable{
        line,
        fmt::format("expected at most {} values, found more (aliases count as often as they are "
                    "used); make the file smaller",
                    kMaxConfigNodes)};
  }

  static void CheckTag(const YAML::Mark& mark, const std::string& tag) {
    constexpr std::string_view kStandard = "tag:yaml.org,2002:";
    if (tag.empty() || tag == "?" || tag == "!" || tag.starts_with(kStandard)) return;
    const std::string word = Shown(std::string_view(tag).substr(tag.find_first_not_of('!')));
    throw Unreadable{
        Line(mark),
        fmt::format("expected a value, found !{0}, which YAML takes for a tag; write 'not "
                    "{0}' in a condition, quote a text that begins with '!', or remove "
                    "it",
                    word)};
  }

  ConfigRawNode& New(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (data_.nodes.size() >= kMaxConfigNodes) TooMany(Line(mark));
    ConfigRawNode& node = data_.nodes.emplace_back();
    node.line = Line(mark);
    if (anchor != YAML::NullAnchor) anchors_[anchor] = &node;
    return node;
  }

  void AddLeaf(ConfigRawNode& node) {
    node.complete = true;
    Attach(&node, node.line);
  }

  void Open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, ConfigKind kind,
            YAML::EmitterStyle::value style) {
    CheckTag(mark, tag);
    if (open_.size() >= kMaxConfigDepth) TooDeep(mark);
    ConfigRawNode& node = New(mark, anchor);
    node.kind = kind;
    node.flow = style == YAML::EmitterStyle::Flow;
    open_.push_back(&node);
  }

  void Close() {
    ConfigRawNode* node = open_.back();
    open_.pop_back();
    node->complete = true;
    Attach(node, node->line);
  }

  void Attach(const ConfigRawNode* node, int line) {
    if (open_.empty()) {
      data_.root = node;
      return;
    }
    ConfigRawNode& parent = *open_.back();
    parent.children.push_back(node);
    parent.weight += node->weight;
    parent.depth = std::max(parent.depth, node->depth + 1);
    if (parent.weight > kMaxConfigNodes) TooMany(line);
  }

  ConfigData& data_;
  std::string_view text_;
  int documents_ = 0;
  std::vector<ConfigRawNode*> open_;
  std::map<YAML::anchor_t, const ConfigRawNode*> anchors_;
};

YamlFault FaultOf(const YAML::ParserException& error) {
  using Kind = YamlFault::Kind;
  namespace Says = YAML::ErrorMsg;
  Kind found = Kind::kOther;
  for (const auto& [message, kind] :
       {std::pair(Says::END_OF_SEQ_FLOW, Kind::kUnclosed),
        std::pair(Says::END_OF_MAP_FLOW, Kind::kUnclosed), std::pair(Says::MAP_VALUE, Kind::kColon),
        std::pair(Says::END_OF_MAP, Kind::kNextItem), std::pair(Says::END_OF_SEQ, Kind::kNextItem),
        std::pair(Says::FLOW_END, Kind::kClosed), std::pair(Says::BLOCK_ENTRY, Kind::kDash),
        std::pair(Says::UNKNOWN_TOKEN, Kind::kCharacter),
        std::pair(Says::CHAR_IN_BLOCK, Kind::kBlock),
        std::pair(Says::UNKNOWN_ANCHOR, Kind::kUnknownAlias),
        std::pair(Says::INVALID_ESCAPE, Kind::kEscape)}) {
    if (found == Kind::kOther && std::string_view(error.msg).starts_with(message)) found = kind;
  }
  return {.kind = found,
          .line = std::max(error.mark.line, 0) + 1,
          .column = static_cast<std::size_t>(std::max(error.mark.column, 0)),
          .message = error.msg};
}

void ParseInto(std::string_view text, Builder& builder) {
  std::istringstream stream{std::string(text)};
  YAML::Parser parser(stream);
  while (parser.HandleNextDocument(builder)) {
  }
}

std::optional<int> FirstFault(std::string_view text) {
  ConfigData scratch;
  Builder builder(scratch, text);
  try {
    ParseInto(text, builder);
  } catch (const Unreadable& problem) {
    return problem.line;
  } catch (const YAML::ParserException& error) {
    const YamlFault fault = FaultOf(error);
    const bool unclosed = fault.kind == YamlFault::Kind::kUnclosed && builder.open() != nullptr;
    return unclosed ? builder.open()->line : fault.line;
  } catch (const YAML::Exception& error) {
    return std::max(error.mark.line, 0) + 1;
  }
  return std::nullopt;
}

}  // namespace

void ReadYaml(std::string_view text, ConfigData& data) {
  if (text.size() > kMaxConfigBytes) {
    throw Unreadable{
        1, fmt::format("expected at most {} bytes, found {}", kMaxConfigBytes, text.size())};
  }
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  CheckBytes(text);
  Builder builder(data, text);
  try {
    ParseInto(text, builder);
  } catch (const YAML::ParserException& error) {
    throw ExplainFault(FaultOf(error), builder.open(), text, FirstFault);
  } catch (const YAML::Exception& error) {
    throw Unreadable{std::max(error.mark.line, 0) + 1,
                     fmt::format("expected YAML, found an error: {}", error.msg)};
  }
  if (data.root == nullptr || data.root->kind == ConfigKind::kNull) {
    throw Unreadable{1, "expected keys and values, found an empty file"};
  }
}

}  // namespace sluice
