// rooms: base
// Our reader of JSON objects and the library agree on any text: what is one, and what it holds.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/json_object.h"
#include "base/text.h"

namespace {

using Json = nlohmann::ordered_json;

void Expect(bool condition) {
  if (!condition) std::abort();
}

void Compare(const sluice::JsonValue& value, const Json& other) {
  Expect(Json::parse(value.written()) == other);
  Expect(value.Unsigned().has_value() == other.is_number_unsigned());
  if (value.Unsigned()) Expect(*value.Unsigned() == other.get<std::uint64_t>());
  if (value.Integer()) Expect(*value.Integer() == other.get<std::int64_t>());
  if (other.is_number()) Expect(value.Number() == other.get<double>());
  Expect(value.Text().has_value() == other.is_string());
  if (value.Text()) Expect(*value.Text() == other.get_ref<const std::string&>());
  Expect(value.Boolean().has_value() == other.is_boolean());
  Expect(value.List().has_value() == other.is_array());
  if (!value.List()) return;
  Expect(value.List()->size() == other.size());
  for (std::size_t i = 0; i < other.size(); ++i) Compare((*value.List())[i], other[i]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr int kDeepest = 32;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // The library ends a text at a zero, and takes a byte order mark; we refuse both.
  if (text.contains('\0') || text.starts_with("\xef")) return 0;
  const auto object = sluice::JsonObject::Read(text, kDeepest);
  if (sluice::NestsDeeperThan(text, kDeepest)) {
    Expect(!object);
    return 0;
  }
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  Expect(object.has_value() == json.is_object());
  if (!object) return 0;
  Expect(object->members().size() == json.size());
  auto other = json.items().begin();
  for (const auto& [name, value] : object->members()) {
    Expect(name == other.key());
    Compare(value, other.value());
    ++other;
  }
  return 0;
}
