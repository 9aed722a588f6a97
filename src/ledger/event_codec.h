#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/event.h"

namespace sluice {

// An event as the ledger stores it: a kind and a JSON body. Reports have columns instead
// (EncodeMetrics).
struct EncodedEvent {
  StudyId study{};
  std::string_view kind;
  std::string body;
};

EncodedEvent Encode(const Event& event);
// Decodes every kind of event except reports. Fails with corruption if the text is not valid.
Result<Event> DecodeEvent(Time time, StudyId study, std::string_view kind, std::string_view body);

// A JSON object, with its members in the given order. NaN and the infinities become the texts
// "NaN", "Infinity" and "-Infinity".
std::string EncodeMetrics(const Metrics& metrics);
Result<Metrics> DecodeMetrics(std::string_view json);

}  // namespace sluice
