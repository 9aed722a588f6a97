#include "exec/copy_thread.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "exec/checkpoint_folder.h"

namespace sluice {
namespace {

Site::CopyResult CopyUpTo(const CopyThread::Copy& copy, const std::stop_token& stop) {
  SLUICE_TRY(CopyCheckpointFolder(copy.from, copy.to, stop));
  const std::optional<Work> work = CheckpointWork(copy.to);
  if (work && *work >= copy.end) {
    std::error_code ignored;
    std::filesystem::remove_all(copy.to, ignored);
    return Unavailable(fmt::format("the checkpoint of trial {} is at the full budget already",
                                   Number(copy.parent)));
  }
  return work;
}

}  // namespace

void CopyThread::Ask(Copy copy, Handler done) {
  worker_.Post([this, copy = std::move(copy), done = std::move(done)]() mutable {
    answers_.Add({.copied = CopyUpTo(copy, stop_.get_token()), .done = std::move(done)});
  });
}

}  // namespace sluice
