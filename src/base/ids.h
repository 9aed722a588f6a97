#pragma once

#include <cstdint>
#include <type_traits>

namespace sluice {

// Ids are types of their own, so that two different ids cannot be swapped. 0 means "none", except
// for a DeviceId.
enum class StudyId : std::uint32_t {};
enum class TrialId : std::uint32_t {};   // numbers the trials of one study from 1
enum class GroupId : std::uint32_t {};   // numbers the trial groups of one study from 1
enum class LaunchId : std::uint32_t {};  // numbers the launches of one trial from 1
enum class BundleId : std::uint32_t {};  // numbers the bundles that run on a cluster from 1
enum class NodeId : std::uint32_t {};
enum class DeviceId : std::uint32_t {};  // numbers the devices of one node from 0
enum class EventSeq : std::uint64_t {};  // numbers the events of one store from 1

template <typename Id>
constexpr std::underlying_type_t<Id> Number(Id id) {
  return static_cast<std::underlying_type_t<Id>>(id);
}

template <typename Id>
constexpr bool IsSet(Id id) {
  return Number(id) != 0;
}

// Identifies a trial where there are several studies.
struct TrialKey {
  StudyId study{};
  TrialId trial{};
  friend auto operator<=>(const TrialKey&, const TrialKey&) = default;
};

// Work that a trial has done or is to do, in the study's unit (epochs, steps, ...).
using Work = std::int64_t;

// No bound on a trial's work: it runs until its program ends.
constexpr Work kNoLimit = INT64_MAX;

}  // namespace sluice
