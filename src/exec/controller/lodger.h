#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "exec/controller/search_thread.h"
#include "exec/event_loop.h"
#include "exec/local_site.h"
#include "exec/study_world.h"
#include "ledger/database.h"
#include "search/sampler.h"

namespace sluice {

// What a study brings to the controller that takes it in, besides its engine.
struct Lodging {
  std::unique_ptr<Sampler> sampler;
  std::vector<Observation> knowledge;  // for the sampler, besides the study's own trials
  StudyWorld world;
  std::string trainer;  // the path of sluice-trainer, if the study has `train`
  // Why nothing of the study can be started. The study then pauses, and says this.
  Status fit;
};

// Finds it in the store and in the study's folder.
Result<Lodging> FindLodging(Database& database, const Study& study,
                            const std::string& study_folder);

// A study that a controller on this machine drives: its site, and the thread of its sampler.
class Lodger {
 public:
  // `proposed` is called on the loop's thread when the sampler has found something.
  Lodger(LocalSite::Shared shared, LocalSite::Options options, std::unique_ptr<Sampler> sampler,
         std::function<void(SearchAnswer)> proposed);
  ~Lodger();
  Lodger(const Lodger&) = delete;

  // To be called before the controller is given the site. Fails with unavailable.
  Status Open();

  LocalSite& site() { return site_; }
  Searcher& searcher() { return *search_; }
  // Becomes readable when the sampler has found something.
  int ready() const { return ready_; }
  void TakeProposals();

 private:
  EventLoop& loop_;
  std::function<void(SearchAnswer)> proposed_;
  int ready_;  // eventfd
  std::unique_ptr<SearchThread> search_;
  LocalSite site_;
};

}  // namespace sluice
