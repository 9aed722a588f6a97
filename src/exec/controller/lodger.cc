#include "exec/controller/lodger.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "exec/trainer.h"
#include "ledger/recovery.h"

namespace sluice {

Result<Lodging> FindLodging(Database& database, const Study& study,
                            const std::string& study_folder) {
  Lodging lodging;
  SLUICE_ASSIGN(lodging.sampler, MakeSampler(study.spec.sampler, study.spec.space, study.seed));
  SLUICE_ASSIGN(lodging.knowledge, ReadKnowledge(database, study));
  if (auto world = ReadWorld(study_folder)) {
    lodging.world = std::move(*world);
  } else if (world.error().code == ErrorCode::kNotFound) {
    lodging.world = CaptureWorld();  // a study of an earlier version
  } else {
    lodging.fit = std::unexpected(world.error());
  }
  if (study.spec.training && lodging.fit) {
    auto trainer = FindTrainer(lodging.world);
    if (trainer) lodging.trainer = std::move(*trainer);
    if (!trainer) lodging.fit = std::unexpected(trainer.error());
  }
  return lodging;
}

Lodger::Lodger(LocalSite::Shared shared, LocalSite::Options options,
               std::unique_ptr<Sampler> sampler, std::function<void(SearchAnswer)> proposed)
    : loop_(shared.loop),
      proposed_(std::move(proposed)),
      ready_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      search_(std::make_unique<SearchThread>(std::move(sampler), ready_)),
      site_(shared, std::move(options)) {}

Lodger::~Lodger() {
  search_.reset();
  if (ready_ < 0) return;
  loop_.Forget(ready_);
  close(ready_);
}

Status Lodger::Open() {
  if (ready_ < 0)
    return Unavailable(fmt::format("cannot be told of proposals: {}", std::strerror(errno)));
  loop_.Watch(ready_, [this] { TakeProposals(); });
  return site_.Open();
}

void Lodger::TakeProposals() {
  ClearSignal(ready_);
  for (SearchAnswer& answer : search_->TakeAnswers()) proposed_(std::move(answer));
}

}  // namespace sluice
