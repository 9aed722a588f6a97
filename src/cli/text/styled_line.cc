#include "cli/text/styled_line.h"

#include "cli/text/display_text.h"

namespace sluice {
namespace {

std::string_view Escape(Style style) {
  switch (style) {
    case Style::kPlain: return "";
    case Style::kBold: return "\x1b[1m";
    case Style::kDim: return "\x1b[2m";
    case Style::kGood: return "\x1b[32m";
    case Style::kBad: return "\x1b[31m";
    case Style::kAccent: return "\x1b[36m";
  }
  return "";
}

}  // namespace

StyledLine& StyledLine::Add(std::string_view text, Style style) {
  spans_.push_back({Harmless(text, medium_.utf8), style});
  return *this;
}

int StyledLine::width() const {
  int width = 0;
  for (const Span& span : spans_) width += DisplayWidth(span.text);
  return width;
}

std::string StyledLine::Render() const {
  const bool fits = width() <= medium_.columns;
  const std::string_view ellipsis = fits ? "" : WidePrefix(Ellipsis(medium_.utf8), medium_.columns);
  int left = medium_.columns - DisplayWidth(ellipsis);
  std::string out;
  for (const Span& span : spans_) {
    const std::string_view text = WidePrefix(span.text, left);
    left -= DisplayWidth(text);
    const std::string_view escape = medium_.colour && !text.empty() ? Escape(span.style) : "";
    out += escape;
    out += text;
    if (!escape.empty()) out += "\x1b[0m";
    if (text.size() < span.text.size()) break;
  }
  out += ellipsis;
  return out;
}

}  // namespace sluice
