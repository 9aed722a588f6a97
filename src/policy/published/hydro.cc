#include "policy/published/hydro.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "policy/fusion.h"

namespace sluice {
namespace {

// A bundle that runs, or is to.
struct Bundle {
  Grant grant;  // of one more member
  const Device* device = nullptr;
  int size = 0;
  int most = 0;
  bool begun = false;  // somebody has reported
  bool lent = false;
};

// Of one study.
class HydroStudyPlan {
 public:
  HydroStudyPlan(const WorkView& work, const StudyView& study, bool moves)
      : study_(study), fusion_(*work.speeds, study), moves_(moves) {
    for (const WorkItem& item : work.items) {
      if (item.trial.study != study.study) continue;
      if (item.running) {
        running_.push_back(&item);
      } else {
        waiting_.push_back(&item);
      }
    }
    if (study.open) coming_ = study.left + study.coming;
    // One that has nothing to propose may still resume somebody.
    may_resume_ = study.open && study.left == 0;
    slots_ = kMany;
    if (study.parallelism > 0) slots_ = std::max(0, study.parallelism - study.running);
  }

  // Eager transfer: the target is trained with the best so far once half of the search is over.
  bool Wants() const {
    if (slots_ == 0 || study_.leader_progress < 0.5) return false;
    return next_ < std::ssize(waiting_) || (to_come_ && (ToDo() > 0 || may_resume_));
  }

  // How large its bundles are, where there are others who want devices too.
  void Measure(const Cluster& cluster, const WorkView& work, int others) {
    const int devices = std::max(1, CountDevices(cluster, /*lent=*/false));
    const double each = static_cast<double>(ToDo() + std::ssize(running_)) * others / devices;
    even_ = static_cast<int>(std::clamp(std::ceil(each), 1.0, static_cast<double>(kMany)));
    Gather(cluster);
    if (moves_) MeasureAway(cluster, work, others);
    for (Bundle& bundle : bundles_)
      bundle.most = std::min(bundle.most,
                             bundle.lent ? MostLent(*bundle.device, cluster, bundle.most) : even_);
  }

  // Puts those that wait, or also those that are still to come, into bundles that run already, then on free
  // devices.
  void Place(Cluster& free, bool to_come, Plan& plan) {
    to_come_ = to_come;
    if (study_.demand.fused_most <= 1) return Start(free, plan);
    for (Bundle& bundle : bundles_) Fill(bundle, free, plan);
    OpenBundles(free, /*lent=*/false, plan);
    if (study_.demand.lent) OpenBundles(free, /*lent=*/true, plan);
  }

  void Ask(Plan& plan) const {
    if (asked_ > 0) plan.wanted_room.push_back({study_.study, asked_});
  }

 private:
  static constexpr int kMany = 1 << 20;

  // Each on devices of its own.
  void Start(Cluster& free, Plan& plan) {
    while (Wants()) {
      Grant grant = FirstFit(free, study_.demand);
      if (!IsSet(grant.node)) break;
      Take(std::move(grant), free, plan);
    }
  }

  // As far as is known.
  std::ptrdiff_t ToDo() const {
    const std::ptrdiff_t known = std::ssize(waiting_) - next_ + coming_ - asked_;
    return std::clamp<std::ptrdiff_t>(known, 0, slots_);
  }

  // Those it could use.
  int CountDevices(const Cluster& cluster, bool lent) const {
    std::ptrdiff_t count = 0;
    for (const Node& node : cluster.nodes()) {
      if (!node.up) continue;
      count += std::ranges::count_if(node.devices, [&](const Device& device) {
        return device.IsLent() == lent && fusion_.MostOn(device) > 0;
      });
    }
    return static_cast<int>(count);
  }

  void Gather(const Cluster& cluster) {
    std::map<BundleId, Bundle> found;
    for (const WorkItem* item : running_) {
      const Grant& grant = *item->grant;
      if (!IsSet(grant.bundle)) continue;
      Bundle& bundle = found[grant.bundle];
      ++bundle.size;
      bundle.grant = grant;
      bundle.begun = bundle.begun || item->launch_reports > 0;
    }
    for (auto& [id, bundle] : found) {
      const Node& node = cluster.node(bundle.grant.node);
      const std::size_t device = Number(bundle.grant.devices.front());
      if (!node.up || device >= node.devices.size()) continue;
      bundle.device = &node.devices[device];
      bundle.lent = bundle.device->IsLent();
      // Who comes later ends later: one on a device that is lent is not kept from ending.
      bundle.most = bundle.lent && bundle.begun ? 0 : fusion_.MostOn(*bundle.device);
      bundles_.push_back(bundle);
    }
  }

  // With moves: for how many own devices have room, and how the others are spread over those that are lent.
  void MeasureAway(const Cluster& cluster, const WorkView& work, int others) {
    const std::vector<const Device*> home = fusion_.Home(cluster, work);
    for (const Device* device : home) home_ += fusion_.MostOn(*device);
    home_ /= others;
    all_ = ToDo() + std::ssize(running_);
    others_are_home_ = home.empty() && CountDevices(cluster, /*lent=*/false) > 0;
    int lent = CountDevices(cluster, /*lent=*/true);
    int begins = 0;  // in programs there that take more
    for (const Bundle& bundle : bundles_) {
      if (!bundle.lent) {
        home_ -= bundle.size;
      } else if (bundle.begun) {
        --lent;
      } else {
        begins += bundle.size;
      }
    }
    const auto away = static_cast<double>(std::max<std::ptrdiff_t>(ToDo() - home_, 0) + begins);
    even_lent_ = static_cast<int>(std::ceil(away / std::max(1, lent)));
  }

  void Fill(Bundle& bundle, Cluster& free, Plan& plan) {
    while (bundle.size < bundle.most && Wants() && free.Fits(bundle.grant)) {
      if (bundle.lent && moves_ && ToDo() <= home_) return;
      if (!bundle.lent && moves_) --home_;
      Take(bundle.grant, free, plan);
      ++bundle.size;
    }
  }

  void OpenBundles(Cluster& free, bool lent, Plan& plan) {
    const std::vector<Node>& nodes = free.nodes();
    for (std::uint32_t n = 0; n < nodes.size(); ++n) {
      const NodeId node{n + 1};
      for (std::uint32_t d = 0; nodes[n].up && d < nodes[n].devices.size(); ++d) {
        const Device& device = nodes[n].devices[d];
        if (!Wants() || (lent && ToDo() <= home_)) return;
        if (device.IsLent() != lent || free.Used(node)[d].clients > 0) continue;
        int most = fusion_.MostOn(device);
        most = std::min(most, lent ? MostLent(device, free, most) : even_);
        if (most == 0) continue;
        Bundle bundle{.grant = fusion_.GrantOn(node, DeviceId(d), free.NewBundle()),
                      .device = &device,
                      .most = most,
                      .lent = lent};
        Fill(bundle, free, plan);
        bundles_.push_back(std::move(bundle));
      }
    }
  }

  // How many to fuse on each device that is lent, so that all is worked off soonest: if they are many, the
  // others have less to do, and they themselves take longer. 0: none.
  int MostLent(const Device& device, const Cluster& cluster, int most) {
    if (moves_) return MostAway(device, cluster, std::min(most, even_lent_));
    if (most == 0) return 0;
    const auto [known, is_new] = lent_.try_emplace({device.open, most}, 0);
    if (!is_new) return known->second;
    const int lent = CountDevices(cluster, /*lent=*/true);
    const int fused = std::min(even_, fusion_.knee());
    const double own =
        std::max(1, CountDevices(cluster, /*lent=*/false)) * fusion_.Throughput(fused);
    double soonest = std::numeric_limits<double>::infinity();
    for (int trials = 0; trials <= most; ++trials) {
      const double here =
          trials == 0 ? 0
                      : trials / (fusion_.Throughput(trials) * fusion_.Quickness(device, trials));
      const auto left = static_cast<double>(ToDo() - lent * trials);
      const double ends = std::max(here, std::max(left, 0.0) / own);
      if (ends >= soonest) continue;
      soonest = ends;
      known->second = trials;
    }
    return known->second;
  }

  // With moves: as many as report while own devices work off half of the rest. Before it has reported nobody can be
  // told to come home, and what is left of it is to be done there.
  int MostAway(const Device& device, const Cluster& cluster, int most) {
    if (others_are_home_) return most;  // for nobody knows how long
    const double own = std::max(1, CountDevices(cluster, /*lent=*/false)) *
                       fusion_.Throughput(std::min(even_, fusion_.knee()));
    const double rest = static_cast<double>(all_) / own;
    for (; most > 0; --most) {
      const double speed = fusion_.Throughput(most) * fusion_.Quickness(device, most);
      if (most * ReportPart() <= rest / 2 * speed) break;
    }
    return most;
  }

  // Of a trial's work, what it does between two reports; all of it until somebody has reported.
  double ReportPart() const {
    double part = 1;
    for (const WorkItem* item : running_) {
      if (item->launch_reports == 0 || item->target <= 0) continue;
      const double each = static_cast<double>(item->done) / item->launch_reports;
      part = std::min(part, each / static_cast<double>(item->target));
    }
    return part;
  }

  void Take(Grant grant, Cluster& free, Plan& plan) {
    free.Take(grant);
    --slots_;
    if (next_ < std::ssize(waiting_)) {
      plan.placements.push_back(
          {waiting_[static_cast<std::size_t>(next_++)]->trial, std::move(grant)});
    } else {
      ++asked_;
    }
  }

  const StudyView& study_;
  Fusion fusion_;
  bool moves_;
  std::vector<const WorkItem*> running_;
  std::vector<const WorkItem*> waiting_;
  std::vector<Bundle> bundles_;
  std::ptrdiff_t next_ = 0;  // of those that wait
  int coming_ = 0;           // that could be proposed or resumed
  int asked_ = 0;            // of them, those there is room for
  bool may_resume_ = false;  // somebody whom nobody sees yet
  int slots_ = 0;
  int even_ = 1;  // trials of a bundle, if all are to be alike
  // With moves: the same of those for which own devices have no room, on devices that are lent.
  int even_lent_ = 0;
  int home_ = 0;            // with moves: how many more own devices hold, now or when they are free
  std::ptrdiff_t all_ = 0;  // with moves: trials that run or are to
  bool others_are_home_ = false;  // other studies have all own devices
  bool to_come_ = true;
  std::map<std::pair<Milli, int>, int> lent_;  // MostLent, by how long it is open and what it holds
};

}  // namespace

Plan Hydro::Propose(const Cluster& cluster, const WorkView& work, Time /*now*/) {
  std::vector<const StudyView*> all;
  for (const StudyView& study : work.studies) all.push_back(&study);
  return ProposeFor(all, cluster, work);
}

Plan Hydro::ProposeFor(const std::vector<const StudyView*>& some, const Cluster& cluster,
                       const WorkView& work) const {
  Plan plan;
  plan.keeps_running = true;
  Cluster free = cluster;
  std::vector<HydroStudyPlan> studies;
  // Who trains the best of a search that goes on takes only what that leaves.
  for (const bool follows : {false, true}) {
    for (const StudyView* study : some) {
      if ((study->leader_progress < 1) != follows) continue;
      if (!studies.emplace_back(work, *study, moves_).Wants()) studies.pop_back();
    }
  }
  for (HydroStudyPlan& study : studies) study.Measure(free, work, static_cast<int>(studies.size()));
  // Whoever waits comes before trials that are not there yet.
  for (const bool to_come : {false, true}) {
    for (HydroStudyPlan& study : studies) study.Place(free, to_come, plan);
  }
  for (const HydroStudyPlan& study : studies) study.Ask(plan);
  return plan;
}

}  // namespace sluice
