#include "policy/published/hydro.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/fusion.h"
#include "policy/waiting_trials.h"

namespace sluice {
namespace {

// With moves: trials on a lent device must report within this part of the time that own devices
// need for all trials. Without a limit, trials reported too late to be moved back, and all work
// took up to 88 % longer (docs/evidence.md, generated scenarios 535 and 725). The value of a half
// is a guess: not measured.
constexpr double kReportsWithin = 0.5;

// Whether a device is one of the lent devices, or one of the own devices.
bool IsOf(const Device& device, bool lent) { return lent ? device.IsLent() : device.IsOwn(); }

// A bundle that runs or is to be started.
struct Bundle {
  Grant grant;                     // of each further member
  const Device* device = nullptr;  // null: on cores
  int size = 0;
  int most = 0;        // the most trials that it takes in this plan
  int full = 0;        // the same, if trials were not spread evenly
  int capacity = 0;    // the most trials that its process takes; 0: not known
  bool begun = false;  // whether a member has reported
  bool lent = false;
  std::set<std::string_view> shapes = {};  // of its members
};

// The plan of one study.
class HydroStudyPlan {
 public:
  HydroStudyPlan(const WorkView& work, const StudyView& study, bool moves)
      : study_(study),
        fusion_(*work.speeds, study),
        moves_(moves),
        fuses_(MostFused(study) > 1),
        on_cores_(study.demand.gpus == 0) {
    std::set<std::string_view> shapes;
    for (const WorkItem& item : work.items) {
      if (item.trial.study != study.study) continue;
      shapes.insert(item.shape);
      if (item.running) {
        running_.push_back(&item);
      } else {
        (item.alone && fuses_ ? alone_ : waiting_).Add(item);
      }
    }
    mixed_ = shapes.size() > 1 && !study.several_shapes;
    if (study.open) coming_ = study.left + study.coming;
    // A study with nothing left to propose may still resume a trial.
    may_resume_ = study.open && study.left == 0;
    slots_ = kMany;
    if (study.parallelism > 0) slots_ = std::max(0, study.parallelism - study.running);
  }

  // Whether the study has a trial to place. Eager transfer: a study that trains the best trial of a
  // search waits until half of the search is over.
  bool Wants() const {
    if (slots_ == 0 || study_.leader_progress < kTransferFrom) return false;
    return !waiting_.empty() || !alone_.empty() || MayAsk();
  }

  // Sets the sizes of bundles. `others` counts all studies that want devices, this one included.
  void Measure(const Cluster& cluster, const WorkView& work, int others) {
    const int devices =
        std::max(1, on_cores_ ? CountOnCores(cluster) : CountDevices(cluster, /*lent=*/false));
    const double each = static_cast<double>(ToDo() + std::ssize(running_)) * others / devices;
    even_ = static_cast<int>(std::clamp(std::ceil(each), 1.0, static_cast<double>(kMany)));
    Gather(cluster);
    if (moves_ && !on_cores_) MeasureAway(cluster, work, others);
    for (Bundle& bundle : bundles_)
      bundle.most = std::min(bundle.full,
                             bundle.lent ? MostLent(*bundle.device, cluster, bundle.full) : even_);
  }

  // Puts waiting trials into bundles that run already, then on free devices. With `to_come`, also
  // reserves room for trials that are still to come.
  void Place(Cluster& free, bool to_come, Plan& plan) {
    to_come_ = to_come;
    if (!fuses_) return Start(free, plan);
    StartAlone(free, plan);
    if (study_.several_shapes)
      for (Bundle& bundle : bundles_) Fill(bundle, free, plan, /*like_members=*/true);
    for (Bundle& bundle : bundles_) Fill(bundle, free, plan);
    if (on_cores_) {
      OpenOnCores(free, plan);
    } else {
      OpenBundles(free, /*lent=*/false, plan);
      if (study_.demand.lent) OpenBundles(free, /*lent=*/true, plan);
    }
    if (mixed_ && !to_come_) FillUnevenly(free, plan);
  }

  void Ask(Plan& plan) const {
    if (asked_ > 0) plan.wanted_room.push_back({study_.study, asked_});
  }

 private:
  // In trials. Stands for no limit: more than any cluster runs, and far below what an int can hold.
  static constexpr int kMany = 1 << 20;

  // Starts trials unfused, by first fit.
  void Start(Cluster& free, Plan& plan) {
    while (Wants()) {
      Grant grant = FirstFit(free, study_.demand);
      if (!IsSet(grant.node)) break;
      Take(std::move(grant), waiting_.TakeFirst(), free, plan);
    }
  }

  // Starts the trials that must not be fused. If there is no room for one of them, the smallest
  // bundle takes in no trial, so that it ends and leaves room.
  void StartAlone(Cluster& free, Plan& plan) {
    while (slots_ > 0 && !alone_.empty()) {
      Grant grant = FirstFit(free, study_.demand);
      if (!IsSet(grant.node)) break;
      Take(std::move(grant), alone_.TakeFirst(), free, plan);
    }
    if (slots_ == 0 || alone_.empty() || to_come_) return;
    Bundle* smallest = nullptr;
    for (Bundle& bundle : bundles_) {
      if (!bundle.lent && (smallest == nullptr || bundle.size < smallest->size)) smallest = &bundle;
    }
    if (smallest != nullptr) smallest->most = smallest->full = 0;
  }

  // Whether room may be reserved for another trial that is still to come.
  bool MayAsk() const { return to_come_ && (ToDo() > 0 || may_resume_); }

  // The number of trials to start as far as known, at most the free slots.
  std::ptrdiff_t ToDo() const {
    const std::ptrdiff_t known = waiting_.size() + alone_.size() + coming_ - asked_ - left_out_;
    return std::clamp<std::ptrdiff_t>(known, 0, slots_);
  }

  // The number of bundles that fit side by side on the cores of all nodes that are up.
  int CountOnCores(const Cluster& cluster) const {
    Milli count = 0;
    for (const Node& node : cluster.nodes())
      if (node.up && !node.Lends()) count += node.cpus / std::max<Milli>(study_.demand.cpus, 1);
    return static_cast<int>(std::min<Milli>(count, kMany));
  }

  // The number of lent or own devices, on nodes that are up, with memory for at least one trial.
  int CountDevices(const Cluster& cluster, bool lent) const {
    std::ptrdiff_t count = 0;
    for (const Node& node : cluster.nodes()) {
      if (!node.up) continue;
      count += std::ranges::count_if(node.devices, [&](const Device& device) {
        return IsOf(device, lent) && fusion_.MostOn(device) > 0;
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
      bundle.capacity = item->capacity > 0 ? item->capacity : study_.capacity;
      bundle.shapes.insert(item->shape);
    }
    for (auto& [id, bundle] : found) {
      const Node& node = cluster.node(bundle.grant.node);
      if (!node.up) continue;
      bundle.full = fusion_.knee();
      if (!on_cores_) {
        const std::size_t device = Number(bundle.grant.devices.front());
        if (device >= node.devices.size()) continue;
        bundle.device = &node.devices[device];
        bundle.lent = bundle.device->IsLent();
        // A trial that joins later ends later. So a bundle on a lent device takes in no trial once
        // it has begun: that would delay its end.
        bundle.full = bundle.lent && bundle.begun ? 0 : fusion_.MostOn(*bundle.device);
      }
      bundles_.push_back(bundle);
    }
  }

  // With moves: how many more trials own devices have room for, and how the others are spread over
  // lent devices.
  void MeasureAway(const Cluster& cluster, const WorkView& work, int others) {
    const std::vector<const Device*> home = fusion_.Home(cluster, work);
    for (const Device* device : home) home_ += fusion_.MostOn(*device);
    home_ /= others;
    all_ = ToDo() + std::ssize(running_);
    others_are_home_ = home.empty() && CountDevices(cluster, /*lent=*/false) > 0;
    int lent = CountDevices(cluster, /*lent=*/true);
    int begins = 0;  // trials of bundles on lent devices that have not begun
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

  // Members that are about to leave count for the capacity of a process, but not for the size of
  // its bundle: they are not among the items.
  bool HasRoom(const Bundle& bundle, const Cluster& free) const {
    return bundle.size < bundle.most && free.Fits(bundle.grant) &&
           (bundle.capacity == 0 || free.BundleSize(bundle.grant.bundle) < bundle.capacity);
  }

  // Takes out the waiting trial that is to join the bundle next: the first of a shape that its
  // members have. If there is none, it is the first of all waiting trials, provided that the bundle
  // is empty or processes take several shapes. Null if there is no such trial.
  const WorkItem* TakeNextFor(const Bundle& bundle, bool like_members) {
    if (const WorkItem* item = waiting_.TakeFirstOf(bundle.shapes)) return item;
    const bool any = bundle.shapes.empty() || study_.several_shapes;
    return any && !like_members ? waiting_.TakeFirst() : nullptr;
  }

  // With `like_members`, the bundle takes in only waiting trials of a shape that its members have.
  void Fill(Bundle& bundle, Cluster& free, Plan& plan, bool like_members = false) {
    while (HasRoom(bundle, free) && Wants()) {
      if (bundle.lent && moves_ && ToDo() <= home_) return;
      const WorkItem* item = TakeNextFor(bundle, like_members);
      if (item == nullptr && (like_members || !MayAsk())) return;
      if (!bundle.lent && moves_) --home_;
      if (item != nullptr) bundle.shapes.insert(item->shape);
      Take(bundle.grant, item, free, plan);
      ++bundle.size;
    }
  }

  // Trials of several shapes cannot be spread evenly. Trials for which no device is left join a
  // bundle of their shape, although it has its even part already.
  void FillUnevenly(Cluster& free, Plan& plan) {
    for (Bundle& bundle : bundles_) {
      if (bundle.lent) continue;
      const int even = std::exchange(bundle.most, bundle.full);
      Fill(bundle, free, plan);
      bundle.most = even;
    }
  }

  void OpenOnCores(Cluster& free, Plan& plan) {
    for (std::uint32_t n = 0; n < free.nodes().size(); ++n) {
      const NodeId node{n + 1};
      if (free.nodes()[n].Lends()) continue;
      while (Wants()) {
        Bundle bundle{.grant = fusion_.GrantOnCores(node, free.NewBundle()),
                      .most = std::min(fusion_.knee(), even_),
                      .full = fusion_.knee()};
        Fill(bundle, free, plan);
        if (bundle.size == 0) break;
        bundles_.push_back(std::move(bundle));
      }
    }
  }

  void OpenBundles(Cluster& free, bool lent, Plan& plan) {
    const std::vector<Node>& nodes = free.nodes();
    for (std::uint32_t n = 0; n < nodes.size(); ++n) {
      const NodeId node{n + 1};
      for (std::uint32_t d = 0; nodes[n].up && d < nodes[n].devices.size(); ++d) {
        const Device& device = nodes[n].devices[d];
        if (!Wants() || (lent && ToDo() <= home_)) return;
        if (!IsOf(device, lent) || free.Used(node)[d].clients > 0) continue;
        const int full = fusion_.MostOn(device);
        const int most = std::min(full, lent ? MostLent(device, free, full) : even_);
        if (most == 0) continue;
        Bundle bundle{.grant = fusion_.GrantOn(node, DeviceId(d), free.NewBundle()),
                      .device = &device,
                      .most = most,
                      .full = full,
                      .lent = lent};
        Fill(bundle, free, plan);
        // A bundle without a trial has a number that the next one takes.
        if (bundle.size > 0) bundles_.push_back(std::move(bundle));
      }
    }
  }

  // The number of trials to fuse on each lent device so that all work ends soonest. The more trials
  // run there, the less is left for the other devices, but the longer the trials there take. 0:
  // none.
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

  // With moves: the most trials that can run on this device and still report in time
  // (kReportsWithin). A trial cannot be moved back before it has reported, and own devices then
  // have to do the rest of its work. There is no such limit if other studies hold all own devices.
  int MostAway(const Device& device, const Cluster& cluster, int most) {
    if (others_are_home_) return most;  // own devices are held for an unknown time
    const double own = std::max(1, CountDevices(cluster, /*lent=*/false)) *
                       fusion_.Throughput(std::min(even_, fusion_.knee()));
    const double rest = static_cast<double>(all_) / own;
    for (; most > 0; --most) {
      const double speed = fusion_.Throughput(most) * fusion_.Quickness(device, most);
      if (most * ReportPart() <= kReportsWithin * rest * speed) break;
    }
    return most;
  }

  // The fraction of a trial's work between two reports, the smallest of all running trials; 1 until
  // a trial has reported.
  double ReportPart() const {
    double part = 1;
    for (const WorkItem* item : running_) {
      if (item->launch_reports == 0 || item->target <= 0) continue;
      const double each = static_cast<double>(item->done) / item->launch_reports;
      part = std::min(part, each / static_cast<double>(item->target));
    }
    return part;
  }

  // Without an item, the grant is room for a trial to come. As long as there are waiting trials
  // that no bundle takes, the room counts for one of these (left_out_), and no trial is asked for.
  // So no more trials wait for a bundle of their shape than bundles have room for.
  void Take(Grant grant, const WorkItem* item, Cluster& free, Plan& plan) {
    free.Take(grant);
    --slots_;
    if (item != nullptr) {
      plan.placements.push_back({item->trial, std::move(grant)});
    } else if (left_out_ < waiting_.size() + alone_.size()) {
      ++left_out_;
    } else {
      ++asked_;
    }
  }

  const StudyView& study_;
  Fusion fusion_;
  bool moves_;
  bool fuses_;
  bool on_cores_;
  bool mixed_ = false;  // its trials have several shapes, and a process takes only one
  std::vector<const WorkItem*> running_;
  WaitingTrials waiting_;  // all waiting trials except those in alone_
  WaitingTrials alone_;    // trials that must not be fused
  std::vector<Bundle> bundles_;
  int coming_ = 0;               // trials that could be proposed, or are on their way
  int asked_ = 0;                // trials still to come that this plan has room for
  std::ptrdiff_t left_out_ = 0;  // room for trials, where no waiting trial has the right shape
  bool may_resume_ = false;      // the study may resume a trial that is not in the view
  int slots_ = 0;
  int even_ = 1;  // trials of a bundle, if all bundles are of one size
  // With moves: the same on lent devices, for the trials that own devices have no room for.
  int even_lent_ = 0;
  // With moves: how many more trials own devices have room for, now or once they become free.
  int home_ = 0;
  std::ptrdiff_t all_ = 0;        // with moves: trials that run or are to run
  bool others_are_home_ = false;  // other studies hold all own devices
  bool to_come_ = true;
  std::map<std::pair<Milli, int>, int> lent_;  // MostLent, by a device's `open` and its most trials
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
  // A study that trains the best trial of an unfinished search takes only what the other studies
  // leave.
  for (const bool follows : {false, true}) {
    for (const StudyView* study : some) {
      if ((study->leader_progress < 1) != follows) continue;
      if (!studies.emplace_back(work, *study, moves_).Wants()) studies.pop_back();
    }
  }
  for (HydroStudyPlan& study : studies) study.Measure(free, work, static_cast<int>(studies.size()));
  // Waiting trials of all studies come before trials that are still to be proposed.
  for (const bool to_come : {false, true}) {
    for (HydroStudyPlan& study : studies) study.Place(free, to_come, plan);
  }
  for (const HydroStudyPlan& study : studies) study.Ask(plan);
  return plan;
}

}  // namespace sluice
