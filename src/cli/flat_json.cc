#include "cli/flat_json.h"

#include <nlohmann/json.hpp>
#include <vector>

namespace sluice {
namespace {

using Json = nlohmann::json;

// Builds no tree: exports read millions of small objects.
class Flattener {
 public:
  explicit Flattener(const std::function<void(const std::string&, const std::string&)>& visit)
      : visit_(visit) {}

  bool null() { return Scalar("null", ""); }
  bool boolean(bool value) { return Scalar(value ? "true" : "false", value ? "true" : "false"); }
  bool number_integer(Json::number_integer_t value) {
    return Scalar(std::to_string(value), std::to_string(value));
  }
  bool number_unsigned(Json::number_unsigned_t value) {
    return Scalar(std::to_string(value), std::to_string(value));
  }
  bool number_float(Json::number_float_t, const std::string& text) { return Scalar(text, text); }
  bool string(std::string& value) {
    return list_depth_ == 0 ? Scalar("", value) : Scalar(Json(value).dump(), value);
  }
  bool binary(Json::binary_t&) { return true; }

  bool start_object(std::size_t) {
    if (list_depth_ > 0) return Open('{');
    if (depth_++ > 0) prefixes_.push_back(name_.size()), name_ += '.';
    return true;
  }
  bool key(std::string& key) {
    if (list_depth_ > 0) {
      Separate();
      list_ += Json(key).dump() + ":";
      after_key_ = true;
      return true;
    }
    if (depth_ == 1) {
      name_ = key;
    } else {
      name_.resize(prefixes_.back() + 1);
      name_ += key;
    }
    return true;
  }
  bool end_object() {
    if (list_depth_ > 0) return Close('}');
    if (--depth_ > 0) {
      name_.resize(prefixes_.back());
      prefixes_.pop_back();
    }
    return true;
  }
  bool start_array(std::size_t) { return depth_ > 0 && Open('['); }
  bool end_array() { return Close(']'); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) {
    return false;
  }

 private:
  bool Scalar(const std::string& as_json, const std::string& value) {
    if (list_depth_ > 0) {
      Separate();
      list_ += as_json;
      return true;
    }
    if (depth_ == 0) return false;
    visit_(name_, value);
    return true;
  }
  void Separate() {
    if (!after_key_ && list_.back() != '[' && list_.back() != '{') list_ += ',';
    after_key_ = false;
  }
  bool Open(char bracket) {
    if (list_depth_++ > 0) Separate();
    list_ += bracket;
    return true;
  }
  bool Close(char bracket) {
    list_ += bracket;
    if (--list_depth_ > 0) return true;
    visit_(name_, list_);
    list_.clear();
    return true;
  }

  const std::function<void(const std::string&, const std::string&)>& visit_;
  int depth_ = 0;       // of objects outside lists
  int list_depth_ = 0;  // of the list under way, and what is inside it
  bool after_key_ = false;
  std::string name_;
  std::vector<std::size_t> prefixes_;  // lengths of name_ before each inner object
  std::string list_;
};

}  // namespace

void EachMember(
    std::string_view json,
    const std::function<void(const std::string& name, const std::string& value)>& visit) {
  Flattener flattener(visit);
  Json::sax_parse(json, &flattener);
}

std::string_view ShapeOf(std::string_view json, std::string& buffer) {
  buffer.clear();
  for (std::size_t at = 0; at < json.size(); ++at) {
    if (at > 0 && (json[at] == '{' || json[at] == '[')) return json;
    if (json[at] != '"') continue;
    const std::size_t begin = at;
    for (++at; at < json.size() && json[at] != '"'; ++at) {
      if (json[at] == '\\') ++at;
    }
    // A text before a colon is a name; others are values.
    if (at + 1 < json.size() && json[at + 1] == ':') buffer += json.substr(begin, at - begin + 1);
  }
  return buffer;
}

}  // namespace sluice
