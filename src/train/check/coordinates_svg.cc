#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "train/check/coordinates.h"

namespace sluice::train {
namespace {

constexpr double kWidth = 720;
constexpr double kHeight = 420;
constexpr double kLeft = 70;
constexpr double kRight = 20;
constexpr double kTop = 40;
constexpr double kBottom = 50;
constexpr std::size_t kMostNamed = 8;  // lines that are named, those that follow the scale the most
constexpr std::string_view kFollowsColour = "#cc3311";
constexpr std::string_view kAlikeColour = "#4477aa";
// Sizes below the largest by more than this are drawn at the bottom.
constexpr double kMostDoublings = 24;

struct Axes {
  double low = 0;  // exponents of two
  double high = 1;
  double most_scale = 1;

  double X(double scale) const {
    const double part = most_scale > 1 ? std::log2(scale) / std::log2(most_scale) : 0;
    return kWidth - kRight - part * (kWidth - kLeft - kRight);
  }
  double Y(double size) const {
    const double at = size > 0 ? std::max(std::log2(size), low) : low;
    return kHeight - kBottom - (at - low) / (high - low) * (kHeight - kTop - kBottom);
  }
};

Axes AxesOf(const CoordinateCheck& check) {
  double least = INFINITY;
  double most = 0;
  for (const CoordinateCheck::Line& line : check.lines) {
    for (const double size : line.sizes) {
      if (!(size > 0) || !std::isfinite(size)) continue;
      least = std::min(least, size);
      most = std::max(most, size);
    }
  }
  Axes axes{.most_scale = check.scales.empty() ? 1 : check.scales.back()};
  if (most == 0) return axes;
  axes.high = std::ceil(std::log2(most));
  axes.low = std::max(std::floor(std::log2(least)), axes.high - kMostDoublings);
  if (axes.low >= axes.high) axes.low = axes.high - 1;
  return axes;
}

std::string Text(double x, double y, std::string_view anchor, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     EscapedXml(text));
}

}  // namespace

std::string CoordinatesSvg(const std::string& title, const CoordinateCheck& check) {
  const Axes axes = AxesOf(check);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
      "{1}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0}\" height=\"{1}\" "
      "fill=\"white\"/>\n",
      kWidth, kHeight);
  svg += Text(kLeft, 20, "start", title);
  const double step = std::max(1.0, std::ceil((axes.high - axes.low) / 8));
  for (double at = axes.low; at <= axes.high; at += step) {
    const double y = axes.Y(std::exp2(at));
    svg += fmt::format(
        "<line x1=\"{0}\" y1=\"{1:.1f}\" x2=\"{2}\" y2=\"{1:.1f}\" stroke=\"#dddddd\"/>\n", kLeft,
        y, kWidth - kRight);
    svg += Text(kLeft - 6, y + 4, "end", fmt::format("2^{:.0f}", at));
  }
  for (const double scale : check.scales) {
    svg += Text(axes.X(scale), kHeight - kBottom + 18, "middle",
                scale == 1 ? "full width" : fmt::format("width / {:g}", scale));
  }
  svg += Text(kLeft, kHeight - 10, "start",
              "mean magnitude of what each layer computes, after three steps");
  std::vector<const CoordinateCheck::Line*> lines;
  for (const CoordinateCheck::Line& line : check.lines) lines.push_back(&line);
  std::ranges::stable_sort(lines, std::greater(), [](const CoordinateCheck::Line* line) {
    return std::abs(line->exponent);
  });
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const CoordinateCheck::Line& line = *lines[i];
    std::string points;
    for (std::size_t at = 0; at < line.sizes.size(); ++at)
      points += fmt::format("{:.1f},{:.1f} ", axes.X(check.scales[at]), axes.Y(line.sizes[at]));
    const bool follows = check.Follows(line);
    svg += fmt::format(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\" "
        "opacity=\"0.8\"><title>{}: exponent {:.2f}</title></polyline>\n",
        points, follows ? kFollowsColour : kAlikeColour, EscapedXml(line.name), line.exponent);
    if (i < kMostNamed && follows)
      svg +=
          Text(axes.X(check.scales.back()) + 4, axes.Y(line.sizes.back()) - 4, "start", line.name);
  }
  return svg + "</svg>\n";
}

}  // namespace sluice::train
