#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/event.h"

namespace sluice {

// An event as the ledger keeps it: a kind and a JSON body. Reports have columns instead
// (EncodeMetrics).
struct EncodedEvent {
  StudyId study{};
  std::string_view kind;
  std::string body;
};

EncodedEvent Encode(const Event& event);
// Decodes every kind of event but reports. Fails with corruption if the text does not read back.
Result<Event> DecodeEvent(Time time, StudyId study, std::string_view kind, std::string_view body);

// A JSON object in the order given; NaN and the infinities are the texts "NaN", "Infinity",
// "-Infinity".
std::string EncodeMetrics(const Metrics& metrics);
Result<Metrics> DecodeMetrics(std::string_view json);

}  // namespace sluice
