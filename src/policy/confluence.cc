#include "policy/confluence.h"

#include <algorithm>

#include "cluster/width.h"
#include "policy/placer.h"
#include "policy/widening.h"

namespace sluice {
namespace {

}  // namespace

Plan Confluence::Propose(const Cluster& cluster, const WorkView& work, Time now) {
  Plan plan;
  Cluster free;
  free.SetNodes(cluster.nodes());
  for (const StudyView& study : work.studies) {
    const Widening widening(cluster, work, study, TotalWidth(cluster, study.demand), now);
    const int room = widening.MostAlive() - study.running - study.waiting;
    if (study.open && room > study.coming) plan.appetites.push_back({study.study, room});
    if (!plan.appetites.empty() || study.coming > 0) {
      plan.keeps_running = true;
      return plan;
    }
    if (getenv("DBG")) { fprintf(stderr,"%.1f run %d wait %d end %d coming %d open %d left %d items %zu L %.1f :",Seconds(now-Time{}),study.running,study.waiting,study.ending,study.coming,study.open,study.left,work.items.size(),widening.length());
      for (auto& w: widening.Choose()) fprintf(stderr," %d%s%s=%ld(%.0f)",(int)Number(w.item->trial.trial),w.item->running?"r":"w",w.item->leaving?"l":"",w.width,(double)(w.item->target-w.item->done)); 
fprintf(stderr,"\n"); }
    const std::vector<Placement> placed = PlaceIn(free, widening.Choose());
    plan.placements.insert(plan.placements.end(), placed.begin(), placed.end());
  }
  return plan;
}

}  // namespace sluice
