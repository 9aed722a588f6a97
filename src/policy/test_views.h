#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "cluster/width.h"
#include "policy/policy.h"

namespace sluice {

// Elastic trials: from one device to four, and from half a device to four.
inline const Demand kOneToFour{.cpus = 1000, .gpus = 1000, .least = 1000, .most = 4000};
inline const Demand kHalfToFour{.cpus = 1000, .gpus = 1000, .least = 500, .most = 4000};

// Views for tests of policies: one machine, studies, and their trials by number.
class TestViews {
 public:
  explicit TestViews(int gpus, Milli cpus = 1000 * kWhole) {
    Node node{.name = "n", .cpus = cpus, .devices = {}};
    for (int i = 0; i < gpus; ++i)
      node.devices.push_back({.uuid = std::to_string(i), .kind = "A100", .memory_bytes = 40 << 10});
    cluster.Join(std::move(node));
    view.speeds = &speeds;
  }

  // Another node, with an H100.
  void JoinH100() {
    cluster.Join({.name = "q" + std::to_string(cluster.nodes().size()),
                  .cpus = 1000 * kWhole,
                  .devices = {{.uuid = "h", .kind = "H100", .memory_bytes = 80 << 10}}});
  }
  StudyView& Study(std::uint32_t id, const Demand& demand) {
    names_.push_back("study" + std::to_string(id));
    view.studies.push_back({.study = StudyId(id), .demand = demand, .shape = names_.back()});
    return view.studies.back();
  }
  // Adds a waiting trial that has this much work left.
  WorkItem& Waiting(std::uint32_t study, std::uint32_t trial, Work left) {
    ++Of(study).waiting;
    return Add(study, trial, left);
  }
  // Adds a running trial on the first devices where this width is free.
  WorkItem& Running(std::uint32_t study, std::uint32_t trial, Work left, Milli width) {
    ++Of(study).running;
    WorkItem& item = Add(study, trial, left);
    grants_.push_back(FirstFit(cluster, AtWidth(item.demand, width)));
    cluster.Take(grants_.back());
    item.running = true;
    item.movable = true;
    item.grant = &grants_.back();
    return item;
  }

  // The trial and the width of each placement, in their order: "1:0.5" is trial 1 on half a device.
  static std::vector<std::string> Placed(const Plan& plan) {
    std::vector<std::string> placed;
    for (const auto& [trial, grant] : plan.placements)
      placed.push_back(std::to_string(Number(trial.trial)) + ":" + Shown(WidthOf(grant)));
    return placed;
  }
  static std::string Shown(Milli width) {
    std::string text = std::to_string(static_cast<double>(width) / kWhole);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
    return text;
  }

  Cluster cluster;
  WorkView view;
  SpeedModel speeds;

 private:
  StudyView& Of(std::uint32_t study) {
    return *std::ranges::find(view.studies, StudyId(study), &StudyView::study);
  }
  WorkItem& Add(std::uint32_t study, std::uint32_t trial, Work left) {
    view.items.push_back({.trial = {StudyId(study), TrialId(trial)},
                          .group = {},
                          .demand = Of(study).demand,
                          .done = 0,
                          .target = left,
                          .shape = Of(study).shape});
    return view.items.back();
  }

  std::deque<std::string> names_;
  std::deque<Grant> grants_;
};

}  // namespace sluice
