#include "policy/confluence/fixed_width_packer.h"

#include <algorithm>
#include <utility>

#include "cluster/width.h"
#include "policy/solve/set_search.h"

// Worth. Each device is filled with the set of trials that is worth most. The worth of a trial is a
// product. The first factor is the largest fraction that the trial takes of any resource of the
// device. The second factor is 1 + the trial's time left / the time left of the longest trial, so
// it is between 1 and 2. The rules below may raise it to at most 5. Thus full devices come first.
// Of sets that fill a device equally well, the set with the longest trials runs, because these
// would otherwise be left over at the end. A trial that takes much memory and little else counts by
// its memory, so it is not passed over for ever.
//
// Trials that pack badly with their like. Two trials of 0.4 leave a fifth of a device free, and a
// trial of 0.51 leaves nearly half. Such trials count as if they had more work left. The addition
// is in proportion to the time they would lose if they had only each other as neighbours. So they
// run while other trials can fill the gaps. The rule is off if any study is judged: judged trials
// that go on from target to target end last, so these must come first.
//
// Studies that end once a trial is good enough. What counts is how soon each of them ends, so short
// trials come first.
//
// Trials to come. The set is chosen among trials that wait and trials that are about to be
// proposed. A device waits until its whole set is there. Otherwise, since proposals come one by
// one, the first trial to arrive would take the place of another trial of the set.
//
// Several kinds of devices. Each kind is for the trials that it suits. An example: most trials take
// a third as much of a device of kind A as of one of kind B. A trial that takes half as much of A
// as of B is then better placed on B. So the worth of a trial is multiplied by a factor: 1 on the
// kind that suits it best, and less on others. The factor is squared, for two reasons: on a device
// of the wrong kind a trial wastes room, and other trials that would use that room well cannot have
// it. Of five powers tried on the mixed clusters of HyperSack's search spaces, the square was best.
// The worth is lowered in the same way on a kind where the trial is so slow that all other work
// would end before it. The linear program of the lower bound (policy/solve/packing_bound.h) would
// choose nearly the same kinds, but this rule does not have to solve a program.
//
// Room for all. Neighbours slow each other down. So if there is room for all trials at the same
// time, none of the rules above is used. Each trial then goes to the fastest kind of device with
// room, and of that kind to the device with the most room.
//
// Judged trials. A trial that is judged on its way counts with all the work it could still do. In a
// population it also counts with the price of every stop and start on its way. Most judged trials
// are stopped, but the few that go on to the full budget are what is left over at the end. Among
// the trials of its own study, a trial counts only with the work until it is judged next. The first
// trial of a study comes before all others: until it has run, the length of the study's trials is
// not known.
//
// Turns. If a study's trials are not judged, its work is fixed, and what matters is that all trials
// end at about the same time. So a trial that has just reported makes room for a trial with clearly
// more work left, if that is worth the price: the first trial must be saved, and started again
// later. All turns together save at most the time of the longest trial: without turns, that trial
// runs alone at the end. So the further off the end is, the fewer turns are worth their price. If
// turns cost nothing, HyperSack's search spaces end 5 % after the lower bound on average and 12 %
// at most. If turns are expensive, trials take them only near the end. A study that ends once a
// trial is good enough takes no turns: many trials that are half done are of no use to it.
//
// Late trials. A trial that takes much of a device would rarely find a turn, since the trials that
// share a device report at different times. A trial is late once all other work would end before
// it. Then one device is cleared for it: each trial that reports there leaves, and what becomes
// free is kept for the late trial. A part of one device is idle until the next report. That is
// little, compared with nearly all devices being idle at the end.
//
// Cost: a search among sets, for each device with room or with a trial that has just reported. A
// branch of the search is cut off if the free share cannot be worth enough to make the best set.
// Alternatives: HyperSack's heuristics place trial after trial, and leave gaps in whatever order
// they do it. Its integer program fills devices better but does not look ahead. A simulation of
// many orders takes as many times as long. FindBestPattern answers the same question if all copies
// of an item are worth the same. It begins with a linear program, which is too slow for every
// report.

namespace sluice {
namespace {

// About this many turns at most, until all work is done. With more turns, trials end closer
// together, but each turn has its price. Chosen on the scenarios of docs/evidence.md, with results
// in sight.
constexpr double kTurns = 20;
// kOneTurn: a turn must save this many times its price, since the times that trials have left are
// estimates. kAllTurns: all turns together save at most the time of the longest trial, and that
// must be this many times their price. With lower values, trials take turns that do not pay. With
// higher values, long trials are left over at the end. Guesses: not measured.
constexpr double kOneTurn = 2;
constexpr double kAllTurns = 5;
// The weight of the time lost by trials that pack badly with their like. Chosen with all 24 cases
// of HyperSack's search spaces in sight; 3 to 6 do as well (docs/evidence.md).
constexpr double kAlikeCounts = 4;
// The cap on a trial's time left, as a multiple of the time left of the longest trial. It binds for
// endless trials, and for trials that pack badly with their like. So the worth of a trial is at
// most 5 times its fraction of the device. A guess: not measured.
constexpr double kLongestCounts = 4;
// The most late trials that one plan considers; the next plan considers the others. Each costs a
// look at all devices. Late trials beyond the number of devices that can be cleared change nothing.
// A guess: not measured.
constexpr std::size_t kMostLate = 32;
// The weight of free share when a device is chosen to be cleared. The next plan finds more of that
// device free. With any weight above 1, it chooses the same device again.
constexpr Milli kFreeCounts = 2;
// Where something is divided by the time for all work, a shorter time counts as this.
constexpr double kLeastHorizonSeconds = 1;

// What a running trial holds of its one device, or of its node's cores.
Amounts HeldBy(const Grant& grant) {
  return {.share = grant.gpu_share,
          .bandwidth = grant.bandwidth,
          .memory_bytes = grant.memory_bytes,
          .clients = grant.devices.empty() ? 0 : 1,
          .cpus = grant.cpus};
}

bool TakesTurns(const StudyView& study) {
  return !study.judged && !study.ends_when_good_enough && study.start_up_known;
}

bool IsWide(const Demand& demand) { return demand.gpus > kWhole && demand.kinds == nullptr; }

}  // namespace

Amounts FixedWidthPacker::Takes(const Class& trials, std::size_t kind) const {
  const Demand& demand = trials.study->demand;
  if (kind == 0) return {.cpus = demand.cpus};
  return {.share = trials.needs[kind].gpus,
          .bandwidth = trials.needs[kind].bandwidth,
          .memory_bytes = demand.memory_bytes,
          .clients = 1,
          .cpus = demand.cpus};
}

Amounts FixedWidthPacker::RoomOn(const Spot& spot) const {
  const Milli cpus = free_.FreeCpus(spot.node);
  if (spot.device < 0) return {.cpus = cpus};
  const auto d = static_cast<std::size_t>(spot.device);
  const DeviceUse& used = free_.Used(spot.node)[d];
  return {.share = kWhole - used.share,
          .bandwidth = kWhole - used.bandwidth,
          .memory_bytes = free_.node(spot.node).devices[d].memory_bytes - used.memory_bytes,
          .clients = kMostClients - used.clients,
          .cpus = cpus};
}

// What is free, less the room kept for late trials. Cores are kept on the node as a whole.
Amounts FixedWidthPacker::RoomBeside(const Spot& spot) const {
  Amounts room = RoomOn(spot);
  Amounts kept = spot.kept_free;
  kept.cpus = kept_cpus_[Number(spot.node) - 1];
  return room -= kept;
}

// The time left that a trial counts with, in seconds, when trials are compared.
double FixedWidthPacker::Urgency(const Class& trials, double left_s) const {
  if (left_s == kEndless) return left_s;
  if (trials.study->ends_when_good_enough) return std::max(longest_s_ - left_s, 0.0);
  if (!all_fixed_) return left_s;
  return left_s + kAlikeCounts * longest_s_ * trials.lost_alike_s /
                      std::max(horizon_s_, kLeastHorizonSeconds);
}

double FixedWidthPacker::Worth(const Amounts& takes, const Amounts& all, double seconds) const {
  return LargestFraction(takes, all) * (1 + std::min(seconds / longest_s_, kLongestCounts));
}

Grant FixedWidthPacker::GrantOn(const Spot& spot, const Class& trials) const {
  Grant grant;
  grant.node = spot.node;
  grant.cpus = trials.study->demand.cpus;
  if (spot.device < 0) return grant;
  grant.gpu_share = trials.needs[spot.kind].gpus;
  grant.bandwidth = trials.needs[spot.kind].bandwidth;
  grant.memory_bytes = trials.study->demand.memory_bytes;
  grant.devices = {DeviceId(static_cast<std::uint32_t>(spot.device))};
  return grant;
}

void FixedWidthPacker::Start(Class& trials, Grant grant, Plan& plan) {
  free_.Take(grant);
  --trials.slots;
  trials.unknown = false;
  if (trials.WaitingComesNext({})) {
    plan.placements.push_back({trials.waiting[trials.next++].item->trial, std::move(grant)});
  } else {
    ++trials.asked;
    --trials.to_come;
  }
}

// Starts trials that need several devices. The first call comes before trials of one device fill
// the devices one by one. In the first call a trial of several devices waits if a trial of one
// device has more time left. In a study that ends once a trial is good enough, it waits instead if
// another such study has a trial of one device with less time left. The other study then ends
// sooner, and its own study no later. In the second call, which comes last, no trial waits.
void FixedWidthPacker::StartWide(Plan& plan, bool first) {
  double longest_s = 0;
  double shortest_s = kEndless;  // of studies that end once a trial is good enough
  for (const Class& trials : classes_) {
    if (!first || IsWide(trials.study->demand)) continue;
    const double next_s = trials.LongestNext();
    longest_s = std::max(longest_s, next_s);
    if (trials.study->ends_when_good_enough && next_s > 0)
      shortest_s = std::min(shortest_s, next_s);
  }
  for (Class& trials : classes_) {
    if (!IsWide(trials.study->demand)) continue;
    while (trials.slots > 0 && (trials.next < trials.waiting.size() || trials.to_come > 0)) {
      const double next_s = trials.LongestNext();
      const bool waits =
          trials.study->ends_when_good_enough ? next_s > shortest_s : next_s < longest_s;
      if (!trials.unknown && waits) break;
      Grant grant = FirstFit(free_, trials.study->demand);
      if (!IsSet(grant.node)) break;
      Start(trials, std::move(grant), plan);
    }
  }
}

// A trial that has just reported loses nothing by leaving.
bool FixedWidthPacker::MayLeave(const Class& trials, const WorkItem& item) const {
  return item.movable && !item.leaving && TakesTurns(*trials.study) && item.heard == now_;
}

// To take the place of a running trial of this study, a trial must have this many more seconds left
// than the running trial. That is at least 1/kTurns of the time until all work is done. It is also
// enough to pay for this turn, and for the turn's part in the price of all turns.
double FixedWidthPacker::TurnOf(const StudyView& study) const {
  return std::max(horizon_s_ / kTurns,
                  PriceOf(study) * std::max(kOneTurn, kAllTurns * horizon_s_ / longest_s_));
}

// The device with the most free share, among the fastest devices with room; null if none has room.
const FixedWidthPacker::Spot* FixedWidthPacker::RoomiestFor(const Class& trials) const {
  const Spot* best = nullptr;
  const auto merit = [&](const Spot& spot) {
    return std::pair(trials.speeds[spot.kind], RoomOn(spot).share);
  };
  for (const Spot& spot : spots_) {
    if (spot.device < 0 || !Fits(Takes(trials, spot.kind), RoomOn(spot))) continue;
    if (best == nullptr || merit(spot) > merit(*best)) best = &spot;
  }
  return best;
}

// Spreads the trials that need one device, or a share of one, if there is room for all of them at
// the same time.
void FixedWidthPacker::SpreadAll(Plan& plan) {
  std::vector<std::size_t> order;
  Milli takes = 0;
  Milli room = 0;
  for (const Spot& spot : spots_) room += RoomOn(spot).share;
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    const Class& trials = classes_[c];
    const Demand& demand = trials.study->demand;
    if (demand.gpus == 0 || IsWide(demand)) continue;
    Milli least = kWhole;
    for (std::size_t k = 1; k < kinds_.size(); ++k) least = std::min(least, trials.needs[k].gpus);
    takes += trials.Known() * least;
    if (takes > room) return;
    order.push_back(c);
  }
  // The trial with the most time left chooses first.
  std::vector<std::pair<std::size_t, Grant>> starts;
  std::vector<Class::Taken> taken(classes_.size());
  bool all = true;
  while (all) {
    const Class* longest = nullptr;
    double most_s = -1;
    for (const std::size_t c : order) {
      if (taken[c].waiting + taken[c].to_come >= classes_[c].Known()) continue;
      const double left_s = classes_[c].After(taken[c]).all_s;
      if (left_s <= most_s) continue;
      most_s = left_s;
      longest = &classes_[c];
    }
    if (longest == nullptr) break;
    const auto c = static_cast<std::size_t>(longest - classes_.data());
    const Spot* spot = RoomiestFor(*longest);
    all = spot != nullptr;
    if (!all) break;
    longest->Take(taken[c]);
    starts.emplace_back(c, GrantOn(*spot, *longest));
    free_.Take(starts.back().second);
  }
  for (const auto& [c, grant] : starts) free_.Release(grant);
  if (!all) return;
  for (auto& [c, grant] : starts) Start(classes_[c], std::move(grant), plan);
}

// Whether all other work will have ended before the trial, even if the trial runs from now on, and
// even if other trials pack badly with their like.
bool FixedWidthPacker::IsLate(const Class& trials, double left_s) const {
  return TakesTurns(*trials.study) && left_s < kEndless &&
         left_s >= horizon_s_ + lost_alike_s_ + kOneTurn * PriceOf(*trials.study);
}

// Whether the trial is too slow on this kind. That is so if it would take longer there than all
// work left takes at least, and longer than the longest trial has left.
bool FixedWidthPacker::EndsLater(const Class& trials, std::size_t kind, double left_s) const {
  return left_s * std::ranges::max(trials.speeds) >
         std::max(horizon_s_, longest_s_) * trials.speeds[kind];
}

// The device on which a late trial can start now: of the fastest kind with room, the device with
// the least free share. Kinds that are too slow for the trial (EndsLater) are left out. Null if
// there is no such device.
FixedWidthPacker::Spot* FixedWidthPacker::SnuggestFor(const Class& trials, double left_s) {
  Spot* best = nullptr;
  const auto merit = [&](const Spot& spot) {
    return std::pair(trials.speeds[spot.kind], -RoomBeside(spot).share);
  };
  for (Spot& spot : spots_) {
    if (spot.device < 0 || !Fits(Takes(trials, spot.kind), RoomBeside(spot))) continue;
    if (EndsLater(trials, spot.kind, left_s)) continue;
    if (best == nullptr || merit(spot) > merit(*best)) best = &spot;
  }
  return best;
}

// Whether a running trial leaves for a late trial with `late_s` seconds left. It does not if it has
// about as much time left itself, or so little that leaving is not worth its price.
bool FixedWidthPacker::MakesWay(const Runner& runner, double late_s) const {
  const Class& trials = classes_[runner.of];
  const double left_s = LeftOf(trials, *runner.item).all_s;
  const double price_s = PriceOf(*trials.study);
  return TakesTurns(*trials.study) && !IsLate(trials, left_s) && left_s > price_s &&
         left_s + kOneTurn * price_s < late_s;
}

// The device to clear for a late trial. The trial must fit there once other trials have made room.
// Of such devices, the one with the highest product is chosen. The first factor is the trial's
// speed there. The second is the share of the device that is free, is being left, or is held by
// trials that have just reported. The share that is free or being left counts more (kFreeCounts).
// Null if there is no such device.
FixedWidthPacker::Spot* FixedWidthPacker::ClearedFor(const Class& trials, double left_s) {
  Spot* best = nullptr;
  double most = 0;
  for (Spot& spot : spots_) {
    if (spot.device < 0 || EndsLater(trials, spot.kind, left_s)) continue;
    Amounts room = RoomBeside(spot);
    Amounts in_the_end = room;
    Milli reported = 0;
    for (const Runner& runner : spot.running) {
      const WorkItem& item = *runner.item;
      const bool makes_way = item.movable && MakesWay(runner, left_s);
      if (!item.leaving && !makes_way) continue;
      in_the_end += HeldBy(*item.grant);
      if (item.leaving) room += HeldBy(*item.grant);
      if (!item.leaving && MayLeave(classes_[runner.of], item)) reported += item.grant->gpu_share;
    }
    if (!Fits(Takes(trials, spot.kind), in_the_end)) continue;
    const double merit =
        trials.speeds[spot.kind] * static_cast<double>(kFreeCounts * room.share + reported);
    if (merit <= most) continue;
    most = merit;
    best = &spot;
  }
  return best;
}

// Starts late trials, or keeps room for them. The longest late trial comes first. If a trial finds
// no device, no other late trial of its study is tried.
void FixedWidthPacker::MakeRoomForLate(Plan& plan) {
  std::vector<std::pair<double, std::size_t>> late;  // seconds left, class
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    const Class& trials = classes_[c];
    if (trials.study->demand.gpus == 0 || IsWide(trials.study->demand)) continue;
    Class::Taken taken;
    for (std::int64_t i = trials.Known(); i > 0 && trials.WaitingComesNext(taken); --i) {
      const double left_s = trials.After(taken).all_s;
      if (!IsLate(trials, left_s) || late.size() >= classes_.size() * kMostLate) break;
      late.emplace_back(left_s, c);
      trials.Take(taken);
    }
  }
  std::ranges::stable_sort(late, std::greater(), [](const auto& each) { return each.first; });
  if (late.size() > kMostLate) late.resize(kMostLate);
  std::vector<bool> in_vain(classes_.size());
  for (const auto& [left_s, of] : late) {
    if (in_vain[of]) continue;
    Class& trials = classes_[of];
    if (Spot* spot = SnuggestFor(trials, left_s)) {
      Start(trials, GrantOn(*spot, trials), plan);
    } else if (Spot* cleared = ClearedFor(trials, left_s)) {
      cleared->kept_free += Takes(trials, cleared->kind);
      cleared->kept_for_s = std::max(cleared->kept_for_s, left_s);
      kept_cpus_[Number(cleared->node) - 1] += trials.study->demand.cpus;
    } else {
      in_vain[of] = true;
    }
  }
}

bool FixedWidthPacker::KeepsRoom() const {
  return std::ranges::any_of(spots_, [](const Spot& spot) { return spot.kept_for_s > 0; });
}

void FixedWidthPacker::FillSpot(const Spot& spot, Plan& plan, std::vector<TrialKey>& leaving) {
  Amounts room = RoomBeside(spot);
  Amounts all = room;
  const Node& node = free_.node(spot.node);
  all.cpus = node.cpus;
  if (spot.device >= 0) {
    all = {.share = kWhole,
           .bandwidth = kWhole,
           .memory_bytes = node.devices[static_cast<std::size_t>(spot.device)].memory_bytes,
           .clients = kMostClients,
           .cpus = std::max<Milli>(node.cpus / std::max<Milli>(OwnDevices(node), 1), 1)};
  }
  std::vector<SetItem> items;
  std::vector<std::pair<std::size_t, const WorkItem*>> what;  // class, and the trial if it runs
  for (const Runner& runner : spot.running) {
    const Class& trials = classes_[runner.of];
    if (!MayLeave(trials, *runner.item)) continue;
    const double left_s = LeftOf(trials, *runner.item).all_s;
    if (IsLate(trials, left_s) || (spot.kept_for_s > 0 && !MakesWay(runner, spot.kept_for_s)))
      continue;
    const Amounts holds = HeldBy(*runner.item->grant);
    room += holds;
    const double worth = Worth(holds, all, Urgency(trials, left_s) + TurnOf(*trials.study));
    items.push_back({{Suits(trials, spot.kind, left_s) * worth}, holds});
    what.emplace_back(runner.of, runner.item);
  }
  const std::size_t running = items.size();
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    const Class& trials = classes_[c];
    const Demand& demand = trials.study->demand;
    if ((demand.gpus == 0) != (spot.device < 0) || IsWide(demand) || trials.slots == 0) continue;
    const Amounts takes = Takes(trials, spot.kind);
    std::int64_t most = std::min<std::int64_t>(
        trials.slots,
        static_cast<std::int64_t>(trials.waiting.size() - trials.next) + trials.to_come);
    most = HowOftenFits(takes, room, most);
    if (most <= 0) continue;
    SetItem item{.worths = {}, .takes = takes};
    Class::Taken taken;
    const double first_s = trials.After(taken).all_s;
    for (std::int64_t i = 0; i < most; ++i) {
      const double left_s = i == 0 && trials.unknown ? kEndless : trials.After(taken).all_s;
      // In a study that ends once a trial is good enough, all trials count like the first.
      // Otherwise shorter trials, which come later, would count more, and FindBestSet needs worths
      // that never rise.
      const double counts_s =
          trials.study->ends_when_good_enough && left_s < kEndless ? first_s : left_s;
      item.worths.push_back(Suits(trials, spot.kind, left_s) *
                            Worth(takes, all, Urgency(trials, counts_s)));
      trials.Take(taken);
    }
    items.push_back(std::move(item));
    what.emplace_back(c, nullptr);
  }
  if (items.empty() || (items.size() == running && spot.kept_for_s == 0)) return;
  const std::vector<int> best =
      FindBestSet(items, room, spot.device < 0 ? &Amounts::cpus : &Amounts::share);
  std::vector<const WorkItem*> leavers;
  for (std::size_t i = 0; i < running; ++i) {
    if (best[i] > 0) continue;
    leavers.push_back(what[i].second);
    free_.Release(*what[i].second->grant);
  }
  Plan starts;
  std::vector<Grant> grants;
  bool complete = true;
  for (std::size_t i = running; i < items.size(); ++i) {
    Class& trials = classes_[what[i].first];
    const int asked = trials.asked;
    for (int j = 0; j < best[i]; ++j) {
      grants.push_back(GrantOn(spot, trials));
      Start(trials, grants.back(), starts);
    }
    complete = complete && trials.asked == asked;
  }
  // Until the whole set is there, none of its trials starts, and no trial leaves for it. Otherwise
  // another trial would take the place of one that is about to come. Or trials would leave for a
  // trial that the study turns out not to have.
  if (!complete && leavers.empty()) return;
  if (!complete) {
    for (const Grant& grant : grants) free_.Release(grant);
    for (const WorkItem* item : leavers) free_.Take(*item->grant);
    return;
  }
  for (const WorkItem* item : leavers) leaving.push_back(item->trial);
  plan.placements.insert(plan.placements.end(), starts.placements.begin(), starts.placements.end());
}

void FixedWidthPacker::Fill(Plan& plan, std::vector<TrialKey>& leaving) {
  StartWide(plan, /*first=*/true);
  SpreadAll(plan);
  MakeRoomForLate(plan);
  for (const Spot& spot : spots_) FillSpot(spot, plan, leaving);
  StartWide(plan, /*first=*/false);
  for (const Class& trials : classes_)
    if (trials.asked > 0) plan.wanted_room.push_back({trials.study->study, trials.asked});
}

}  // namespace sluice
