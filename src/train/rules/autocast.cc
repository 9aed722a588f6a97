#include <ATen/autocast_mode.h>

#include "train/rules/rules.h"

namespace sluice::train {

std::optional<at::ScalarType> AutocastType(const at::Tensor& like) {
  const at::DeviceType device = like.device().type();
  if (!at::autocast::is_autocast_enabled(device)) return std::nullopt;
  return at::autocast::get_autocast_dtype(device);
}

WithoutAutocast::WithoutAutocast(const at::Tensor& like)
    : guard_(at::autocast::get_autocast_dispatch_key_from_device_type(like.device().type())) {}

bool IsLower(at::ScalarType type) { return type == at::kBFloat16 || type == at::kHalf; }

}  // namespace sluice::train
