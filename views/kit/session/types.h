// Types of tensors where there is less room than they need.
#pragma once

#include <QString>

namespace vitrine::kit {

// "f32[8,3]{24,8}@16" -> "f32[8,3]", for places too narrow for both.
QString withoutStrides(const QString& type);

}  // namespace vitrine::kit
